#include "guard/forecast.h"

namespace cuckooguard::guard {

void Forecasts::see(const Effects::Absence& seen,
                    TimePoint read_at,
                    TimePoint now,
                    const Who& who) {
  Sample& sample = samples_[seen.ns];
  if (sample.is_open && !close(sample, who.parts.namespaces[seen.ns], now, who)) {
    return;
  }
  if (now >= sample.read_at + kEvery) {
    sample = {.key = std::string(seen.key), .read_at = read_at, .is_open = true};
    who.judge.want_proof(who.parts.keyspace.match(sample.key, identity_));
  }
}

// False: its proof may yet come in time.
bool Forecasts::close(Sample& sample,
                      const GuardedNamespace& space,
                      TimePoint now,
                      const Who& who) {
  if (!space.filter->is_fresh(filter::Freshness::since(sample.read_at)) &&
      now < sample.read_at + space.strict_hold) {
    return false;
  }
  sample.is_open = false;
  const keyspace::Lookup found = who.parts.keyspace.match(sample.key, identity_);
  const std::uint64_t hash = space.filter->hash(found.identity);
  if (space.refuses_strict() ||
      who.judge.find_proven({found, sample.key}, hash, sample.read_at) != filter::Finding::absent) {
    who.counters.forecast_passed.add();
    return true;
  }
  who.counters.forecast_answered.add();
  space.filter->note_absent(hash, sample.read_at, sample.key, filter::AbsentReads::Kind::proof);
  return true;
}

}  // namespace cuckooguard::guard
