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

}  // namespace cuckooguard::harness
