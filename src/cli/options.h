// The command line: which command was asked for, with its options. CLI11 prints help and usage
// errors itself.
//
// Threads: free function. Errors: usage errors are printed and end with kExitUsage.
#pragma once

#include <optional>
#include <variant>

#include "cli/check.h"
#include "cli/explain.h"
#include "cli/filter_file_commands.h"
#include "cli/filter_redis_commands.h"
#include "cli/filter_writing_commands.h"
#include "cli/init.h"
#include "cli/ping.h"
#include "cli/plan.h"
#include "cli/presets.h"
#include "cli/print_config.h"
#include "cli/print_triggers.h"
#include "cli/serve.h"
#include "cli/slots.h"
#include "cli/version.h"

namespace cuckooguard::cli {

// A subcommand add()s itself to the command line; each command has run(), which returns the exit
// code.
using Command = std::variant<Serve,
                             Check,
                             PrintConfig,
                             ShowPlan,
                             Init,
                             InspectFilter,
                             QueryFilter,
                             CreateFilter,
                             AddToFilter,
                             ImportFilter,
                             ExportFilter,
                             PrintTriggers,
                             ListSlots,
                             DropSlot,
                             ListPresets,
                             Explain,
                             ShowVersion,
                             Ping>;

// Nothing if the process is to end now with `exit_code` (help, a usage error; both already
// printed).
std::optional<Command> parse_options(int argc, const char* const* argv, int& exit_code);

}  // namespace cuckooguard::cli
