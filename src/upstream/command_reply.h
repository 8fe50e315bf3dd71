// Reads what Redis says of its commands: COMMAND, and COMMAND INFO name ...
//
// COMMAND calls a renamed command by its first name, so that it cannot tell which names are there:
// that is what COMMAND INFO is asked for.
//
// Threads: pure functions. Errors: an entry of a strange shape is left out of the list, and is not
// there by its name. Limits: kCommandsMax entries are read.
// Source: https://redis.io/commands/command; recorded from Redis 7.0.15, and Redis 6's shorter
// form.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "redis/reading.h"

struct redisReply;

namespace cuckooguard::upstream {

inline constexpr std::size_t kCommandsMax = 4096;

struct ListedCommand {
  std::string name;            // lower case
  int arity = 0;               // the name included; negative: at least so many
  bool writes_no_key = false;  // for sure, nor do its subcommands
  redis::Command command;      // as redis::Commands has it: without a name
};

std::vector<ListedCommand> commands_of(const redisReply& reply);

// Those that the built-in table lacks.
std::map<std::string, redis::Command, std::less<>> beyond_table(
    std::span<const ListedCommand> commands);

// Which of `commands` are there, by their place in it, from the reply to COMMAND INFO with their
// names.
redis::CommandSet names_there(const redisReply& reply, std::span<const redis::Command> commands);

}  // namespace cuckooguard::upstream
