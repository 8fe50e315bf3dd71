#include "traffic/expiries.h"

#include <atomic>

namespace cuckooguard::traffic {
namespace {

constexpr unsigned kHalf = 32;

// Since the machine's start: 136 years fit.
std::uint32_t second_of(Expiries::TimePoint time) {
  return static_cast<std::uint32_t>(
      std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count());
}

struct Cell {
  std::uint32_t second;
  std::uint32_t keys;

  static Cell of(std::uint64_t word) {
    return {.second = static_cast<std::uint32_t>(word >> kHalf),
            .keys = static_cast<std::uint32_t>(word)};
  }
  std::uint64_t word() const { return std::uint64_t{second} << kHalf | keys; }
  // With one key more of this second.
  Cell with(std::uint32_t other, std::uint32_t now) const {
    if (second == other) {
      return {.second = second, .keys = keys + 1};
    }
    return keys == 0 || second < now ? Cell{.second = other, .keys = 1}
                                     : Cell{.second = second, .keys = keys - 1};
  }
};

std::atomic_ref<std::uint64_t> shared(std::uint64_t& word) {
  return std::atomic_ref(word);
}

}  // namespace

void Expiries::add(TimePoint at, TimePoint now) noexcept {
  const std::uint32_t second = second_of(at);
  if (at < now) {
    return;
  }
  const auto cell = shared(cells_.words()[second % kCells]);
  std::uint64_t word = cell.load(std::memory_order_relaxed);
  while (!cell.compare_exchange_weak(
      word, Cell::of(word).with(second, second_of(now)).word(), std::memory_order_relaxed)) {
  }
}

std::optional<Expiries::Peak> Expiries::peak(TimePoint now) const noexcept {
  const std::uint32_t first = second_of(now);
  Cell most{};
  for (std::size_t i = 0; i < kCells; ++i) {
    const Cell cell = Cell::of(shared(cells_.words()[i]).load(std::memory_order_relaxed));
    if (cell.second >= first && cell.keys > most.keys) {
      most = cell;
    }
  }
  return most.keys == 0
             ? std::nullopt
             : std::optional(
                   Peak{.keys = most.keys, .from_now = std::chrono::seconds(most.second - first)});
}

}  // namespace cuckooguard::traffic
