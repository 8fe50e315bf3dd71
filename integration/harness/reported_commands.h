// The commands that a server says it has: of its reply to COMMAND, whatever its release and
// modules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/raw_client.h"

namespace cuckooguard::harness {

struct ReportedCommand {
  std::string name;  // "get", "object|encoding"
  int arity = 0;     // the name included; negative: at least so many
  std::vector<std::string> flags{};
  std::vector<std::string> categories{};
  int first_key = 0;  // 0: none, or they are to be found another way
  int last_key = 0;
  int key_step = 0;
  bool has_subcommands = false;

  bool is(std::string_view flag) const;
  bool is_in(std::string_view category) const;  // "@read"
};

// `client` speaks RESP2.
std::vector<ReportedCommand> reported_commands(RawClient& client);

// As INFO commandstats names them: "get", "object|encoding", "VCARD". GETEX and HGETEX are among
// them: they write no more than an expiry. `client` speaks RESP2.
std::vector<std::string> read_only_commands_with_keys(RawClient& client);

}  // namespace cuckooguard::harness
