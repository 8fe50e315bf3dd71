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
//   0 = free; that tick is even of a key that was written, and odd of one that was added
//
// Most look-ups end at a summary that stays in the second cache: 2^16 cells of 32 bits, of each the
// tick when the last of the hashes that fall into it expires.
//
// Must: holds(h, t) for every h added at most `ttl` before t, unless it was dropped, removed or
// cleared since. (tests/guard/overlay_test.cpp) A set without room drops the entry that expires
// first: with `max_keys` keys one set in fifty does. No existing key is hidden by that: a row that
// was committed longer than max_lag ago is in the filter, and what is dropped first has been here
// for longest. Two hashes share set and tag with probability 2^-32 per entry.
//
// Threads: any number, all calls; no locks. An entry is one atomic word, replaced by
// compare-and-swap; a reader sees one or the other. Errors: std::bad_alloc and
// std::invalid_argument (no keys) from the constructor. Limits: 256 KiB, and 16 bytes per key of
// max_keys, of which memory is taken page by page as they are first used. Ticks of 2^28 ns (268
// ms): an entry may live up to three ticks longer than asked; 36 years after boot they end and
// entries stay for good.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/core/noncopyable.hpp>

namespace cuckooguard::guard {

using TimePoint = std::chrono::steady_clock::time_point;

// How a key has come to pass although the filter calls it absent. For people.
enum class Held : std::uint8_t {
  no,
  all,           // every key does
  written,       // through the guard
  added,         // by GUARD.ADD
  in_flight,     // its own client is writing it; Guard's word, as is the next
  share_filled,  // its own client has lost keys before their time
};

class Overlay : boost::noncopyable {
 public:
  struct Limits {
    std::uint64_t max_keys;
    std::chrono::nanoseconds ttl;
  };

  explicit Overlay(Limits limits);

  // When an entry expires, in ticks since boot.
  using Tick = std::uint32_t;

  enum class Origin : std::uint8_t { written, added };

  // For `ttl`, which is not negative; longer if it is here for longer already. Returns until when,
  // or 0 if it has been here for so long before.
  Tick add(std::uint64_t hash,
           TimePoint now,
           std::chrono::nanoseconds ttl,
           Origin origin = Origin::written) noexcept;
  Tick add(std::uint64_t hash, TimePoint now) noexcept { return add(hash, now, ttl()); }
  // Takes back what add() has returned `until` for; false: it was gone, or somebody has prolonged
  // it since.
  bool remove(std::uint64_t hash, Tick until) noexcept;
  // Takes back all that was added before; what is added meanwhile may go with it. hold_all_until()
  // stands. Takes 5 ms for each million keys.
  void clear() noexcept;
  static Tick tick_of(TimePoint time) noexcept;  // what has a later one has not expired
  bool holds(std::uint64_t hash, TimePoint now) const noexcept { return holds(begin(hash, now)); }

  // The same in two steps: the hash's set is on its way from memory while the filter is asked.
  struct Search {
    const std::uint64_t* set = nullptr;  // null: nothing is held
    std::uint32_t tag = 0;
    std::uint32_t tick = 0;
  };
  Search begin(std::uint64_t hash, TimePoint now) const noexcept;
  bool holds(const Search& search) const noexcept;
  // Of several reasons the one that lasts longest, but for `all`, which is the last to be told.
  Held why_held(std::uint64_t hash, TimePoint now) const noexcept;

  // Why what was written is not known.
  enum class Hold : std::uint8_t {
    begun,     // the guard: another one may have ended before
    bypassed,  // the namespace was in bypass
    cleared,   // an operator has cleared it
    reloaded,  // a namespace, or its overlay, is new
  };
  // Holds every hash until then at least. Of several reasons the last counts.
  void hold_all_until(TimePoint until, Hold because = Hold::begun) noexcept;
  void hold_all_no_more() noexcept { all_until_.store(0, std::memory_order_relaxed); }

  struct HeldAll {
    TimePoint until;
    Hold because;
  };
  std::optional<HeldAll> holds_all(TimePoint now) const noexcept;

  std::uint64_t max_keys() const noexcept { return max_keys_; }
  // Of what is added from now on.
  void set_ttl(std::chrono::nanoseconds ttl) noexcept;
  std::chrono::nanoseconds ttl() const noexcept {
    return std::chrono::nanoseconds(ttl_.load(std::memory_order_relaxed));
  }
  // What it holds, to be held by another process that hashes identities alike; not that it holds
  // all. 12 bytes for each key. Entries that change meanwhile are there as before or as after.
  std::string saved(TimePoint now) const;
  // `saved` so long ago. False: these bytes are nothing that saved() gives, or of another size
  // (max_keys), and nothing has been added.
  bool restore(std::string_view saved, TimePoint now, std::chrono::nanoseconds ago) noexcept;

  // Nothing is held from then on, unless it is added later.
  TimePoint holds_until() const noexcept;
  // How many have been dropped before their time, for want of room.
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
  enum class Added : std::uint8_t { is_new, was_there, not_yet };
  Added try_add(std::uint64_t* set, std::uint64_t wanted, Tick tick) noexcept;
  Added add_to(std::uint64_t* set, std::uint64_t wanted, TimePoint now) noexcept;

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
  std::atomic<Hold> hold_{Hold::begun};      // why all
  std::atomic<std::uint64_t> overflows_{0};
};

}  // namespace cuckooguard::guard
