// Epochs: how a writer knows that no reader can still see what it has replaced.
//
// A reader (a worker) calls enter() when it wakes up and leave() before it blocks; between the two
// it may hold pointers read from a LiveFilter. A writer replaces a pointer, calls advance(), and
// may free the old object once passed() is true for the number it got: every reader has then either
// left or entered after the replacement.
//
// Threads:   each Reader belongs to one thread at a time; advance() and passed() from any thread.
// Lifetimes: Epochs outlives every LiveFilter that uses it and every worker.
// Cost:      enter() is one exchange per wake-up; leave() a plain store.
// Source:    epoch-based reclamation, K. Fraser, "Practical lock-freedom", 2004, section 5.2.3.
//
// Why sequential consistency: enter() stores the epoch, then the reader loads the pointer; the
// writer stores the pointer, then passed() loads the epoch. Were either pair reordered, the writer
// could see "not inside" while the reader takes the old pointer. In the single order of those four
// accesses, a writer that sees "not inside" comes before the reader's store, so the reader loads
// the new pointer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cuckooguard::filter {

class Epochs {
 public:
  class Reader {
   public:
    // Also allowed without a leave() before it: it then means "I hold nothing from before".
    void enter() noexcept {
      inside_since_.store(now_->load(std::memory_order_seq_cst), std::memory_order_seq_cst);
    }
    void leave() noexcept { inside_since_.store(kOutside, std::memory_order_release); }

   private:
    friend class Epochs;
    static constexpr std::uint64_t kOutside = 0;

    alignas(64) std::atomic<std::uint64_t> inside_since_{kOutside};
    const std::atomic<std::uint64_t>* now_ = nullptr;
  };

  explicit Epochs(std::size_t readers);

  // One per worker, 0 <= i < readers. Lives as long as this object.
  Reader& reader(std::size_t i) { return readers_[i]; }

  // Call after the replacement; returns the number to ask passed() about.
  std::uint64_t advance() noexcept;

  [[nodiscard]] bool passed(std::uint64_t epoch) const noexcept;

 private:
  alignas(64) std::atomic<std::uint64_t> now_{1};
  std::vector<Reader> readers_;
};

// Enters for a scope: for tests and for threads that wake up in one place.
class EpochScope {
 public:
  explicit EpochScope(Epochs::Reader& reader) noexcept : reader_(reader) { reader_.enter(); }
  ~EpochScope() { reader_.leave(); }
  EpochScope(const EpochScope&) = delete;
  EpochScope& operator=(const EpochScope&) = delete;

 private:
  Epochs::Reader& reader_;
};

}  // namespace cuckooguard::filter
