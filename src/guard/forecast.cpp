#include "guard/forecast.h"

namespace cuckooguard::guard {

void Forecasts::see(const Effects::Absence& seen,
                    TimePoint read_at,
                    TimePoint now,
                    const GuardParts& parts,
                    KeyJudge& judge,
                    NamespaceCounters& counters) {
  Sample& sample = samples_[seen.ns];
  if (sample.is_open && !close(sample, now, parts, judge, counters)) {
    return;
  }
  if (now >= sample.read_at + kEvery) {
    sample = {.key = std::string(seen.key), .read_at = read_at, .is_open = true};
    judge.want_proof(parts.keyspace.match(sample.key, identity_));
  }
}

// False: its proof may yet come in time.
bool Forecasts::close(Sample& sample,
                      TimePoint now,
                      const GuardParts& parts,
                      KeyJudge& judge,
                      NamespaceCounters& counters) {
  const keyspace::Lookup found = parts.keyspace.match(sample.key, identity_);
  const GuardedNamespace& space = parts.namespaces[found.ns];
  const filter::Finding finding = judge.find_proven({found, sample.key}, sample.read_at);
  if (finding == filter::Finding::not_fresh && now < sample.read_at + space.strict_hold) {
    return false;
  }
  sample.is_open = false;
  if (!space.is_strict()) {
    return true;  // the question was for the log's sake (filter/absent_reads.h)
  }
  if (finding == filter::Finding::absent) {
    counters.forecast_answered.add();
    space.filter->note_absent(space.filter->hash(found.identity),
                              sample.read_at,
                              sample.key,
                              filter::AbsentReads::Kind::told);
  } else {
    counters.forecast_passed.add();
  }
  return true;
}

}  // namespace cuckooguard::guard
