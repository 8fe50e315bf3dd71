// What FilterLog does for the log itself: filters that are past their time, digests, snapshots,
// dumps.
#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "filled/dump.h"
#include "replicated/filter_log.h"

namespace cuckooguard::replicated {

using upstream::text_of;

namespace {

constexpr std::chrono::seconds kKeepUpEvery{1};
constexpr std::chrono::seconds kExpireAgain{10};  // what has not gone meanwhile
constexpr std::chrono::seconds kKeysSeenEvery{1};

// In INFO memory. Only such a policy takes keys that have no time to live, as the log's.
bool may_evict_any_key(std::string_view info) {
  return info.contains("maxmemory_policy:allkeys-") && !info.contains("\nmaxmemory:0\r");
}

}  // namespace

FilterLog::Done FilterLog::keep_up() {
  const TimePoint now = io::now_since_boot();
  if (now - kept_up_at_ >= kKeepUpEvery) {
    kept_up_at_ = now;
    expire(now);
  }
  say_digest(now);
  begin_snapshot(now);
  return become_sure(now);
}

bool FilterLog::is_unsure() const {
  return reader_->chain().empty() || filters_.totals().unsure != 0;
}

// By a snapshot of a guard that has all, when there is room for it. If none comes, and no filter is
// unsure any more, nobody knows more than this guard.
FilterLog::Done FilterLog::become_sure(TimePoint now) {
  constexpr std::chrono::minutes kWaitMost{10};
  // Of a guard that has all: it hears of it within a round, and may have written one just before.
  const milliseconds patience = 3 * settings_.snapshot_every + std::chrono::seconds(3);
  const std::uint64_t unsure = filters_.totals().unsure;
  if (unsure > unsure_told_) {
    tell_trouble(filters_.why_unsure() +
                 ": look-ups in it say 1, and what is done to it here is done elsewhere");
  }
  unsure_told_ = unsure;
  if (!is_unsure()) {
    sure_wait_ = {};
    return {};
  }
  const bool was_asked = sure_wait_ != milliseconds{0};
  if (was_asked && meta_.snapshot_seq > sure_newer_than_) {
    sure_newer_than_ = meta_.snapshot_seq;
    return reread("a guard with more room has written what is in the filters", false);
  }
  if (was_asked && unsure == 0 && now - sure_asked_at_ > patience) {
    reader_->begin_chain();
    return {};
  }
  if ((!was_asked || now - sure_asked_at_ > sure_wait_) && filters_.has_room_for_unsure()) {
    sure_asked_at_ = now;
    sure_wait_ = std::clamp<milliseconds>(2 * sure_wait_, 2 * patience, kWaitMost);
    sure_newer_than_ = meta_.snapshot_seq;
    ask_for_snapshot();
  }
  return {};
}

// What was acknowledged must not be forgotten because Redis needs room. A Redis that does not let
// the guard ask is believed.
FilterLog::Done FilterLog::see_that_keys_stay() {
  const TimePoint now = io::now_since_boot();
  if (keys_seen_at_ != TimePoint{} && now - keys_seen_at_ < kKeysSeenEvery) {
    return {};
  }
  const auto place = request({"INFO", "memory"});
  if (!await(*place, std::chrono::seconds(2))) {
    return std::unexpected(Failure{.why = cut()});
  }
  if (may_evict_any_key(text_of(**place))) {
    current_until_.store(0, std::memory_order_release);
    keys_seen_at_ = {};
    const std::string why =
        "Redis may evict the filters' log: its maxmemory-policy is allkeys-*; set noeviction or "
        "volatile-*, or give the filters a Redis of their own";
    tell_trouble(why);
    return std::unexpected(Failure{.why = why});
  }
  keys_seen_at_ = now;
  return {};
}

// Each guard may; whose comes first has done it.
void FilterLog::expire(TimePoint now) {
  if (now - expiring_since_ >= kExpireAgain) {
    expiring_since_ = now;
    expiring_.clear();
  }
  for (filled::Operation& drop :
       filters_.expired(static_cast<std::uint64_t>(io::wall_time().time_since_epoch().count()))) {
    std::uint64_t& submitted = expiring_[drop.filter];
    if (std::exchange(submitted, drop.incarnation) != drop.incarnation) {
      submit(std::make_shared<filled::Change>(std::move(drop)));
    }
  }
}

void FilterLog::say_digest(TimePoint now) {
  // Not all at once: whoever hears one waits anew.
  const auto every =
      settings_.digest_every * (256 + static_cast<unsigned char>(writer_.front())) / 256;
  if (reader_->chain().empty()) {
    return;
  }
  if (is_digest_due_ || undigested_ >= settings_.digest_entries ||
      (undigested_ > 0 && now - digest_at_ > every)) {
    is_digest_due_ = false;
    undigested_ = 0;
    digest_at_ = now;
    append(++counter_, filled::digest_body_of(reader_->chain()));
  }
}

void FilterLog::begin_snapshot(TimePoint now) {
  // What does not count makes none due by itself: somebody could have all filters written for it.
  const bool is_due =
      meta_.wants_snapshot ||
      (reader_->seq() > meta_.snapshot_seq &&
       (entries_ >= settings_.snapshot_entries || bytes_ >= settings_.snapshot_bytes));
  // What a round has told that was asked before the last one stood is not so any more.
  if (!is_due || is_unsure() || is_snapshot_begun_ || meta_at_ < snapshot_over_at_ ||
      applied_id_.empty() || now - snapshot_begun_at_ < settings_.snapshot_every) {
    return;
  }
  is_snapshot_begun_ = true;
  snapshot_begun_at_ = now;
  const std::string token = random_name();
  appending_->send({"SET", keys_.lock, token, "NX", "PX", SnapshotWriter::kLockStays},
                   [this, token](const Reply& reply) {
                     if (text_of(*reply) != "OK") {  // another guard has it, or may have it
                       is_snapshot_begun_ = false;
                     } else if (reader_ && !is_unsure()) {
                       write_snapshot(token);
                     } else {
                       end_snapshot(token, "what is in the filters is not known here");
                     }
                   });
}

void FilterLog::end_snapshot(const std::string& token, const std::string& why_not) {
  snapshot_.reset();
  is_snapshot_begun_ = false;
  snapshot_over_at_ = io::now_since_boot();
  if (!why_not.empty()) {  // the log grows on; it is tried again
    // Perhaps Redis has lost the entry behind which it would stand: then there is one.
    is_digest_due_ = is_digest_due_ || meta_.wants_snapshot;
    tell_trouble("a snapshot of the filters was not written: " + why_not);
    appending_->send({"EVAL", unlock_script(), "1", keys_.lock, token}, [](const Reply&) {});
  }
}

void FilterLog::write_snapshot(const std::string& token) {
  SnapshotWriter::Plan plan;
  plan.generation = reader_->generation();
  plan.token = token;
  plan.set = meta_.set == "0" ? "1" : "0";
  plan.entry_tag = reader_->last_tag();
  plan.line.seq = reader_->seq();
  plan.line.id = applied_id_;
  plan.front = reader_->state();
  try {
    plan.image = filters_.image();
  } catch (const std::exception& error) {  // no memory: another guard may have it
    end_snapshot(token, error.what());
    return;
  }
  snapshot_ = std::make_shared<SnapshotWriter>(
      keys_, key_, std::move(plan), [this, token](const std::string& why_not) {
        end_snapshot(token, why_not);
      });
  if (snapshot_->line().pieces() > kPiecesMax) {
    snapshot_->abandon();
    end_snapshot(token, "the filters are too large");
  }
}

bool FilterLog::read_images() {
  bool is_more = false;
  if (const auto snapshot = snapshot_) {
    is_more = snapshot->work(*appending_);
  }
  if (!dumps_.empty()) {
    take_turn_of_dump();
  }
  return is_more || !dumps_.empty();
}

void FilterLog::take_turn_of_dump() {
  filled::UnfinishedDump& dump = dumps_.front();
  filled::Outcome outcome;
  try {
    dump.bytes.reserve(dump.image->bytes());
    if (filled::step_for_turn(*dump.image, dump.bytes)) {
      return;
    }
    outcome.blob = std::move(dump.bytes);
  } catch (const std::bad_alloc&) {
    dump.image->lose();
  }
  dump.change->finish(dump.image->is_lost() ? filled::no_memory_for_dump() : std::move(outcome));
  dumps_.pop_front();
}

void FilterLog::give_up_dumps() {
  for (filled::UnfinishedDump& dump : std::exchange(dumps_, {})) {
    dump.change->finish({.status = filled::Outcome::Status::unknown, .why = "the guard is ending"});
  }
}

}  // namespace cuckooguard::replicated
