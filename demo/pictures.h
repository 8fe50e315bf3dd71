// The pictures of the guard's page in docs/: as wide as a desk's screen, and as a phone's.
//
// Threads: the look-ups have one of their own. Errors: std::runtime_error, also if the page is
// wider than a screen.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "endpoint.h"
#include "users_database.h"

namespace cuckooguard::demo {

struct Shown {
  std::string page;  // its URL
  const UsersDatabase& database;
  Endpoint guard;
  std::uint64_t users;
};

// page.png and page-phone.png, after as many minutes of look-ups (live_load.h) as the charts show.
// Throws harness::Interrupted.
void take_pictures(const Shown& shown, const std::filesystem::path& folder);

}  // namespace cuckooguard::demo
