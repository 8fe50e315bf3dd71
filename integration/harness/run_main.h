// What main() returns of a program that runs by itself.
#pragma once

#include <cstdio>
#include <exception>

namespace cuckooguard::harness {

// What `run` returns; or 1, when what it has thrown has been told.
template <typename Run>
int run_main(const char* name, const Run& run) {
  try {
    return run();
  } catch (const std::exception& trouble) {
    std::fprintf(stderr, "%s: %s\n", name, trouble.what());
    return 1;
  }
}

}  // namespace cuckooguard::harness
