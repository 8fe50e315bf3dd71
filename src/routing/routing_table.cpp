#include "routing/routing_table.h"

#include <algorithm>
#include <array>
#include <bitset>

#include "redis/word.h"

namespace cuckooguard::routing {
namespace {

using redis::is_any_of;
using redis::is_word;
using redis::Role;
using Arguments = std::span<const std::string_view>;

// Of commands without keys, by Redis's table or in truth: who gets them, and what becomes of the
// replies. What is not here is refused. Without words: whatever its first argument is.
struct Row {
  std::string_view names;
  std::string_view words;
  Routing routing;
};
constexpr Routing one(Merge merge = Merge::none) {
  return {.to = RoutedTo::any_node, .merge = merge};
}
constexpr Routing all(Merge merge) {
  return {.to = RoutedTo::all_masters, .merge = merge};
}
constexpr Routing whole(Merge merge) {
  return {.to = RoutedTo::all_masters, .merge = merge, .needs_whole = true};
}
constexpr Routing kConnection{.to = RoutedTo::connection};

constexpr auto kRows = std::to_array<Row>({
    {"ping echo time command lolwut role lastsave", "", one()},
    {"info", "", one(Merge::info)},
    {"publish pubsub", "", {.to = RoutedTo::pubsub_node}},
    {"spublish", "", {.to = RoutedTo::by_keys}},
    {"scan", "", {.to = RoutedTo::scan, .merge = Merge::scan, .needs_whole = true}},
    {"keys", "", whole(Merge::joined)},
    {"dbsize", "", whole(Merge::sum)},
    {"randomkey", "", whole(Merge::present)},
    {"flushall flushdb", "", whole(Merge::first)},
    {"wait",
     "",
     {.to = RoutedTo::all_masters, .merge = Merge::least, .needs_whole = true, .may_last = true}},
    {"client", "id info list getname getredir trackinginfo help", one()},
    {"client", "setname setinfo", kConnection},
    {"client", "no-evict no-touch pause unpause", all(Merge::first)},
    {"config", "get help", one()},
    {"config", "set resetstat", all(Merge::first)},
    {"acl", "whoami getuser list users cat dryrun genpass help", one()},
    {"script", "exists help", one()},
    {"script", "load flush", all(Merge::first)},
    {"script", "kill", all(Merge::ended)},
    {"function", "list dump stats help", one()},
    {"function", "load delete flush restore", all(Merge::first)},
    {"function", "kill", all(Merge::ended)},
    {"memory", "doctor stats malloc-stats help", one()},
    {"memory", "purge", all(Merge::first)},
    {"memory", "usage", {.to = RoutedTo::by_keys}},
    {"slowlog", "get", all(Merge::joined)},
    {"slowlog", "len", all(Merge::sum)},
    {"slowlog", "reset", all(Merge::first)},
    {"slowlog", "help", one()},
    {"latency", "reset", all(Merge::sum)},
    {"latency", "latest history graph histogram doctor help", one()},
    // For tests of applications; Redis does not allow it unless configured.
    {"debug", "object digest-value listpack ziplist quicklist sds", {.to = RoutedTo::by_keys}},
    {"debug", "protocol help", one()},
    {"debug",
     "sleep set-active-expire reload loadaof set-disable-deny-scripts quicklist-packed-threshold "
     "stringmatch-len replybuffer",
     all(Merge::first)},
    {"module", "list", one()},
    {"swapdb migrate", "", {.to = RoutedTo::refused}},
});

// So that most commands need not be looked up there.
bool has_row(const redis::Command& command) {
  static const auto kListed = [] {
    std::bitset<redis::kCommandsMax> listed;
    for (const Row& row : kRows) {
      redis::for_each_word(row.names, [&](std::string_view name) {
        listed.set(redis::command_index(redis::find_command(name)));
      });
    }
    return listed;
  }();
  return !command.name.empty() && kListed[redis::command_index(command)];
}

constexpr std::string_view kNotOfTheWhole =
    "-ERR this port serves a whole cluster, and this command is about a single Redis: send it to "
    "the nodes (cuckooguard, docs/cluster.md)\r\n";
// As a Redis says that is in no cluster.
constexpr std::string_view kNoCluster = "-ERR This instance has cluster support disabled\r\n";

Routing refused_or(Routing routing) {
  routing.refusal = routing.to == RoutedTo::refused ? kNotOfTheWhole : std::string_view();
  return routing;
}

Routing routing_in_rows(const redis::Command& command, Arguments arguments) {
  bool has_words = false;
  for (const Row& row : kRows) {
    if (!is_any_of(command.name, row.names)) {
      continue;
    }
    has_words = has_words || !row.words.empty();
    if (row.words.empty() || (arguments.size() > 1 && is_any_of(arguments[1], row.words))) {
      return refused_or(row.routing);
    }
  }
  if (has_words && arguments.size() < 2) {
    return one();  // an error, which is Redis's to give
  }
  return refused_or({.to = RoutedTo::refused});
}

// XREADGROUP GROUP group consumer [COUNT n] [BLOCK ms] [CLAIM ms] [NOACK] STREAMS key ... id ...
std::vector<std::string_view> keys_of_group(Arguments arguments) {
  std::size_t at = 1;
  while (at < arguments.size() && !is_word(arguments[at], "streams")) {
    at += is_word(arguments[at], "group") ? 3 : is_word(arguments[at], "noack") ? 1 : 2;
  }
  if (at >= arguments.size()) {
    return {};
  }
  const auto behind = arguments.subspan(at + 1);
  const auto keys = behind.first(behind.size() / 2);
  return {keys.begin(), keys.end()};
}

}  // namespace

Routing routing_of(const redis::Command& command, Arguments arguments) {
  if (has_row(command)) {
    return routing_in_rows(command, arguments);
  }
  switch (command.role) {
    case Role::hello:
      return {.to = RoutedTo::connection, .merge = Merge::hello};
    case Role::select:
    case Role::auth:
    case Role::reset:
      return kConnection;
    case Role::multi:
    case Role::end_multi:
    case Role::watch:
    case Role::unwatch:
      return {.to = RoutedTo::transaction};
    case Role::subscribe:
      return {.to = RoutedTo::pubsub};
    case Role::redirect:
      return {.to = RoutedTo::refused, .refusal = kNoCluster};
    case Role::unplaced:
      return command.name == "quit" ? Routing{.to = RoutedTo::quit}
                                    : refused_or({.to = RoutedTo::refused});
    case Role::plain:
      return is_any_of(command.name, "cluster clusterscan")
                 ? Routing{.to = RoutedTo::refused, .refusal = kNoCluster}
                 : refused_or({.to = RoutedTo::refused});
    default:
      return {};
  }
}

std::vector<std::string_view> routed_keys(const redis::Command& command, Arguments arguments) {
  if (command.name == "xreadgroup") {
    return keys_of_group(arguments);
  }
  if (command.name == "debug") {
    const auto key = arguments.subspan(std::min<std::size_t>(2, arguments.size()));
    const auto first = key.first(std::min<std::size_t>(1, key.size()));
    return {first.begin(), first.end()};
  }
  if (command.keys == redis::KeyShape::anywhere || command.name == "spublish") {
    const auto first = arguments.subspan(1, std::min<std::size_t>(1, arguments.size() - 1));
    return {first.begin(), first.end()};
  }
  const redis::KeyIndexes indexes = redis::key_indexes(command, arguments);
  std::vector<std::string_view> keys;
  for (std::size_t i = indexes.first; i < std::min(indexes.end, arguments.size());
       i += indexes.step) {
    keys.push_back(arguments[i]);
  }
  if (indexes.also != 0) {
    keys.push_back(arguments[indexes.also]);
  }
  return keys;
}

bool may_fail_halfway(const redis::Command& command) {
  return command.role == Role::unknown || redis::runs_script(command);
}

}  // namespace cuckooguard::routing
