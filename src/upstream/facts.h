// What Redis says of itself, as the control connection learns it; plain values.
//
// Called by: Control's owner, who asks (Questions) and is told (Facts). Threads: plain values.
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
  std::vector<KeyAccess> keys;     // in the order of Questions; empty if unrestricted
  // In the order of Questions::answerable: on namespaces with this access. Empty: none.
  std::vector<bool> commands_on_readable;
  std::vector<bool> commands_on_writable;
};

enum class ServerState : std::uint8_t { available, loading, master_link_down, busy };

struct Facts {
  std::optional<CommandList> commands;  // with the first facts of each connection
  ServerState state = ServerState::available;
  bool is_master = false;
  std::optional<bool> is_cluster;  // nullopt: it does not say
  // Redis closes clients that have been silent for so long; 0: none, or it does not say.
  std::chrono::seconds idle_timeout{0};
  bool needs_password = true;  // of a connection that has not authenticated
  std::vector<UserFacts> users;
};

}  // namespace cuckooguard::upstream
