// Reads what Redis says of its commands: COMMAND, and COMMAND INFO name ...
//
// COMMAND calls a renamed command by its first name, so that it cannot tell which names are there:
// that is what COMMAND INFO is asked for.
//
// Threads: pure functions. Errors: an entry of a strange shape is left out of the list, and is not
// there by its name. Limits: kCommandsMax entries are read.
// Source: https://redis.io/commands/command; recorded from Redis 7.0.15, and Redis 6's shorter form.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "upstream/facts.h"

struct redisReply;

namespace cuckooguard::upstream {

inline constexpr std::size_t kCommandsMax = 4096;

std::vector<CommandFacts> commands_of(const redisReply& reply);

// Which of `names` are there, from the reply to COMMAND INFO with these names.
std::vector<bool> names_there(const redisReply& reply, std::span<const std::string> names);

}  // namespace cuckooguard::upstream
