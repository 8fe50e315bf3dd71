// Keys judged absent for which Redis had a value, on their way to the thread that asks the source
// (app/assembly.h), and the findings.
//
//   workers' guards ── add() ──▶ queue ── next() ──▶ checker ── found() ──▶ counts ──▶ GUARD.INFO
//
// A key that waits, or was settled since the last forget(), is not queued again: one hot key would
// keep out all others. So findings count keys, not reads.
//
// Threads: any; a lock is held only while a key is copied. Limits: kWaitingMax keys wait, more are
// counted as dropped; kRememberedMax are remembered, then all are forgotten.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace cuckooguard::guard {

// What a contradiction comes to.
enum class Cause : std::uint8_t {
  hidden_row,    // the source has the row, and the filter does not know it: the guard is wrong
  hidden_value,  // only Redis has it: the template is too wide, or it is a stale cache of a deleted
                 // row
  late_row,      // the row came, or went, at about the time of the verdict: no promise is broken
  unknown,       // the source could not be asked
};
inline constexpr std::size_t kCauses = 4;
// By Cause, as metrics and tools know them.
inline constexpr std::array<std::string_view, kCauses> kCauseNames{
    "hidden_row", "hidden_value", "late_row", "unknown"};

class Contradictions {
 public:
  static constexpr std::size_t kWaitingMax = 1024;
  static constexpr std::size_t kRememberedMax = 16 * 1024;

  struct Key {
    std::uint32_t ns = 0;
    std::string key{};

    bool operator==(const Key&) const = default;
  };
  // Of one namespace.
  struct Counts {
    std::array<std::uint64_t, kCauses> found{};
    std::uint64_t open = 0;     // waiting, or being looked into
    std::uint64_t dropped = 0;  // nothing will be found out about them

    std::uint64_t of(Cause cause) const { return found[static_cast<std::size_t>(cause)]; }
  };

  explicit Contradictions(std::size_t namespaces) : counts_(namespaces) {}

  // After a reload: takes over from `before`, which is no longer added to. `heirs[ns there]` is the
  // namespace's number here, if it stays. Keys that its checker had taken are dropped.
  struct Heir {
    std::uint32_t ns = 0;
    // Its absent reply has changed, and may be what Redis has: only findings about rows are kept.
    bool forgets_values = false;
  };
  void take_over(Contradictions& before, std::span<const std::optional<Heir>> heirs);

  void add(std::uint32_t ns, std::string_view key);
  Counts counts(std::uint32_t ns) const;

  // --- the checker ---
  std::optional<Key> next();
  void found(std::uint32_t ns, Cause cause);  // once for each that next() gave
  void forget();

 private:
  mutable std::mutex mutex_;
  std::deque<Key> waiting_;
  std::unordered_set<std::uint64_t> known_;  // hashes of those that need not be asked about
  std::vector<Counts> counts_;
};

}  // namespace cuckooguard::guard
