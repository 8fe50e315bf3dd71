// One command about which the guard is asked, with all that is known of it at that moment: what
// becomes of it follows from this alone.
//
// Threads: its worker's. Lifetimes: on the stack; until the guard is asked about another command.
#pragma once

#include <span>
#include <string_view>

#include "guard/client.h"
#include "redis/command_table.h"
#include "redis/facts.h"
#include "redis/lane.h"

namespace cuckooguard::guard {

struct Question {
  const redis::Snapshot& redis;
  const redis::Command& command;                // as this Redis has it
  std::span<const std::string_view> arguments;  // its name first
  Client& client;
  redis::TimePoint now;

  // How it may travel where connections to Redis are shared; until it is decided.
  redis::Lane lane() const;
};

}  // namespace cuckooguard::guard
