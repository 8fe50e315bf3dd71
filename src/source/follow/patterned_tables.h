// The namespaces of a source whose tables are given by patterns, and whether it is known which
// tables those are.
//
//   begin_doubt() ─▶ is_due()? ─▶ doubt() ─ they are listed ─▶ settle(doubt)
//                       ▲                        └─▶ failed(): again after a pause
//                       └────────────────────────────┘
//
// Must: while there is doubt, all keys of these namespaces pass (LiveParts::set_complete).
//
// Threads: under its lock; targets() any. Limits: pauses between kPauseMin and kPauseMax.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "source/backoff.h"
#include "source/source.h"

namespace cuckooguard::source {

class PatternedTables {
 public:
  static constexpr std::chrono::milliseconds kPauseMin{100};
  static constexpr std::chrono::seconds kPauseMax{10};

  explicit PatternedTables(std::span<const Target> targets);

  const std::vector<Target>& targets() const { return targets_; }

  // What comes now in the log may have made, named or dropped a table. Before the position moves,
  // so that no later proof is trusted for the tables of before.
  void begin_doubt();
  // Nothing: there is none. What it gives goes back with the answer to a question asked later.
  std::optional<std::uint64_t> doubt() const;
  // False: there is new doubt, ask again.
  bool settle(std::uint64_t doubt);
  void failed(TimePoint now) { due_at_ = now + backoff_.next(); }
  // There is doubt, and the last failure is long enough ago.
  bool is_due(TimePoint now) const { return doubt() && now >= due_at_; }
  // Its pattern, of one of them.
  static bool matches(const Target& target, std::string_view table);

 private:
  std::vector<Target> targets_;
  std::uint64_t doubts_ = 1;
  std::uint64_t listed_ = 0;  // the doubt that was settled last
  TimePoint due_at_{};
  Backoff backoff_{kPauseMin, kPauseMax};
};

}  // namespace cuckooguard::source
