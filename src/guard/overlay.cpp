#include "guard/overlay.h"

#include <algorithm>
#include <limits>
#include <new>
#include <span>
#include <stdexcept>

#include "text/little_endian.h"

namespace cuckooguard::guard {
namespace {

constexpr std::size_t kLineBytes = 64;
constexpr int kTickBits = 28;  // of nanoseconds
constexpr std::uint64_t kTickMax = std::numeric_limits<std::uint32_t>::max();

constexpr std::uint32_t tag_of(std::uint64_t entry) {
  return static_cast<std::uint32_t>(entry >> 32);
}
constexpr std::uint32_t expiry_of(std::uint64_t entry) {
  return static_cast<std::uint32_t>(entry);
}
constexpr std::uint64_t entry_of(std::uint32_t tag, std::uint32_t expiry) {
  return (std::uint64_t{tag} << 32) | expiry;
}
constexpr std::uint32_t tag_of_hash(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash);
}

// The first tick at which `ttl` has surely passed.
Overlay::Tick expiry_tick(TimePoint now, std::chrono::nanoseconds ttl) {
  const std::uint64_t ticks = (static_cast<std::uint64_t>(ttl.count()) >> kTickBits) + 2;
  return static_cast<std::uint32_t>(std::min(Overlay::tick_of(now) + ticks, kTickMax));
}

bool is_live(std::uint64_t entry, std::uint32_t tick) {
  return expiry_of(entry) > tick;
}

Overlay::Origin origin_of(Overlay::Tick expiry) {
  return expiry % 2 == 0 ? Overlay::Origin::written : Overlay::Origin::added;
}

// This tick, or the next.
Overlay::Tick marked(Overlay::Tick expiry, Overlay::Origin origin) {
  return origin_of(expiry) == origin || expiry == kTickMax ? expiry : expiry + 1;
}

template <class Word>
Word load(const Word& word) {
  // std::atomic_ref is for what may be written; this does not.
  return std::atomic_ref(const_cast<Word&>(word)).load(std::memory_order_acquire);
}

// `word` is a std::atomic or a std::atomic_ref.
template <class Word>
void raise_to(Word& word, std::uint32_t value, std::memory_order order) {
  std::uint32_t before = word.load(std::memory_order_relaxed);
  while (before < value && !word.compare_exchange_weak(before, value, order)) {
  }
}

// Of saved(), behind the number of sets: an entry's set, its tag, and the ticks until it expires,
// twice, and its origin.
constexpr std::size_t kSavedEntryBytes = 3 * sizeof(std::uint32_t);

bool replace(std::uint64_t& word, std::uint64_t expected, std::uint64_t desired) {
  return std::atomic_ref(word).compare_exchange_strong(
      expected, desired, std::memory_order_acq_rel);
}

}  // namespace

Overlay::Overlay(Limits limits)
    : ttl_(std::max(limits.ttl, std::chrono::nanoseconds::zero()).count()),
      max_keys_(limits.max_keys),
      // Four keys to a set of eight at `max_keys`: then one set in fifty has more keys than room.
      set_count_((limits.max_keys + kSetEntries / 2 - 1) / (kSetEntries / 2)) {
  if (limits.max_keys == 0 || set_count_ > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument("Overlay: max_keys out of range");
  }
  // calloc takes large zeroed memory from the system untouched: no page is spent before it is used.
  const std::size_t set_bytes = set_count_ * kLineBytes;
  const std::size_t bytes = set_bytes + (sizeof(std::uint32_t) << kCellBits);
  std::size_t room = bytes + kLineBytes;
  memory_.reset(static_cast<std::uint64_t*>(std::calloc(room, 1)));
  if (memory_ == nullptr) {
    throw std::bad_alloc();
  }
  void* start = memory_.get();
  entries_ = static_cast<std::uint64_t*>(std::align(kLineBytes, bytes, start, room));
  cells_ = reinterpret_cast<std::uint32_t*>(entries_ + set_count_ * kSetEntries);
}

// Rounded down; before boot is 0. The last tick never comes: what expires then stays for good.
Overlay::Tick Overlay::tick_of(TimePoint time) noexcept {
  const std::int64_t ticks = std::chrono::nanoseconds(time.time_since_epoch()).count() >> kTickBits;
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(ticks, 0, static_cast<std::int64_t>(kTickMax) - 1));
}

std::uint64_t* Overlay::set_of(std::uint64_t hash) const noexcept {
  // The high half picks the set, the low half is the tag.
  return entries_ + ((hash >> 32) * set_count_ >> 32) * kSetEntries;
}

Overlay::Search Overlay::begin(std::uint64_t hash, TimePoint now) const noexcept {
  const std::uint32_t tick = tick_of(now);
  if (last_expiry_.load(std::memory_order_acquire) <= tick ||
      (load(cell_of(hash)) <= tick && all_until_.load(std::memory_order_relaxed) <= tick)) {
    return {};
  }
  const std::uint64_t* const set = set_of(hash);
  __builtin_prefetch(set);
  return {.set = set, .tag = tag_of_hash(hash), .tick = tick};
}

bool Overlay::holds(const Search& search) const noexcept {
  if (search.set == nullptr) {
    return false;
  }
  if (all_until_.load(std::memory_order_relaxed) > search.tick) {
    return true;
  }
  // Words are ordered by tag, then by expiry: an entry that holds is one in a range.
  const std::uint64_t first = entry_of(search.tag, search.tick) + 1;
  const std::uint64_t count = kTickMax - search.tick;
  bool held = false;  // no branch per entry: nearly always the answer is no, after all eight
  for (const std::uint64_t& word : std::span(search.set, kSetEntries)) {
    held |= load(word) - first < count;
  }
  return held;
}

Held Overlay::why_held(std::uint64_t hash, TimePoint now) const noexcept {
  const Tick tick = tick_of(now);
  Tick latest = 0;
  for (const std::uint64_t& word : std::span(set_of(hash), kSetEntries)) {
    const std::uint64_t entry = load(word);
    if (tag_of(entry) == tag_of_hash(hash) && is_live(entry, tick)) {
      latest = std::max(latest, expiry_of(entry));
    }
  }
  if (latest == 0) {
    return all_until_.load(std::memory_order_relaxed) > tick ? Held::all : Held::no;
  }
  return origin_of(latest) == Origin::added ? Held::added : Held::written;
}

Overlay::Tick Overlay::add(std::uint64_t hash,
                           TimePoint now,
                           std::chrono::nanoseconds ttl,
                           Origin origin) noexcept {
  const Tick expiry = marked(expiry_tick(now, ttl), origin);
  const Added added = add_to(set_of(hash), entry_of(tag_of_hash(hash), expiry), now);
  std::atomic_ref cell(cell_of(hash));
  raise_to(cell, expiry, std::memory_order_acq_rel);
  raise_to(last_expiry_, expiry, std::memory_order_acq_rel);
  return added == Added::is_new ? expiry : 0;
}

Overlay::Added Overlay::add_to(std::uint64_t* set, std::uint64_t wanted, TimePoint now) noexcept {
  Added added = Added::not_yet;
  while (added == Added::not_yet) {
    added = try_add(set, wanted, tick_of(now));
  }
  return added;
}

std::string Overlay::saved(TimePoint now) const {
  const Tick tick = tick_of(now);
  std::string bytes;
  text::put(bytes, set_count_);
  for (std::uint64_t set = 0; set < set_count_; ++set) {
    for (const std::uint64_t& word : std::span(entries_ + set * kSetEntries, kSetEntries)) {
      const std::uint64_t entry = load(word);
      if (is_live(entry, tick)) {
        text::put(bytes, static_cast<std::uint32_t>(set));
        text::put(bytes, tag_of(entry));
        text::put(bytes,
                  2 * (expiry_of(entry) - tick) +
                      static_cast<std::uint32_t>(origin_of(expiry_of(entry))));
      }
    }
  }
  return bytes;
}

// A hash is not known any more, but its set and its tag; so all cells of the summary that hashes of
// this set may fall into are raised.
bool Overlay::restore(std::string_view saved,
                      TimePoint now,
                      std::chrono::nanoseconds ago) noexcept {
  text::LittleEndianCursor cursor(saved);
  const auto sets = cursor.take<std::uint64_t>();
  if (!cursor.ok() || cursor.left() % kSavedEntryBytes != 0 || sets != set_count_) {
    return false;
  }
  const auto ticks_ago =
      static_cast<std::uint64_t>(std::max(ago, std::chrono::nanoseconds::zero()).count()) >>
      kTickBits;
  while (!cursor.at_end()) {
    const auto in_set = cursor.take<std::uint32_t>();
    const auto tag = cursor.take<std::uint32_t>();
    const auto left_and_origin = cursor.take<std::uint32_t>();
    const std::uint64_t left = left_and_origin / 2;
    if (in_set >= set_count_ || left <= ticks_ago) {
      continue;
    }
    const auto expiry =
        static_cast<Tick>(std::min<std::uint64_t>(tick_of(now) + left - ticks_ago, kTickMax - 1));
    const Tick until = marked(expiry, static_cast<Origin>(left_and_origin % 2));
    add_to(entries_ + std::uint64_t{in_set} * kSetEntries, entry_of(tag, until), now);
    const auto first_of = [this](std::uint64_t set) {  // high half of a hash
      return ((set << 32) + set_count_ - 1) / set_count_;
    };
    const std::uint64_t last =
        std::min<std::uint64_t>(first_of(std::uint64_t{in_set} + 1) - 1, 0xFFFFFFFF);
    for (std::uint64_t cell = first_of(in_set) >> (32 - kCellBits);
         cell <= last >> (32 - kCellBits);
         ++cell) {
      std::atomic_ref summary(cells_[cell]);
      raise_to(summary, until, std::memory_order_acq_rel);
    }
    raise_to(last_expiry_, until, std::memory_order_acq_rel);
  }
  return true;
}

bool Overlay::remove(std::uint64_t hash, Tick until) noexcept {
  const std::uint64_t put = entry_of(tag_of_hash(hash), until);
  for (std::uint64_t& word : std::span(set_of(hash), kSetEntries)) {
    if (load(word) == put && replace(word, put, 0)) {
      return true;
    }
  }
  return false;
}

// Only entries: who adds has put its own before it raises what tells that there is one. Memory that
// was never used is not written, and so not taken.
void Overlay::clear() noexcept {
  for (std::uint64_t& word : std::span(entries_, set_count_ * kSetEntries)) {
    if (load(word) != 0) {
      std::atomic_ref(word).store(0, std::memory_order_release);
    }
  }
}

void Overlay::hold_all_until(TimePoint until, Hold because) noexcept {
  hold_.store(because, std::memory_order_relaxed);
  const std::uint32_t expiry = expiry_tick(until, {});
  raise_to(all_until_, expiry, std::memory_order_relaxed);
  raise_to(last_expiry_, expiry, std::memory_order_acq_rel);
}

std::optional<Overlay::HeldAll> Overlay::holds_all(TimePoint now) const noexcept {
  const std::uint32_t until = all_until_.load(std::memory_order_relaxed);
  if (until <= tick_of(now)) {
    return std::nullopt;
  }
  return HeldAll{.until = TimePoint(std::chrono::nanoseconds(std::int64_t{until} << kTickBits)),
                 .because = hold_.load(std::memory_order_relaxed)};
}

void Overlay::set_ttl(std::chrono::nanoseconds ttl) noexcept {
  ttl_.store(std::max(ttl, std::chrono::nanoseconds::zero()).count(), std::memory_order_relaxed);
}

TimePoint Overlay::holds_until() const noexcept {
  const std::int64_t ticks = last_expiry_.load(std::memory_order_acquire);
  return TimePoint(std::chrono::nanoseconds(ticks << kTickBits));
}

// `not_yet`: another thread was faster with the entry chosen; the set must be read again.
Overlay::Added Overlay::try_add(std::uint64_t* set, std::uint64_t wanted, Tick tick) noexcept {
  std::uint64_t* room = set;
  std::uint64_t room_entry = 0;
  std::uint64_t room_expiry = kTickMax + 1;
  for (std::uint64_t& word : std::span(set, kSetEntries)) {
    const std::uint64_t entry = load(word);
    const Tick expiry = is_live(entry, tick) ? expiry_of(entry) : 0;
    if (expiry != 0 && tag_of(entry) == tag_of(wanted)) {
      if (expiry >= expiry_of(wanted)) {
        return Added::was_there;
      }
      return replace(word, entry, wanted) ? Added::is_new : Added::not_yet;
    }
    if (expiry < room_expiry) {
      room = &word;
      room_entry = entry;
      room_expiry = expiry;
    }
  }
  if (!replace(*room, room_entry, wanted)) {
    return Added::not_yet;
  }
  if (room_expiry != 0) {
    overflows_.fetch_add(1, std::memory_order_relaxed);
  }
  return Added::is_new;
}

}  // namespace cuckooguard::guard
