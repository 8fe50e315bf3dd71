// What Redis says of itself, as the control connection learns it; plain values.
//
// Threads: plain values.
// Lifetimes: own their contents. Errors: what Redis does not say is the value that allows nothing.
// Limits: as many commands as Redis lists.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cuckooguard::upstream {

// A command that the owner answers, if the user may run it.
struct AnswerableCommand {
  std::string name;           // lower case
  std::size_t key_count = 0;  // the argument that says how many keys follow; 0: none does
};

struct Questions {
  std::vector<std::string> built_in;           // does Redis have these under their names?
  std::vector<AnswerableCommand> answerable;   // may a user run these
  std::vector<std::vector<std::string>> keys;  // on keys with these prefixes, by namespace?
};

struct CommandFacts {
  std::string name;  // lower case
  int arity = 0;     // the name included; negative: at least so many
  bool writes = true;
  bool blocks = false;
  bool subscribes = false;
  // Its keys are the arguments first, first + step ... last (a negative one counts from the end);
  // else any argument may be one.
  bool has_key_range = false;
  bool has_no_keys = false;  // for sure, nor have its subcommands
  int first = 0;
  int last = 0;
  int step = 0;
};

struct CommandList {
  std::vector<bool> has_built_in;  // in the order of Questions
  std::vector<CommandFacts> all;
};

enum class KeyAccess : std::uint8_t { none, read, read_write };

struct UserFacts {
  std::string name;
  bool unrestricted = false;       // on, every command, every key
  bool needs_no_password = false;  // on, nopass
  bool may_write = true;           // false: for sure none of its commands writes a key
  std::vector<KeyAccess> keys;     // in the order of Questions; empty if unrestricted
  // Of those without access: for sure it may read none of their keys. Empty: that is not known.
  std::vector<bool> reads_no_key;
  bool knows_commands =
      false;  // Redis has said which it may run; else nothing follows from the two
  // In the order of Questions::answerable: on namespaces with this access. Empty: none.
  std::vector<bool> commands_on_readable;
  std::vector<bool> commands_on_writable;
};

enum class ServerState : std::uint8_t { available, loading, master_link_down, busy };

// What is asked on the control connection, as far as a right may lack for it.
enum class Question : std::uint8_t {
  users,              // ACL GETUSER
  commands_of_users,  // ACL DRYRUN
  commands,           // COMMAND
  state,              // INFO and DBSIZE
  takes_writes,       // INFO alone
  idle_timeout        // CONFIG GET
};

struct RefusedQuestion {
  Question question{};
  std::string error;  // Redis's, without '-'
};

// What Redis does not let the guard do, or why the guard cannot work with it, in words for people (not_allowed.h).
struct NotAllowed {
  std::string why{};            // Redis's words; empty: it may ask for all that it wants to know
  std::string hint{};           // the remedy, and what holds until then
  bool passes = false;          // all keys, or those of some users; else it costs less
  bool is_unsupported = false;  // this kind of Redis, whatever its users may do
  bool operator==(const NotAllowed&) const = default;
};

struct Facts {
  std::chrono::steady_clock::time_point asked_at{};  // what Redis says is of then or later
  std::optional<CommandList> commands;               // with the first facts of each connection
  ServerState state = ServerState::available;
  std::optional<bool> is_master;  // nullopt: it does not say
  bool takes_writes =
      false;  // for sure: it would refuse none for being a replica, or for having nowhere to keep them
  std::optional<bool> is_cluster;  // nullopt: it does not say
  // Redis closes clients that have been silent for so long; 0: none, or it does not say.
  std::chrono::seconds idle_timeout{0};
  bool needs_password = true;  // of a connection that has not authenticated
  std::vector<UserFacts> users;
  std::vector<RefusedQuestion> refused;  // for want of a right, or of a login
  std::string refusal;  // why users that there are are not in `users`, in words; empty: all are
};

}  // namespace cuckooguard::upstream
