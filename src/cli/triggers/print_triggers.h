// `cuckooguard triggers`: the SQL by which a SQLite database logs what changes in its guarded
// tables.
//
// Threads: the main thread's; the database is only read, and only what it does not have yet is
// printed.
#pragma once

#include "cli/command.h"
#include "cli/flags.h"

namespace cuckooguard::cli {

void add_triggers_command(Parser app, Commands& commands);

// `cuckooguard triggers --config FILE [--source NAME]`
struct PrintTriggers {
  SourceFlags from;

  Parser add(Parser app);
  int run(const app::Guests& guests) const;
};

}  // namespace cuckooguard::cli
