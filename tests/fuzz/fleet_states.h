// What the fuzz targets of a fleet share.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

#include "fleet/keys.h"

namespace cuckooguard::fleet {

inline void require(bool holds,
                    const std::source_location& where = std::source_location::current()) {
  if (!holds) {
    std::fprintf(stderr, "broken: %s:%u\n", where.file_name(), where.line());
    std::abort();
  }
}

// Read once: their files are gone when a crash ends the program.
struct FuzzKeys {
  explicit FuzzKeys(const KeyFiles& files = KeyFiles())
      : signing(files.signing()), verifying(files.verifying()) {}

  SigningKey signing;
  VerifyingKeys verifying;
};

}  // namespace cuckooguard::fleet
