// What a Guard tells a namespace's Traffic.
#include "guard/guard.h"

namespace cuckooguard::guard {

// If the read is carried out as it was judged.
void Guard::sample_traffic(const KeyVerdict& judged, const Judged& what, const Client& client) {
  until_traffic_ = next_distance(Traffic::kEvery);
  if (Traffic* const traffic = parts_.namespaces[judged.ns].counts->traffic.get()) {
    effects_.seen.push_back({.traffic = *traffic,
                             .read = {.key = what.key,
                                      .number = what.number,
                                      .is_absent = is_absent(judged.verdict),
                                      .from = client.network()}});
  }
}

void Guard::tell_traffic(TimePoint now) {
  for (const Effects::Seen& seen : effects_.seen) {
    seen.traffic.saw(seen.read, parts_.worker, now);
  }
}

void Guard::note_expiry(const redis::Expiry& expiry,
                        const GuardedNamespace& space,
                        TimePoint now) const {
  Traffic* const traffic = space.counts->traffic.get();
  if (traffic == nullptr || (expiry.is_absolute && !parts_.wall_time)) {
    return;
  }
  const auto from_now =
      expiry.is_absolute ? expiry.at - parts_.wall_time().time_since_epoch() : expiry.at;
  traffic->expires(now + from_now, now);
}

// Of a key that is not there it sets none.
void Guard::note_getex(const Question& question) {
  until_expiry_ = next_distance(Traffic::kEveryExpiry);
  const auto expiry = redis::expiry_of(question.command, question.arguments);
  const keyspace::Lookup found =
      expiry ? parts_.keyspace.match(question.arguments[1], identity_) : keyspace::Lookup{};
  if (found.kind != keyspace::Lookup::Kind::guarded) {
    return;
  }
  const GuardedNamespace& space = parts_.namespaces[found.ns];
  const std::uint64_t hash = space.filter->hash(found.identity);
  if (may_have_written(question.client, question.redis) &&
      space.filter->find({hash, found.number, found.identity}, filter::Freshness{question.now}) !=
          filter::Finding::absent) {
    note_expiry(*expiry, space, question.now);
  }
}

}  // namespace cuckooguard::guard
