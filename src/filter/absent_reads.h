// Reads whose key was judged absent, kept until the log shows a row for one: was that row committed
// before the read?
//
//   worker:  absent, as of a read that arrived at T ─▶ add(hash, T, …)
//   source:  the log has the row, the filter too ─▶ committed(hashes, {since, by})
//            proven for a time behind T          ─▶ look(): T beside the commit
//
// A commit lies between two questions to the database. The last one whose answer does not cover it
// began at `since`; the first one that covers it was answered at `by`.
//   by <= T          hidden by lag: the row was there, and its reader was told otherwise
//   T < since        read before its commit: a sign-up looks for the name first, a framework reads
//                    the row in the transaction that creates it
//   since <= T < by  read at about the time of the commit: unknown
//
// look() waits for all readers, since a worker may have found nothing in the filter before the row
// came, and be about to add its read; and for a proof later than T, by which time the row may be
// known to be gone again: then nothing was hidden.
//
// Threads: add() from any; committed(), erased() and look() from the source's; findings() from any.
// Lifetimes: the Epochs outlives it.
// Limits: a sample. kReads reads are kept (the later one of two in the same place) and kCommits
//   rows, and the first kKeyBytes of a key. Reads that came more than kOld before their row are
//   ignored.
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
  static constexpr std::chrono::seconds kOld{10};

  // Why a read was, or would have been, answered absent.
  enum class Kind : std::uint8_t {
    lag,         // the filter is no older than max_lag
    proof,       // it is proven since the read arrived
    would_wait,  // for that: only observed
  };

  struct Findings {
    std::uint64_t hidden_by_lag = 0;
    std::uint64_t hidden_in_spite_of_proof = 0;  // a defect
    std::uint64_t before_commit = 0;
    std::uint64_t at_commit = 0;
    // How long after its commit the last hidden row was read as absent: between these two; nothing:
    // unknown.
    std::chrono::nanoseconds lag_least{0};
    std::optional<std::chrono::nanoseconds> lag_most{};
    std::string key{};
    bool is_key_whole = true;

    std::uint64_t hidden() const { return hidden_by_lag + hidden_in_spite_of_proof; }
    std::uint64_t early() const { return before_commit + at_commit; }
  };

  AbsentReads() : words_(kReads * kWords) {}

  // --- readers ---
  void add(std::uint64_t hash, TimePoint read_at, std::string_view key, Kind kind) noexcept;

  // --- the source ---
  // Rows of one transaction, behind their insertion.
  void committed(std::span<const std::uint64_t> hashes, const CommitTimes& times, Epochs& epochs);
  // A row has gone.
  void erased(std::uint64_t hash) {
    for (std::size_t i = 0; i < waiting_; ++i) {
      Commit& commit = commits_.at((first_ + i) % kCommits);
      commit.is_gone = commit.is_gone || commit.hash == hash;
    }
  }
  // All that was committed before `proven` has been applied.
  void look(const Epochs& epochs, TimePoint proven) {
    if (waiting_ != 0) {
      look_at_waiting(epochs, proven);
    }
  }

  [[nodiscard]] Findings findings() const {
    const std::scoped_lock lock(mutex_);
    return findings_;
  }

 private:
  // A read's hash, time, kind, key length and key. A cache line.
  static constexpr std::size_t kWords = 8;
  static constexpr std::size_t kKeyAt = 2;
  static_assert((kWords - kKeyAt) * sizeof(std::uint64_t) == kKeyBytes + 1);

  struct Commit {
    std::uint64_t hash = 0;
    std::uint64_t epoch = 0;
    CommitTimes times;
    bool is_gone = false;
  };
  struct Read {
    TimePoint at;
    Kind kind;
    std::string key;
    bool is_key_whole;
  };

  std::span<std::uint64_t, kWords> place_of(std::uint64_t hash) const noexcept {
    return std::span<std::uint64_t, kWords>(words_.words() + hash % kReads * kWords, kWords);
  }
  void look_at_waiting(const Epochs& epochs, TimePoint proven);
  std::optional<Read> find(std::uint64_t hash) const;
  void take_out(std::uint64_t hash) const noexcept;
  void judge(Read read, const CommitTimes& times);

  PageMemory words_;  // untouched until there are reads
  std::atomic<bool> has_reads_{false};
  // The source's own: rows that wait to be looked at, in a ring.
  std::array<Commit, kCommits> commits_{};
  std::size_t first_ = 0;
  std::size_t waiting_ = 0;

  mutable std::mutex mutex_;  // for findings_
  Findings findings_;
};

}  // namespace cuckooguard::filter
