// `cuckooguard slot list|drop`: replication slots of guards on a PostgreSQL, each of which keeps
// the server from removing its log: one whose guard has gone for good fills the disk.
//
// Threads: the main thread's. Errors: a sentence; only run() prints.
#pragma once

#include <expected>
#include <string>

#include "cli/command.h"
#include "cli/flags.h"

namespace cuckooguard::cli {

void add_slot_commands(Parser app, Commands& commands);

// `cuckooguard slot list --config FILE [--source NAME]`
struct ListSlots {
  SourceFlags from;

  Parser add(Parser slot);
  int run(const app::Guests& guests) const;
};

// `cuckooguard slot drop --config FILE [--source NAME] SLOT`
struct DropSlot {
  SourceFlags from;
  std::string name;  // of the slot

  Parser add(Parser slot);
  int run(const app::Guests& guests) const;
};

// One line per slot whose name begins as a guard's, or is the source's.
std::expected<std::string, std::string> list_slots_of(const ListSlots& options,
                                                      const config::Built& built);
// Not one that is in use.
std::expected<std::string, std::string> drop_slot_of(const DropSlot& options,
                                                     const config::Built& built);

}  // namespace cuckooguard::cli
