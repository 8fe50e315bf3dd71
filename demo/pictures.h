// Waves of load for the guard's page, and the pictures of the page in docs/: as wide as a desk's
// screen, and as a phone's.
//
// Threads: the look-ups have one of their own. Errors: std::runtime_error, also if the page is
// wider than a screen.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>

#include "endpoint.h"
#include "load.h"

namespace cuckooguard::demo {

struct Shown {
  std::string page;  // its URL
  Load& load;
  Endpoint guard;
};

// Something to look at on the guard's page: an attack that grows and ebbs away. Returns when it is
// asked to stop. Throws harness::Interrupted.
void run_waves(Load& load, const Endpoint& guard, const std::stop_token& stop = {});

// page.png and page-phone.png, after as many minutes of waves as the charts show. Throws
// harness::Interrupted.
void take_pictures(const Shown& shown, const std::filesystem::path& folder);

}  // namespace cuckooguard::demo
