// The overlay of one namespace: identities that must pass although the filter has not heard of
// them, each for `ttl`, or a time of its own. It knows them by the hash that the filter knows them
// by (filter::LiveParts::hash()), so that a key is hashed once.
//
// Keys that are written through the guard are here before the database's change has come round:
// code that inserts a row and fills (or deletes) its key must then find it. A bounded set of hashes
// that expire by themselves:
//
//   set = 64 bytes, one cache line:  [entry][entry][entry][entry][entry][entry][entry][entry]
//   entry = 64 bits:                 | tag: 32 bits of the hash | tick when it expires: 32 bits |
//   0 = free
//
// Most look-ups end at a summary that stays in the second cache: 2^16 cells of 32 bits, of each the
// tick when the last of the hashes that fall into it expires.
//
// Must: holds(h, t) for every h added at most `ttl` before t. (tests/guard/overlay_test.cpp)
// The first entry of a set without room becomes a wildcard that holds every hash of that set until
// all it stands for has expired. So a full overlay forgets nothing, and passes more: with `max_keys`
// keys 2 % of the look-ups of other keys, with four times as many all of them. Two hashes share set
// and tag with probability 2^-32 per entry.
//
// Called by: Guard. Threads: any number, all calls; no locks. An entry is one atomic word and is
// only ever replaced by one that holds at least what it held, by compare-and-swap; a reader sees
// one or the other. Errors: std::bad_alloc and std::invalid_argument (no keys) from the
// constructor. Limits: 256 KiB, and 16 bytes per key of max_keys, of which memory is taken page by
// page as they are first used. Ticks of 2^28 ns (268 ms): an entry may live up to two ticks longer
// than asked; 36 years after boot they end and entries stay for good.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace cuckooguard::guard {

using TimePoint = std::chrono::steady_clock::time_point;

class Overlay {
 public:
  struct Limits {
    std::uint64_t max_keys;
    std::chrono::nanoseconds ttl;
  };

  explicit Overlay(Limits limits);
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;
  ~Overlay() = default;

  void add(std::uint64_t hash, TimePoint now) noexcept { add(hash, now, ttl()); }
  // For `ttl`, which is not negative; longer if it is here for longer already.
  void add(std::uint64_t hash, TimePoint now, std::chrono::nanoseconds ttl) noexcept;
  bool holds(std::uint64_t hash, TimePoint now) const noexcept { return holds(begin(hash, now)); }

  // The same in two steps: the hash's set is on its way from memory while the filter is asked.
  struct Search {
    const std::uint64_t* set = nullptr;  // null: nothing is held
    std::uint32_t tag = 0;
    std::uint32_t tick = 0;
  };
  Search begin(std::uint64_t hash, TimePoint now) const noexcept;
  bool holds(const Search& search) const noexcept;

  // Holds every hash until then at least: what has been written through a guard that ended is not known.
  void hold_all_until(TimePoint until) noexcept;
  void hold_all_no_more() noexcept { all_until_.store(0, std::memory_order_relaxed); }

  std::uint64_t max_keys() const noexcept { return max_keys_; }
  // Of what is added from now on.
  void set_ttl(std::chrono::nanoseconds ttl) noexcept;
  std::chrono::nanoseconds ttl() const noexcept {
    return std::chrono::nanoseconds(ttl_.load(std::memory_order_relaxed));
  }
  // Nothing is held from then on, unless it is added later.
  TimePoint holds_until() const noexcept;
  // How often a hash found no room and a wildcard took it in. Any thread.
  std::uint64_t overflows() const noexcept { return overflows_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kSetEntries = 8;
  static constexpr int kCellBits = 16;
  struct Free {
    void operator()(std::uint64_t* memory) const noexcept { std::free(memory); }
  };

  std::uint64_t* set_of(std::uint64_t hash) const noexcept;
  std::uint32_t& cell_of(std::uint64_t hash) const noexcept {
    return cells_[hash >> (64 - kCellBits)];
  }
  bool try_add(std::uint64_t* set, std::uint64_t wanted, std::uint32_t tick) noexcept;

  std::atomic<std::int64_t> ttl_;  // nanoseconds
  std::uint64_t max_keys_;
  std::uint64_t set_count_;
  std::unique_ptr<std::uint64_t[], Free> memory_;
  // In memory_, from its first cache line on; words are used atomically.
  std::uint64_t* entries_;
  std::uint32_t* cells_;
  std::atomic<std::uint32_t> last_expiry_{
      0};  // no entry lives longer: an overlay out of use costs one load
  std::atomic<std::uint32_t> all_until_{0};  // a tick; 0: not all
  std::atomic<std::uint64_t> overflows_{0};
};

}  // namespace cuckooguard::guard
