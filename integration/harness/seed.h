// The seed of a random test: CUCKOOGUARD_SEED if it is set, so that a failure can be replayed. Of a
// program it is the second argument, behind the seconds that it is to take.
#pragma once

#include <cstdint>
#include <span>

namespace cuckooguard::harness {

std::uint32_t seed_of_this_run();  // printed, too

struct RunArguments {
  std::uint32_t seconds = 60;
  std::uint32_t seed = 0;  // random unless given
};
RunArguments run_arguments(std::span<char* const> words);  // of main()

}  // namespace cuckooguard::harness
