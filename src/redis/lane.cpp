#include "redis/lane.h"

#include <algorithm>
#include <array>
#include <bitset>

#include "redis/state_change.h"
#include "redis/word.h"

namespace cuckooguard::redis {
namespace {

using Arguments = std::span<const std::string_view>;

// Of the roles `plain`, `read` and `write`: plain ones must be named to be shared, the others to be
// kept apart.
constexpr std::array<std::string_view, 16> kSharedPlain = {"ping",
                                                           "echo",
                                                           "publish",
                                                           "spublish",
                                                           "pubsub",
                                                           "info",
                                                           "keys",
                                                           "scan",
                                                           "dbsize",
                                                           "randomkey",
                                                           "time",
                                                           "role",
                                                           "lastsave",
                                                           "command",
                                                           "lolwut",
                                                           "script"};
constexpr std::array<std::string_view, 17> kNeverShared = {"blpop",
                                                           "brpop",
                                                           "blmove",
                                                           "brpoplpush",
                                                           "bzpopmin",
                                                           "bzpopmax",
                                                           "blmpop",
                                                           "bzmpop",
                                                           "eval",
                                                           "evalsha",
                                                           "fcall",
                                                           "eval_ro",
                                                           "evalsha_ro",
                                                           "fcall_ro",
                                                           "migrate",
                                                           // Run by a thread, and wait for it:
                                                           "vadd",
                                                           "vsim"};
// Besides those with the role of a write, or of GETEX. Redis postpones whatever it may have to tell
// its replicas.
constexpr std::array<std::string_view, 3> kPostponed = {"pfcount", "publish", "spublish"};
// Their subcommands tell.
constexpr std::array<std::string_view, 2> kMayBlock = {"xread", "xreadgroup"};
// DEBUG may have Redis send a push of its own.
constexpr std::array<std::string_view, 4> kForGood = {"readonly", "readwrite", "asking", "debug"};

// CLIENT subcommands whose effect ends with their reply, or is told to the next connection
// (resp/connection_state.h).
constexpr std::array<std::string_view, 10> kPassingClient = {"setname",
                                                             "setinfo",
                                                             "getname",
                                                             "list",
                                                             "kill",
                                                             "pause",
                                                             "unpause",
                                                             "unblock",
                                                             "help",
                                                             "trackinginfo"};

using Listed = std::bitset<kCommandsMax>;

template <std::size_t kCount>
Listed all_of(const std::array<std::string_view, kCount>& names) {
  Listed commands;
  for (const std::string_view name : names) {
    commands.set(command_index(find_command(name)));
  }
  return commands;
}

bool has_word(Arguments arguments, std::string_view word) {
  return std::ranges::any_of(arguments.subspan(1),
                             [word](std::string_view argument) { return is_word(argument, word); });
}

bool is_passing_client(Arguments arguments) {
  return arguments.size() > 1 && is_any_of(arguments[1], kPassingClient);
}

struct Table {
  Listed shared{};
  Listed writes = all_of(kPostponed);
  Listed may_block = all_of(kMayBlock);
  Listed for_good = all_of(kForGood);

  Table() {
    const Listed never = all_of(kNeverShared);
    const Listed plain = all_of(kSharedPlain);
    for (const Command& command : all_commands()) {
      const std::size_t index = command_index(command);
      const bool has_keys = command.role > Role::plain && command.role <= Role::write;
      shared[index] = (has_keys && !never[index]) || plain[index];
      writes[index] = writes[index] || command.role == Role::write || command.role == Role::getex;
    }
  }
};

}  // namespace

Lane lane_of(const Command& command, Arguments arguments) {
  static const Table kTable;
  if (command.name.empty()) {  // not of the table
    return Lane::own;
  }
  const std::size_t index = command_index(command);
  const bool is_apart = (kTable.may_block[index] && has_word(arguments, "block")) ||
                        (command.role == Role::script && ends_placing(command, arguments));
  if (kTable.shared[index] && !is_apart) {
    return kTable.writes[index] ? Lane::writes : Lane::reads;
  }
  const bool is_for_good = kTable.for_good[index] || ends_placing(command, arguments) ||
                           (command.role == Role::client && !is_passing_client(arguments));
  if (is_for_good) {
    return Lane::for_good;
  }
  return command.role == Role::subscribe ? Lane::new_own : Lane::own;
}

bool waits_for_writes(Arguments arguments) {
  return !arguments.empty() &&
         (is_word(arguments.front(), "wait") || is_word(arguments.front(), "waitaof"));
}

}  // namespace cuckooguard::redis
