#include "redis/lane.h"

#include <algorithm>
#include <bitset>

#include "redis/state_change.h"
#include "redis/word.h"

namespace cuckooguard::redis {
namespace {

using Arguments = std::span<const std::string_view>;

// Of the roles `plain`, `read` and `write`: plain ones must be named to be shared, the others to be
// kept apart.
constexpr std::string_view kSharedPlain =
    "ping echo publish spublish pubsub info keys scan dbsize randomkey time role lastsave "
    "command lolwut script";
constexpr std::string_view kNeverShared =
    "blpop brpop blmove brpoplpush bzpopmin bzpopmax blmpop bzmpop eval evalsha fcall "
    "eval_ro evalsha_ro fcall_ro migrate "
    "vadd vsim";  // run by a thread, and wait for it
// Besides those with the role of a write, or of GETEX. Redis postpones whatever it may have to tell
// its replicas.
constexpr std::string_view kPostponed = "pfcount publish spublish";
// Their subcommands tell.
constexpr std::string_view kMayBlock = "xread xreadgroup";
// DEBUG may have Redis send a push of its own.
constexpr std::string_view kForGood = "debug";

// CLIENT subcommands whose effect ends with their reply, or is told to the next connection
// (resp/connection_state.h).
constexpr std::string_view kPassingClient =
    "setname setinfo getname list kill pause unpause unblock help trackinginfo";

using Listed = std::bitset<kCommandsMax>;

Listed all_of(std::string_view names) {
  Listed commands;
  for_each_word(names,
                [&](std::string_view name) { commands.set(command_index(find_command(name))); });
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
  return !arguments.empty() && is_any_of(arguments.front(), "wait waitaof");
}

}  // namespace cuckooguard::redis
