#include "guard/advice.h"

#include <algorithm>
#include <array>
#include <utility>

#include "guard/process.h"

namespace cuckooguard::guard {
namespace {

std::string counted(std::uint64_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string readable(std::chrono::nanoseconds time) {
  using std::chrono::days;
  using std::chrono::floor;
  using std::chrono::hours;
  using std::chrono::minutes;
  using std::chrono::seconds;
  const auto text = [](auto amount, const char* noun) {
    return counted(static_cast<std::uint64_t>(amount.count()), noun);
  };
  if (time >= days(2)) {
    return text(floor<days>(time), "day");
  }
  if (time >= hours(2)) {
    return text(floor<hours>(time), "hour");
  }
  return time >= minutes(2) ? text(floor<minutes>(time), "minute")
                            : text(floor<seconds>(time), "second");
}

std::string what_was_seen(const Evidence& seen) {
  const Contradictions::Counts& counts = seen.contradictions;
  std::string text =
      readable(seen.watched) + ", " + counted(counts.of(Cause::hidden_row), "hidden row");
  for (const auto& [cause, noun] :
       {std::pair{Cause::hidden_value, "hidden value"}, std::pair{Cause::late_row, "late row"}}) {
    if (counts.of(cause) > 0) {
      text += ", " + counted(counts.of(cause), noun);
    }
  }
  if (seen.mode == config::Mode::enforce) {
    return text + " in " + counted(seen.compared, "comparison");
  }
  constexpr std::uint64_t kWhole = 100;
  const std::uint64_t share = seen.keys == 0 ? 0 : seen.absent * kWhole / seen.keys;
  return text + ", " + std::to_string(share) + " % of look-ups would have been stopped";
}

std::string what_to_do(const Evidence& seen) {
  const Contradictions::Counts& counts = seen.contradictions;
  const bool enforces = seen.mode == config::Mode::enforce;
  if (counts.of(Cause::hidden_row) > 0) {
    return enforces ? ": go back to observe; see event=hidden_row in the log"
                    : ": do not enforce; see event=hidden_row in the log";
  }
  if (counts.of(Cause::hidden_value) > 0) {
    return "; only Redis has those values: the keys are wider than the table, or a cache is stale; "
           "see "
           "event=hidden_value in the log, and order: redis-first";
  }
  const std::uint64_t unknown = counts.of(Cause::unknown) + counts.dropped;
  if (unknown > 0) {
    return "; of " + counted(unknown, "key") + " that Redis has the source could not be asked";
  }
  if (counts.open > 0) {
    return "; " + counted(counts.open, "key") + " that Redis has to be looked up in the source yet";
  }
  if (enforces) {
    return "; nothing speaks against it";
  }
  return seen.compared < kComparedMin || seen.watched < kWatchedMin ? "; too little seen yet"
                                                                    : "; ready for enforce";
}

}  // namespace

Evidence evidence(const Guard::Parts& parts, std::uint32_t ns, TimePoint now) {
  Evidence all{.mode = parts.namespaces[ns].mode};
  for (const NamespaceCounters& counters : parts.namespaces[ns].counts->by_worker) {
    for (const Counter& verdict : counters.keys) {
      all.keys += verdict.value();
    }
    for (const Verdict verdict : {Verdict::observed, Verdict::redis_first, Verdict::absent}) {
      all.absent += counters.of(verdict).value();
    }
    all.compared += counters.verified.value() + counters.contradicted.value();
  }
  if (const Process* const process = parts.process; process != nullptr) {
    const bool is_known = ns < process->origins.size();
    all.watched = now - (is_known ? std::max(process->origins[ns].since, process->started_at)
                                  : process->started_at);
    if (process->contradictions != nullptr) {
      all.contradictions = process->contradictions->counts(ns);
    }
  }
  return all;
}

std::string advice(const Evidence& evidence) {
  return evidence.mode == config::Mode::bypass ? ""
                                               : what_was_seen(evidence) + what_to_do(evidence);
}

}  // namespace cuckooguard::guard
