// A Guard's word compared with Redis's: which absent keys Redis is asked for all the same, and what
// its reply means; and what is kept of it, to be compared with the log's.
#include <algorithm>

#include "guard/contradictions.h"
#include "guard/guard.h"
#include "guard/process.h"

namespace cuckooguard::guard {
namespace {

constexpr std::string_view nil_of(resp::Version version) {
  return version == resp::Version::resp3 ? "_\r\n" : "$-1\r\n";
}

}  // namespace

std::uint64_t Guard::next_random() {
  sample_ ^= sample_ << 13U;
  sample_ ^= sample_ >> 7U;
  sample_ ^= sample_ << 17U;
  return sample_;
}

// Of a key that would be answered. Not while Redis may be down: then it would cost the client its
// connection.
bool Guard::is_sampled(std::uint32_t ns, const Read& read) {
  if (!draws_sample(ns, read.question.redis)) {
    return false;
  }
  is_sample_drawn_ = false;
  effects_.count(namespace_counters_[ns]->sampled);
  return true;
}

bool Guard::draws_sample(std::uint32_t ns, const redis::Snapshot& redis) {
  const double share = parts_.namespaces[ns].verify_sample;
  return share > 0 && !redis.is_lost &&
         (is_sample_drawn_ || static_cast<double>(next_random() >> 11U) * 0x1p-53 < share);
}

// A GET, or an element of an MGET. The order redis-first is for GET alone: of an MGET all is
// Redis's.
AbsentKey Guard::string_read(const KeyVerdict& found, std::string_view key, const Read& read) {
  const std::string_view missing = nil_of(read.version());
  const std::string_view absent = absent_reply(found.ns, read.version(), read.reader.now);
  const bool is_unproven = found.verdict == Verdict::unproven;
  const bool is_redis_first = parts_.namespaces[found.ns].order == config::Order::redis_first;
  const bool replaces =
      (is_unproven || found.verdict == Verdict::absent || found.verdict == Verdict::redis_first) &&
      (!is_redis_first || read.question.command.role == redis::Role::get);
  return {.numbering = parts_.numbering,
          .ns = found.ns,
          .key = key,
          .missing = missing,
          .replacement = replaces && absent != missing ? absent : std::string_view{},
          .read_at = is_unproven ? std::optional(read.question.proof.read_at) : std::nullopt,
          .is_string_read = true,
          .kept_bytes = std::max(missing.size(),
                                 parts_.namespaces[found.ns].absent_reply.relayed_bytes_max())};
}

// Of a read of one key; `reply` is what Redis replies to a missing one.
Decision Guard::answer_or_compare(const KeyVerdict& found,
                                  std::string_view key,
                                  std::string_view reply,
                                  const Read& read) {
  if (found.verdict < Verdict::tolerated) {
    return {};
  }
  if (found.verdict == Verdict::absent && !is_sampled(found.ns, read)) {
    return answer(reply, read);
  }
  return compare({.numbering = parts_.numbering,
                  .ns = found.ns,
                  .key = key,
                  .missing = reply,
                  .kept_bytes = reply.size()},
                 read);
}

Decision Guard::compare(const AbsentKey& key, const Read& read) {
  if (!has_room_for(key.bytes(), read.room)) {
    return {};
  }
  absent_keys_.assign(1, key);
  return {.absent_keys = absent_keys_};
}

void Guard::count_unverified(const KeyVerdict& found) {
  if (found.verdict == Verdict::observed || found.verdict == Verdict::redis_first) {
    effects_.count(namespace_counters_[found.ns]->unverified);
  }
}

bool Guard::may_replace(const AbsentKeyReply& heard, TimePoint now) {
  static const redis::UserAccess kAnybody{.is_unrestricted = true};  // who may ask was asked before
  if (heard.numbering != parts_.numbering) {
    return false;
  }
  const keyspace::Lookup found = parts_.keyspace.match(heard.key, identity_);
  effects_.clear();
  const Verdict verdict = judge_.verdict({found, heard.key},
                                         {.db = parts_.namespaces[heard.ns].db,
                                          .access = kAnybody,
                                          .now = now,
                                          .read_at = heard.read_at.value_or(now)});
  const bool is_absent = verdict == Verdict::absent || verdict == Verdict::redis_first;
  if (is_absent) {
    namespace_counters_[heard.ns]->replaced.add();
    note_absences(heard.read_at.value_or(now), now);
  }
  effects_.clear();
  return is_absent;
}

// For when the log shows their rows; and what would have become of some in enforce. With nil, the
// application asks its database.
void Guard::note_absences(TimePoint read_at, TimePoint now) {
  using Kind = filter::AbsentReads::Kind;
  for (const Effects::Absence& absence : effects_.absences) {
    const GuardedNamespace& space = parts_.namespaces[absence.ns];
    if (!tells_of_absences(space)) {
      continue;
    }
    const bool is_observed = !space.enforces();
    if (!space.is_strict()) {
      space.filter->note_absent(absence.hash, read_at, absence.key, Kind::lag);
      continue;
    }
    space.filter->note_absent(
        absence.hash, read_at, absence.key, is_observed ? Kind::would_wait : Kind::proof);
    if (is_observed) {
      forecasts_.see(absence, read_at, now, {parts_, judge_, *namespace_counters_[absence.ns]});
    }
  }
}

// Of a namespace that has another number now, or is no more, nothing is counted.
void Guard::compare(const AbsentKeyReply& heard) {
  if (heard.numbering != parts_.numbering) {
    return;
  }
  NamespaceCounters& counters = *namespace_counters_[heard.ns];
  if (heard.is_error) {
    counters.unverified.add();
    return;
  }
  const GuardedNamespace& space = parts_.namespaces[heard.ns];
  const AbsentReplyBytes& absent = space.absent_reply;
  if (space.questions != nullptr) {
    filter::Trial& trial = space.questions->trial();
    trial.note(trial.compared);
  }
  if (heard.is_whole && (heard.reply == heard.missing ||
                         (heard.is_string_read && absent.is_relayed_as(heard.reply)))) {
    counters.verified.add();
    return;
  }
  counters.contradicted.add();
  if (parts_.process != nullptr && parts_.process->contradictions != nullptr) {
    parts_.process->contradictions->add(heard.ns, heard.key);
  }
}

}  // namespace cuckooguard::guard
