// Reads that were told that their key has no row, or would have been, until the log shows one: had
// it been committed before the read?
//
//   worker:  absent, as of a read that arrived at T ─▶ add(hash, T, …)
//   source:  the log has the row, the filter too ─▶ committed(hashes, {since, by})
//            every reader has passed              ─▶ look(): T beside the commit
//
// A commit lies between two questions to the database. The last one whose answer does not cover it
// began at `since`; the first one that covers it was answered at `by`.
//   by <= T   hidden by lag: the row was there, and its reader was told otherwise
//   else      read before its commit, as far as anybody can tell: who signs up looks for the name
//             first, who creates a row reads it in the same transaction
//
// Looking waits for all readers, since a worker may have found nothing in the filter before the row
// came, and be about to add its read.
//
// Threads: add() from any; committed() and look() from the source's; findings() from any.
// Lifetimes: the Epochs outlives it. Limits: a sample. kReads reads are kept, of two at one place
// the later one, and kCommits rows while readers pass; of a key its first kKeyBytes. Two workers
// that write to one place within nanoseconds may mix up what they write.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "filter/epochs.h"
#include "filter/page_memory.h"

namespace cuckooguard::filter {

// Between which questions a row was committed (above).
struct CommitTimes {
  using TimePoint = std::chrono::steady_clock::time_point;

  TimePoint since = TimePoint::min();
  TimePoint by = TimePoint::max();
};

class AbsentReads {
 public:
  using TimePoint = CommitTimes::TimePoint;

  static constexpr std::size_t kReads = 1U << 13U;
  static constexpr std::size_t kKeyBytes = 47;
  static constexpr std::size_t kCommits = 256;

  enum class Kind : std::uint8_t {
    told,     // or it would have been told so
    awaited,  // only observed: in enforce it would have waited for a proof
  };

  struct Findings {
    std::uint64_t hidden_by_lag = 0;
    std::uint64_t before_commit = 0;
    // Of that which was hidden longest behind its commit: between the two.
    std::chrono::nanoseconds lag_least{0};
    std::chrono::nanoseconds lag_most{0};
    std::string key{};  // the last one that was hidden
  };

  AbsentReads() : words_(kReads * kWords, false) {}

  // --- readers ---
  void add(std::uint64_t hash, TimePoint read_at, std::string_view key, Kind kind) noexcept;

  // --- the source ---
  // Rows of one transaction, behind their insertion.
  void committed(std::span<const std::uint64_t> hashes, const CommitTimes& times, Epochs& epochs);
  // At what has been committed, as far as readers have passed.
  void look(const Epochs& epochs) {
    if (waiting_ != 0) {
      look_at_waiting(epochs);
    }
  }

  [[nodiscard]] Findings findings() const {
    const std::scoped_lock lock(mutex_);
    return findings_;
  }

 private:
  // Of a read: hash, time and kind, then the key, its length first. A cache line.
  static constexpr std::size_t kWords = 8;
  static constexpr std::size_t kKeyAt = 2;
  static_assert((kWords - kKeyAt) * sizeof(std::uint64_t) == kKeyBytes + 1);

  struct Commit {
    std::uint64_t hash = 0;
    std::uint64_t epoch = 0;
    CommitTimes times;
  };
  struct Read {
    TimePoint at;
    Kind kind;
    std::string key;
  };

  std::span<std::uint64_t, kWords> place_of(std::uint64_t hash) const noexcept {
    return std::span<std::uint64_t, kWords>(words_.words() + hash % kReads * kWords, kWords);
  }
  void look_at_waiting(const Epochs& epochs);
  std::optional<Read> take(std::uint64_t hash) const;
  void judge(Read read, const CommitTimes& times);

  PageMemory words_;  // untouched until there are reads
  std::atomic<bool> has_reads_{false};
  // The source's own: rows that wait for readers, in a ring.
  std::array<Commit, kCommits> commits_{};
  std::size_t first_ = 0;
  std::size_t waiting_ = 0;

  mutable std::mutex mutex_;  // for findings_
  Findings findings_;
};

}  // namespace cuckooguard::filter
