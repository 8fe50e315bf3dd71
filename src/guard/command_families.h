// The families of commands that there are (guard/own_commands.h).
//
// Threads, lifetimes: as OwnCommands has them. Errors: none.
#pragma once

#include <memory>

#include "guard/own_commands.h"

namespace cuckooguard::guard {

std::unique_ptr<CommandServer> guard_commands(Guard& guard);   // GUARD.*
std::unique_ptr<CommandServer> filter_commands(Guard& guard);  // BF.*, CF.* of namespaces' filters

}  // namespace cuckooguard::guard
