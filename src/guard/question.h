// One command about which the guard is asked, with all that is known of it at that moment: what
// becomes of it follows from this alone.
//
// Threads: its worker's. Lifetimes: on the stack; until the guard is asked about another command.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "guard/client.h"
#include "redis/command_table.h"
#include "redis/facts.h"
#include "redis/lane.h"

namespace cuckooguard::guard {

// What becomes of a read whose keys are absent, in a strict namespace, while the proof is to come.
enum class Unproven : std::uint8_t {
  ask_redis,  // it is forwarded; a nil is replaced if the proof has come before it
  hold,       // it waits, no longer than the namespace's strict_hold after it has arrived
};

// Of a read, in strict namespaces.
struct ProofNeed {
  redis::TimePoint read_at;  // when all of its bytes had been received: a proof must be newer
  Unproven unproven = Unproven::ask_redis;
  bool was_held = false;  // for a proof
};

struct Question {
  const redis::Snapshot& redis;
  const redis::Command& command;                // as this Redis has it
  std::span<const std::string_view> arguments;  // its name first
  Client& client;
  redis::TimePoint now;
  ProofNeed proof{.read_at = now};

  // How it may travel where connections to Redis are shared; until it is decided.
  redis::Lane lane() const;
};

}  // namespace cuckooguard::guard
