// The control connection's questions to Redis, and the answers.
//
// Threads: plain values.
// Lifetimes: own their contents. Errors: what Redis does not say is the value that allows nothing.
// Limits: as many users as are asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/clock.h"
#include "redis/reading.h"
#include "redis/slot.h"

namespace cuckooguard::upstream {

// Which slots a node of a cluster serves, or all of its masters, by its replies to CLUSTER NODES
// and CLUSTER INFO.
using ServedSlots = redis::Slots (*)(std::string_view nodes,
                                     std::string_view info,
                                     bool of_whole_cluster);

// Whether Redis has the built-in commands under their names, and which of those that may be
// answered a user may run on keys with these prefixes.
struct Questions {
  std::vector<std::vector<std::string>> keys;  // by namespace
  std::uint64_t numbering = 0;                 // of the namespaces (redis::UserAccess)
  ServedSlots served_slots = nullptr;          // null: Redis is in no cluster
  bool of_whole_cluster = false;               // those that all of its masters serve
  bool of_presence_alone = false;              // nothing but whether it answers
};

// As far as a right may lack for it.
enum class Question : std::uint8_t {
  users,              // ACL GETUSER
  commands_of_users,  // ACL DRYRUN
  commands,           // COMMAND
  state,              // INFO and DBSIZE
  takes_writes,       // INFO alone
  slots,              // CLUSTER NODES and INFO
  idle_timeout        // CONFIG GET
};

struct RefusedQuestion {
  Question question{};
  std::string error;  // Redis's, without '-'
};

// The server that has answered.
struct Server {
  std::string run_id{};  // from its start to its end; empty: it does not say
  std::optional<std::chrono::seconds> uptime{};
  std::optional<bool> is_master{};  // nullopt: it does not say
  io::TimePoint connected_at{};     // the connection was begun
  // The address has come to lead there since the last connection, or may have: all connections
  // that are older than this one may be another server's, whatever run_id says.
  bool is_led_to_anew = false;
};

struct Answers {
  // Its commands: with the first of each connection.
  redis::Reading reading{.is_master = std::nullopt, .takes_writes = false};
  Server server;
  std::optional<bool> is_cluster;        // nullopt: it does not say
  std::vector<RefusedQuestion> refused;  // for want of a right, or of a login
};

}  // namespace cuckooguard::upstream
