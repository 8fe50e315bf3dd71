// How keys without a namespace begin: a sample of a worker's reads, for finding out why a template
// matches nothing.
//
// Only a key's shape is kept: its leading letters and the separator after them ("user:"); nothing
// if the key continues otherwise, or ends there. So the parts that identify a row, a session or a
// person are left out, unless they come first.
//
//   read 1 .. 64      each is looked at
//   from then on      one in 64, at random, counted for all since the one before
//
// Common shapes are found in kShapesMax places by Space-Saving (Metwally, Agrawal, El Abbadi:
// Efficient computation of frequent and top-k elements in data streams, 2005): a new shape takes
// the place of the one with the least credit, and inherits that. Only reads since then are shown,
// so never more than there were.
//
// Threads: see() and clear() the worker's; for_each() any, which skips a place that is being
// changed. Limits: a compare and a branch per read, and one in 64 some 50 ns; no lock, no
// allocation.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>

namespace cuckooguard::guard {

// Empty: it has none.
std::string_view shape_of(std::string_view key) noexcept;

class KeyShapes {
 public:
  static constexpr std::size_t kShapesMax = 16;
  static constexpr std::size_t kShapeBytesMax = 24;
  static constexpr std::uint64_t kAllUpTo = 64;  // reads, each of which is looked at

  // The read of this number, from 1 on, without gaps.
  void see(std::uint64_t number, std::string_view key) noexcept {
    if (number >= due_) {
      take(number, key);
    }
  }
  // After a reload: they may have a namespace now.
  void clear() noexcept;

  // take(shape, reads); the text is valid until it returns.
  template <class Take>
  void for_each(Take take) const {
    for (const Place& place : places_) {
      if (const auto seen = read(place)) {
        const auto* const text = reinterpret_cast<const char*>(seen->words.data());
        take(std::string_view(text, ::strnlen(text, kShapeBytesMax)), seen->reads);
      }
    }
  }

 private:
  using Words =
      std::array<std::uint64_t, kShapeBytesMax / sizeof(std::uint64_t)>;  // zeros behind it
  struct Place {
    std::atomic<std::uint32_t> version{0};  // odd while it is changed
    std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Words>> words{};
    std::atomic<std::uint64_t> reads{0};
    std::uint64_t credit = 0;  // the worker's own: its reads and its predecessors' in this place
  };
  struct Seen {
    Words words;
    std::uint64_t reads;
  };

  void take(std::uint64_t number, std::string_view key) noexcept;
  static void put(Place& place, const Words& words, std::uint64_t reads) noexcept;
  static bool holds(const Place& place, const Words& words) noexcept;
  static std::optional<Seen> read(const Place& place) noexcept;

  std::uint64_t due_ = 1;
  std::uint64_t last_ = 0;
  std::uint64_t random_ = 0x9e3779b97f4a7c15;  // xorshift; no secret
  std::array<Place, kShapesMax> places_;
};

}  // namespace cuckooguard::guard
