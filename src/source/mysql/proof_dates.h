// Before when all that was committed is in what a server has just said of its log.
//
// That is the time before it was asked. A replica is asked first how far it is behind its primary,
// and proves that much less: what it lacks then, and has applied when it is asked for its position,
// is in that. One that does not know, or is behind by max_lag or more, proves nothing; nor does one
// that has not known for max_lag: it says 0 as soon as it has reached its primary, before it hears
// what it has missed.
//
// Threads: its own. Errors: those of the question. Limits: replicas count in whole seconds, and
// notice only after slave_net_timeout that a primary is silent.
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <utility>

#include "mysql/server.h"
#include "source/source.h"

namespace cuckooguard::source {

class ProofDates {
 public:
  ProofDates(Clock clock, std::chrono::nanoseconds max_lag)
      : clock_(std::move(clock)), max_lag_(max_lag) {}

  // `ask` asks all, and returns the lag: std::expected<ReplicaLag, std::string>. Nothing: it proves
  // nothing.
  template <class Ask>
  std::expected<std::optional<TimePoint>, std::string> date(const Ask& ask) {
    const TimePoint at = clock_();
    const std::expected<ReplicaLag, std::string> lag = ask();
    if (!lag) {
      return std::unexpected(lag.error());
    }
    return judge(at, *lag);
  }

 private:
  std::optional<TimePoint> judge(TimePoint at, const ReplicaLag& lag) {
    if (!lag.behind) {
      lag_known_since_.reset();
      return std::nullopt;
    }
    lag_known_since_ = lag_known_since_.value_or(at);
    const bool is_believed = !lag.is_replica || at - *lag_known_since_ >= max_lag_;
    return is_believed && *lag.behind < max_lag_ ? std::optional(at - *lag.behind) : std::nullopt;
  }

  Clock clock_;
  std::chrono::nanoseconds max_lag_;
  std::optional<TimePoint> lag_known_since_;
};

}  // namespace cuckooguard::source
