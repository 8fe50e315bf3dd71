// Questions to a source's database, on demand: a reader needs a proof that is newer than what it
// has just read, and the source asks as soon as its pace allows.
//
//   worker:  a read arrives (T) ─▶ absent, but last proven before T ─▶ want() ─▶ the read waits
//   source:  wait() ─▶ begin() ─▶ t ─▶ question … applied ─▶ LiveFilter::prove(t, …) ─▶ proven()
//   worker:  on_proven ─▶ the filter is asked again
//
// All readers that wait before a question begins share it, on every worker; while nobody waits,
// none is asked on demand.
//
// Must: begin() is called before the time t of a question is read. A want() that comes before it is
// served by a t that is later; one that comes after it is remembered for the next question.
//
// Threads: want(), serves_strict() and proven() from any; wait() and begin() from the one thread
// that asks. Lifetimes: outlives the source and the guards that have it. Limits: constant size.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <utility>

#include <boost/core/noncopyable.hpp>

namespace cuckooguard::filter {

// While a source's rows are on trial, what would be answered absent is only compared with Redis.
// Set by the source; counted by readers, from when it was set.
struct Trial {
  std::atomic<bool> is_on{false};
  std::atomic<std::uint64_t> compared{0};
  std::atomic<std::uint64_t> hidden{0};  // rows that the filters should have

  void begin() noexcept {
    compared.store(0, std::memory_order_relaxed);
    hidden.store(0, std::memory_order_relaxed);
    is_on.store(true, std::memory_order_release);
  }
  void note(std::atomic<std::uint64_t>& count) const noexcept {
    if (is_on.load(std::memory_order_relaxed)) {
      count.fetch_add(1, std::memory_order_relaxed);
    }
  }
};

class Questions : boost::noncopyable {
 public:
  // `on_proven`: readers that wait are to look again. Any thread; must not block.
  explicit Questions(std::function<void()> on_proven = {}) : on_proven_(std::move(on_proven)) {}

  // --- readers ---
  // A question that begins from now on is wanted.
  void want() noexcept {
    if (!is_wanted_.load(std::memory_order_seq_cst) &&
        !is_wanted_.exchange(true, std::memory_order_seq_cst)) {
      const std::scoped_lock lock(mutex_);
      woken_.notify_all();
    }
  }
  // Whether proofs refer to the database in which rows are committed, not to a replica that is
  // behind it by an unknown part of a second.
  [[nodiscard]] bool serves_strict() const noexcept {
    return serves_strict_.load(std::memory_order_relaxed);
  }

  // Proofs are known not to serve strict reads: none is given to them.
  [[nodiscard]] bool refuses_strict() const noexcept {
    return refuses_strict_.load(std::memory_order_relaxed);
  }

  Trial& trial() noexcept { return trial_; }

  // Guards that have the same namespaces, and share what the database must bear; this one counts.
  [[nodiscard]] std::uint32_t sharers() const noexcept {
    return sharers_.load(std::memory_order_relaxed);
  }

  // The configuration insists on proofs for strict reads: a source that cannot give any refuses.
  void set_must_serve_strict(bool must) noexcept {
    must_serve_strict_.store(must, std::memory_order_relaxed);
  }

  // --- the source ---
  [[nodiscard]] bool must_serve_strict() const noexcept {
    return must_serve_strict_.load(std::memory_order_relaxed);
  }
  void set_serves_strict(bool serves) noexcept {
    serves_strict_.store(serves, std::memory_order_relaxed);
  }
  void set_refuses_strict(bool refuses) noexcept {
    refuses_strict_.store(refuses, std::memory_order_relaxed);
  }
  void set_sharers(std::uint32_t guards) noexcept {
    sharers_.store(std::max(guards, 1U), std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_wanted() const noexcept {
    return is_wanted_.load(std::memory_order_seq_cst);
  }
  // Until a question is wanted and `pace` has passed since the last one began, or until `at_most`
  // has passed. False: it is to stop.
  bool wait(std::chrono::nanoseconds at_most,
            std::chrono::nanoseconds pace,
            const std::stop_token& stop) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    const auto not_before = std::min(until, began_at_ + pace);
    std::unique_lock lock(mutex_);
    woken_.wait_until(lock, stop, until, [this] { return is_wanted(); });
    woken_.wait_until(lock, stop, not_before, [] { return false; });
    return !stop.stop_requested();
  }
  // One begins now. True: it is wanted.
  bool begin() noexcept {
    began_at_ = std::chrono::steady_clock::now();
    return is_wanted_.exchange(false, std::memory_order_seq_cst);
  }
  // A proof has been given: what it proves is visible to readers.
  void proven() const {
    if (on_proven_) {
      on_proven_();
    }
  }

 private:
  std::function<void()> on_proven_;
  std::atomic<bool> is_wanted_{false};
  std::atomic<bool> serves_strict_{false};
  std::atomic<bool> refuses_strict_{false};
  std::atomic<bool> must_serve_strict_{false};
  std::atomic<std::uint32_t> sharers_{1};
  Trial trial_;
  std::mutex mutex_;  // for the pause alone
  std::condition_variable_any woken_;
  std::chrono::steady_clock::time_point began_at_{};  // of the last one
};

}  // namespace cuckooguard::filter
