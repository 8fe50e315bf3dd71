// How long a random test runs: CUCKOOGUARD_ROUNDS, for soak runs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::harness {

inline unsigned rounds_of_this_run(unsigned otherwise) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const char* const wanted = std::getenv("CUCKOOGUARD_ROUNDS");
  const unsigned long rounds = wanted == nullptr ? 0 : std::strtoul(wanted, nullptr, 10);
  return rounds == 0 ? otherwise : static_cast<unsigned>(rounds);
}

// `changes`: round(), with what is wrong, and counts(). Until something is; `what` begins the line
// that says how it went.
template <class Changes>
void run_rounds(
    Changes& changes, const char* what, const char* server, std::uint32_t seed, unsigned rounds) {
  unsigned round = 0;
  std::vector<std::string> wrong;
  for (; round < rounds && wrong.empty(); ++round) {
    wrong = changes.round();
    std::string text;
    for (const std::string& each : wrong) {
      text += each + "\n";
    }
    EXPECT_TRUE(wrong.empty()) << "round " << round << "\n" << text;
  }
  std::printf("%s: server=%s seed=%u rounds=%u wrong=%zu%s\n",
              what,
              server,
              seed,
              round,
              wrong.size(),
              changes.counts().c_str());
}

}  // namespace cuckooguard::harness
