// Where a command goes if one connection stands for a whole cluster: which nodes get it.
//
//   by_keys       the node that has the slot of its keys
//   any_node      one master, always the same while it can: it has no keys, and each may answer
//   all_masters   each of them; one reply made of theirs (Merge), an error if there is any
//   pubsub_node   the one on which all clients of the port subscribe
//   scan          SCAN: one master after the other (scan_cursor.h)
//   connection    one master; if it says yes, the others are told the same (AUTH, HELLO, SELECT 0)
//   transaction   MULTI, EXEC, DISCARD, WATCH, UNWATCH: of one slot
//   pubsub        [P][UN]SUBSCRIBE on one master, S[UN]SUBSCRIBE on the slot's
//   quit          here: +OK, and the end
//   refused       in words: what one node would say is not true of the whole, or it is about nodes
//
// A command that is not in Redis's table (of a module) is taken to have one key, its first
// argument.
//
// Threads: pure functions. Lifetimes: views into the arguments; texts are constants. Limits: keys
//   are those of one whole command.
// Source: COMMAND of Redis 7.0.15 and 8.0.6, Valkey 8.0.1 and 9.1.2 (redis/command_table.h);
//   docs/cluster.md has the table for people.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "redis/command_table.h"

namespace cuckooguard::routing {

enum class RoutedTo : std::uint8_t {
  by_keys,
  any_node,
  all_masters,
  pubsub_node,
  scan,
  connection,
  transaction,
  pubsub,
  quit,
  refused,
};

// How the client's reply is made of the nodes' (split_command.h).
enum class Merge : std::uint8_t {
  none,      // it is one node's own
  elements,  // of a split command: of arrays, in the order of its keys
  sum,       // of numbers
  least,     // of numbers
  first,     // they are the same
  joined,    // arrays, one behind the other
  present,   // the first that is not null
  ended,     // SCRIPT KILL: one has ended a script, or none had any
  scan,      // with another cursor
  info,      // of one node: as of a Redis that is in no cluster
  hello,     // the same
};

struct Routing {
  RoutedTo to = RoutedTo::by_keys;
  Merge merge = Merge::none;
  bool needs_whole = false;    // without one master's part the reply would not be true
  bool may_last = false;       // as long as its client wants
  std::string_view refusal{};  // a line of RESP, CRLF included
};

// `arguments` may be the first of a larger command: one, its name, is there.
Routing routing_of(const redis::Command& command, std::span<const std::string_view> arguments);

// The keys by which it is routed. Of commands whose other keys are behind a keyword (SORT ...
// STORE) the first: Redis looks at the others. Empty: it has none, or Redis will refuse it.
std::vector<std::string_view> routed_keys(const redis::Command& command,
                                          std::span<const std::string_view> arguments);

// It runs code that its client has chosen, or that nobody here knows: an error may come after it
// has changed something, and say whatever that code wants.
bool may_fail_halfway(const redis::Command& command);

}  // namespace cuckooguard::routing
