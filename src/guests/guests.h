// All that this program is built of (guests.cmake): what main() wires.
#pragma once

#include "cli/command.h"

namespace cuckooguard::guests {

cli::Program program();

}  // namespace cuckooguard::guests
