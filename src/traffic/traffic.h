// What app/guests.h asks for of this guest.
#pragma once

#include "app/guests.h"

namespace cuckooguard::traffic {

// Sketches of each namespace, GUARD.TOP, and what is shown of them.
extern const app::TrafficGuest kGuest;

}  // namespace cuckooguard::traffic
