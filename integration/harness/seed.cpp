#include "harness/seed.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

namespace cuckooguard::harness {

std::uint32_t seed_of_this_run() {
  std::uint32_t seed = std::random_device{}();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  if (const char* const wanted = std::getenv("CUCKOOGUARD_SEED")) {
    const std::string_view text(wanted);
    std::from_chars(text.data(), text.data() + text.size(), seed);
  }
  std::printf("CUCKOOGUARD_SEED=%u\n", seed);
  return seed;
}

RunArguments run_arguments(std::span<char* const> words) {
  RunArguments arguments{.seed = std::random_device{}()};
  const auto read = [words](std::size_t at, std::uint32_t& into) {
    if (at < words.size()) {
      const std::string_view text(words[at]);
      std::from_chars(text.data(), text.data() + text.size(), into);
    }
  };
  read(1, arguments.seconds);
  read(2, arguments.seed);
  return arguments;
}

}  // namespace cuckooguard::harness
