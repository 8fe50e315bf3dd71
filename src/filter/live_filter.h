// LiveFilter: what look-ups see of one part of a namespace (live_parts.h), while its source changes
// and replaces it.
//
// Freshness decides, not the state. An absent verdict needs current() != nullptr; is_fresh(now), or
// for a read in a strict namespace is_proven_since(its arrival); and for growing integer identities
// !is_fresh_id(id). The state is for people and metrics.
//
// Threads:   one writer (the namespace's source): publish, insert, erase, reclaim, set_*. Any
//            number of readers (workers): current, isolated, is_fresh, is_fresh_id, state. A reader
//            calls current() and isolated() only between its Epochs::Reader::enter() and leave(),
//            and drops the pointer before leave(). Readers never wait.
// Lifetimes: the Epochs outlives this. Destroy it after the readers have stopped.
// Growth:    to replace a filter, the writer fills a new one aside (applying events to it and to
//            this one), then publishes it. Until every reader has passed, events still reach the
//            old one too, so that a look-up that began on it is as right as on the new one.
// Secrets:   insert(hash) and erase(hash) reach all filters, so they share one secret. If a filter
//            with another secret is published, the replaced one cannot be kept up to date any more
//            and answers "may exist" to everything until it is freed. A part's secret is that of
//            its namespace: publish() throws std::invalid_argument for a filter with another.
// Foreign:   a part may instead have a filter of another library's, which is asked by identity. It
//            only ever is replaced as a whole: insert() and erase() do not reach it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filter/absent_reads.h"
#include "filter/cuckoo_filter.h"
#include "filter/epochs.h"
#include "filter/isolated_rows.h"
#include "filter/reported_state.h"
#include "foreign/filter.h"

namespace cuckooguard::filter {

using TimePoint = std::chrono::steady_clock::time_point;

// What the parts of one namespace have in common (live_parts.h).
struct PartsBond {
  explicit PartsBond(const HashSecret& secret) noexcept : hash(secret) {}

  KeyHash hash;
  mutable AbsentReads absent_reads;
  // Counts what was taken out of any part, each time directly before it is. On a line of its own.
  alignas(64) std::atomic<std::uint64_t> removals{0};
};

class LiveFilter {
 public:
  explicit LiveFilter(Epochs& epochs) noexcept : epochs_(epochs) {}
  // A part: the bond outlives it.
  LiveFilter(Epochs& epochs, PartsBond& bond) noexcept : epochs_(epochs), bond_(&bond) {}
  ~LiveFilter();
  LiveFilter(const LiveFilter&) = delete;
  LiveFilter& operator=(const LiveFilter&) = delete;

  // --- readers ---
  [[nodiscard]] const CuckooFilter* current() const noexcept {
    return current_.load(std::memory_order_seq_cst);  // see epochs.h
  }
  // To be asked after current(), where that is null.
  [[nodiscard]] const foreign::Filter* foreign() const noexcept {
    return foreign_.load(std::memory_order_seq_cst);  // see epochs.h
  }
  // To be asked after current() and may_contain() have answered: what is in that filter is here.
  // Null until there was one.
  [[nodiscard]] const IsolatedRows* isolated() const noexcept {
    return isolated_.load(std::memory_order_seq_cst);  // see epochs.h
  }
  [[nodiscard]] bool is_fresh(TimePoint now) const noexcept {
    return now.time_since_epoch().count() < fresh_until_.load(std::memory_order_acquire);
  }
  // All that was committed by `read_at` is in the filter: a question that began later has shown it.
  [[nodiscard]] bool is_proven_since(TimePoint read_at) const noexcept {
    return read_at.time_since_epoch().count() < proven_at_.load(std::memory_order_acquire);
  }
  // True: the id is just above the largest one seen; its row may exist although the event has not
  // arrived.
  [[nodiscard]] bool is_fresh_id(std::uint64_t id) const noexcept;
  [[nodiscard]] State state() const noexcept { return state_.get(); }
  // Why it is in that state, in its writer's words; empty: no reason was given.
  [[nodiscard]] std::string why() const { return state_.why(); }
  [[nodiscard]] TimePoint fresh_until() const noexcept;
  // An operator wants the rows read again. Any number of times before the writer asks count once.
  void ask_for_rebuild() const noexcept { rebuild_asked_.store(true, std::memory_order_relaxed); }

  // --- the writer ---
  // Readers see `next` from now on. A later call of reclaim(), publish(), insert() or erase() frees
  // the replaced filter, once every reader has passed. Null withdraws the current filter.
  void publish(std::unique_ptr<CuckooFilter> next);
  // The same, of a part whose filters are another library's. Several parts may share one.
  void publish_foreign(std::shared_ptr<const foreign::Filter> next);

  // Call it before publishing a filter that has one of these rows, or inserting the hash of one.
  // Rows that no such filter has may be left out. Freed like a replaced filter.
  void set_isolated(IsolatedRows rows);
  [[nodiscard]] const IsolatedRows& writable_isolated() const noexcept {
    return isolated_owned_ ? *isolated_owned_ : kNoneIsolated;
  }

  // To the current filter, and to replaced ones that readers may still hold. The outcome is the
  // current filter's. Without a current filter: `full` / `not_found`, and nothing is stored.
  InsertOutcome insert(std::uint64_t hash);
  // Many at once, which is faster. The worst outcome.
  InsertOutcome insert(std::span<const std::uint64_t> hashes);
  EraseOutcome erase(std::uint64_t hash);

  // Rows of one transaction have been inserted, which was committed then.
  void committed(std::span<const std::uint64_t> hashes, const CommitTimes& times);

  // The current filter for the writer: hash(), stats(), rebuilding from its counts.
  [[nodiscard]] CuckooFilter* writable() noexcept { return owned_.get(); }

  // Whether somebody has asked since the last time.
  bool take_rebuild_request() noexcept {
    return rebuild_asked_.exchange(false, std::memory_order_relaxed);
  }

  // Frees replaced filters that no reader can hold any more; true if none is left.
  bool reclaim();

  // Everything committed before `at` is in the filter, which is good enough for `lag`. After that
  // it may need memory: it looks for reads that were too early (filter/absent_reads.h).
  void prove(TimePoint at, std::chrono::nanoseconds lag);
  // Ends absent verdicts at once.
  void expire() noexcept;
  // The same as a proof that does not serve strict reads. May move backwards.
  void set_fresh_until(TimePoint until) noexcept;
  void set_state(State state, std::string_view why = {}) { state_.set(state, why); }
  // Ids in (largest, largest + window] pass. window 0 switches it off.
  void set_growth(std::uint64_t largest_id, std::uint64_t window) noexcept;

 private:
  static const IsolatedRows kNoneIsolated;

  struct Replaced {
    std::unique_ptr<CuckooFilter> filter;
    std::uint64_t epoch;
  };
  struct ReplacedRows {
    std::unique_ptr<const IsolatedRows> rows;
    std::uint64_t epoch;
  };
  struct ReplacedForeign {
    std::shared_ptr<const foreign::Filter> filter;
    std::uint64_t epoch;
  };

  void note_removal() noexcept;

  Epochs& epochs_;
  PartsBond* bond_ = nullptr;
  std::atomic<CuckooFilter*> current_{nullptr};
  std::atomic<const IsolatedRows*> isolated_{nullptr};
  std::atomic<TimePoint::rep> fresh_until_{TimePoint::min().time_since_epoch().count()};
  std::atomic<TimePoint::rep> proven_at_{TimePoint::min().time_since_epoch().count()};
  std::atomic<std::uint64_t> largest_id_{0};
  std::atomic<std::uint64_t> growth_window_{0};
  std::atomic<const foreign::Filter*> foreign_{nullptr};  // behind what each look-up reads
  ReportedState state_;
  mutable std::atomic<bool> rebuild_asked_{false};
  // The writer's own:
  std::unique_ptr<CuckooFilter> owned_;
  std::vector<Replaced> replaced_;
  std::unique_ptr<const IsolatedRows> isolated_owned_;
  std::vector<ReplacedRows> replaced_rows_;
  std::shared_ptr<const foreign::Filter> foreign_owned_;
  std::vector<ReplacedForeign> replaced_foreign_;
};

}  // namespace cuckooguard::filter
