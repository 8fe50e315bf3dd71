// The one source of chance in a simulated run: the same seed gives the same numbers on every
// machine (the standard fixes the engine but not its distributions, so those are ours).
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>

namespace cuckooguard::simulation {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t next() { return engine_(); }
  // 0 .. limit - 1; the bias of the remainder does not matter here.
  std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : engine_() % limit; }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  bool percent(std::uint64_t share) { return below(100) < share; }

  template <typename Sequence>
  const auto& pick(const Sequence& from) {
    return from[below(std::size(from))];
  }

  template <typename T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[below(i)]);
    }
  }

  std::string text(std::size_t bytes) {
    std::string text(bytes, '\0');
    for (char& byte : text) {
      byte = static_cast<char>('a' + below(26));
    }
    return text;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace cuckooguard::simulation
