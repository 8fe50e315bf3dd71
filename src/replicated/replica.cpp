#include "replicated/replica.h"

#include <algorithm>
#include <utility>

#include "text/hex.h"
#include "text/try.h"

namespace cuckooguard::replicated {

using std::chrono::milliseconds;

std::string SnapshotLine::text() const {
  std::string out;
  text::put(out, seq);
  text::put_text(out, id);
  text::put(out, bytes);
  text::put_text(out, tag);
  return out;
}

std::optional<SnapshotLine> SnapshotLine::read(std::string_view text) {
  text::LittleEndianCursor reader(text);
  SnapshotLine line;
  line.seq = reader.take<std::uint64_t>();
  line.id = reader.take_text();
  line.bytes = reader.take<std::uint64_t>();
  line.tag = reader.take_text();
  const bool is_one = reader.at_end() && line.pieces() <= kPiecesMax;
  return is_one ? std::optional(std::move(line)) : std::nullopt;
}

filled::Mac SnapshotLine::begin_tag(const filled::LogKey& key, std::string_view generation) const {
  filled::Mac mac = key.begin("snapshot");
  mac.add_text(generation);
  mac.add_number(seq);
  mac.add_text(id);
  mac.add_number(bytes);
  return mac;
}

std::string Replica::proof_of(std::string_view generation) const {
  filled::Mac mac = key_.begin("generation");
  mac.add_text(generation);
  mac.add_number(filters_.hash("cuckooguard"));
  return text::hex_of(mac.finish());
}

void Replica::begin(const std::string& generation) {
  filters_.clear();
  reader_ = std::make_unique<filled::LogReader>(key_, generation);
  is_history_proven_ = true;
  position_ = "0-0";
  applied_id_.clear();
  entries_ = bytes_ = undigested_ = 0;
}

Done Replica::restore(const std::string& generation,
                      const SnapshotLine& line,
                      std::string_view content,
                      std::string_view tag) {
  auto reader = std::make_unique<filled::LogReader>(key_, generation);
  text::LittleEndianCursor bytes(content);
  if (!filled::is_same_tag(tag, line.tag) || !reader->restore(bytes)) {
    on_trouble_("the snapshot of the filters in Redis was not written by a guard");
    return std::unexpected(
        Failure{.state = filled::LogState::loading,
                .why = "its snapshot was not written by a guard, or was replaced during the read"});
  }
  filters_.clear();  // nobody believes them, and they take room
  if (const auto restored = filters_.restore(bytes.rest()); !restored) {
    return std::unexpected(Failure{.why = "its snapshot: " + restored.error()});
  }
  reader_ = std::move(reader);
  is_history_proven_ = true;
  position_ = applied_id_ = line.id;
  entries_ = bytes_ = undigested_ = 0;
  return {};
}

std::unexpected<Failure> Replica::reread(const std::string& why, bool is_trouble) {
  forget();
  ++rereads_;
  return std::unexpected(
      Failure{.state = filled::LogState::loading, .why = why, .is_trouble = is_trouble});
}

Done Replica::open(const Meta& meta, std::string_view last_tag) {
  if (meta.generation != reader_->generation()) {
    auto anew = reread("the log in Redis was reset", false);
    anew.error().has_begun_anew = true;
    return anew;
  }
  if (meta.seq < reader_->seq()) {
    return reread("Redis has lost the end of the log: it has " + std::to_string(meta.seq) +
                  " entries of " + std::to_string(reader_->seq()));
  }
  if (!id_to_prove().empty() && last_tag != reader_->last_tag()) {
    const bool may_be_trimmed = meta.snapshot_seq > reader_->seq();
    return reread("Redis has a different history of the log than this guard", !may_be_trimmed);
  }
  is_history_proven_ = true;
  round_ = meta;
  is_same_.reset();
  compare();
  return {};
}

void Replica::compare() {
  if (reader_->seq() == round_.seq) {
    is_same_ = reader_->last_tag() == round_.tag;
  }
}

Done Replica::take(const std::string& id,
                   const filled::Entry& entry,
                   TimePoint now,
                   const std::function<void(Outcomes&)>& on_outcomes) {
  using Verdict = filled::LogReader::Verdict;
  const Verdict verdict = reader_->judge(entry);
  if (verdict == Verdict::reread) {
    return reread("after entry " + std::to_string(reader_->seq()) + " the log continues with " +
                  std::to_string(entry.seq));
  }
  ++entries_;
  bytes_ += entry.body.size();
  if (verdict == Verdict::apply) {
    TRY(apply(entry, now, on_outcomes));
    applied_id_ = id;
    compare();
  } else {
    ++skipped_;
    on_trouble_(verdict == Verdict::copied
                    ? "the log in Redis has a copy of an entry, which is ignored"
                    : "the log in Redis has an entry that is not signed with the guards' key and "
                      "is ignored");
  }
  position_ = id;
  return {};
}

Done Replica::apply(const filled::Entry& entry,
                    TimePoint now,
                    const std::function<void(Outcomes&)>& on_outcomes) {
  constexpr std::chrono::minutes kDifferedEvery{1};
  auto body = filled::read_body(entry.body);
  if (!body) {
    return std::unexpected(Failure{.why = "entry " + std::to_string(entry.seq) +
                                          " was written by a newer version of the guard"});
  }
  if (!on_outcomes) {  // what changes nothing is for whoever asked
    std::erase_if(body->operations, std::mem_fn(&filled::Operation::is_question));
  }
  Outcomes outcomes = filters_.apply(body->operations);
  std::optional<std::string> trace("");
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (body->operations[i].is_question()) {
      continue;
    }
    if (outcomes[i].status == filled::Outcome::Status::unknown) {
      trace.reset();
      break;
    }
    filled::put_trace(*trace, outcomes[i]);
  }
  const bool is_digest = !body->digest.empty();
  const bool differs = is_digest && reader_->differs(entry, body->digest);
  reader_->applied(entry, trace);
  undigested_ = is_digest ? 0 : undigested_ + 1;
  if (is_digest) {
    digest_at_ = now;
  }
  if (on_outcomes) {
    on_outcomes(outcomes);
  }
  if (differs) {
    const std::string why =
        "another guard has different filters, or a different history of the log";
    if (is_ready_ && now - differed_at_ > kDifferedEvery) {
      differed_at_ = now;
      is_digest_due_ = true;  // it may be the other one that is wrong
      return reread(why);
    }
    on_trouble_(why);
  }
  return {};
}

std::expected<bool, Failure> Replica::close(TimePoint asked_at, bool is_all) {
  if (is_same_ == false) {
    return reread("Redis has a different history of the log than this guard");
  }
  if (round_.snapshot_seq != meta_.snapshot_seq) {
    entries_ = reader_->seq() - std::min(reader_->seq(), round_.snapshot_seq);
    bytes_ = 0;
    const bool was_there_before = meta_at_ == TimePoint{};
    snapshot_at_ =
        round_.snapshot_seq == 0 || was_there_before ? std::nullopt : std::optional(asked_at);
  }
  meta_ = round_;
  meta_at_ = asked_at;
  if (reader_->seq() >= meta_.seq) {
    digest_at_ = is_ready_ ? digest_at_ : asked_at;
    is_ready_ = true;
    return true;
  }
  if (is_all) {
    return reread("entries of the log are missing in Redis: it has " +
                  std::to_string(reader_->seq()) + " of " + std::to_string(meta_.seq));
  }
  return false;
}

std::optional<std::string> Replica::digest_due(TimePoint now, unsigned char spread) {
  const auto every = settings_.digest_every * (256 + spread) / 256;
  const bool is_due = is_digest_due_ || undigested_ >= settings_.digest_entries ||
                      (undigested_ > 0 && now - digest_at_ > every);
  if (!is_due || reader_->chain().empty()) {
    return std::nullopt;
  }
  is_digest_due_ = false;
  undigested_ = 0;
  digest_at_ = now;
  return filled::digest_body_of(reader_->chain());
}

bool Replica::is_snapshot_due() const {
  // What does not count makes none due by itself: somebody could have all filters written for it.
  const bool is_due =
      meta_.wants_snapshot ||
      (reader_->seq() > meta_.snapshot_seq &&
       (entries_ >= settings_.snapshot_entries || bytes_ >= settings_.snapshot_bytes));
  return is_due && !is_unsure() && !applied_id_.empty();
}

bool Replica::is_unsure() const {
  return reader_->chain().empty() || filters_.totals().unsure != 0;
}

std::expected<bool, Failure> Replica::become_sure(TimePoint now) {
  constexpr std::chrono::minutes kWaitMost{10};
  // Of a guard that has all: it hears of it within a round, and may have written one just before.
  const milliseconds patience = 3 * settings_.snapshot_every + std::chrono::seconds(3);
  const std::uint64_t unsure = filters_.totals().unsure;
  if (unsure > unsure_told_) {
    on_trouble_(filters_.why_unsure() +
                ": look-ups in it return 1, and changes are applied only on guards that have room");
  }
  unsure_told_ = unsure;
  if (!is_unsure()) {
    sure_wait_ = {};
    return false;
  }
  const bool was_asked = sure_wait_ != milliseconds{0};
  if (was_asked && meta_.snapshot_seq > sure_newer_than_) {
    sure_newer_than_ = meta_.snapshot_seq;
    return reread("a guard with more room has written the contents of the filters", false);
  }
  if (was_asked && unsure == 0 && now - sure_asked_at_ > patience) {
    reader_->begin_chain();
    return false;
  }
  if ((was_asked && now - sure_asked_at_ <= sure_wait_) || !filters_.has_room_for_unsure()) {
    return false;
  }
  sure_asked_at_ = now;
  sure_wait_ = std::clamp<milliseconds>(2 * sure_wait_, 2 * patience, kWaitMost);
  sure_newer_than_ = meta_.snapshot_seq;
  return true;
}

void Replica::fill(filled::LogStatus& status) const {
  status.generation = reader_ ? reader_->generation() : "";
  status.seq = reader_ ? reader_->seq() : 0;
  status.skipped = skipped_;
  status.rereads = rereads_;
  status.snapshot_seq = meta_.snapshot_seq;
  status.snapshot_at = snapshot_at_;
}

}  // namespace cuckooguard::replicated
