#include "routing/routing_table.h"

#include <algorithm>
#include <array>

#include "redis/word.h"

namespace cuckooguard::routing {
namespace {

using redis::is_any_of;
using redis::is_word;
using redis::Role;
using Arguments = std::span<const std::string_view>;

// The rest of Redis's commands without keys, those that are not here, are refused.
constexpr std::string_view kAnyNode =
    "ping echo time info command lolwut role lastsave publish pubsub";
// Those that have keys, by Redis's table, or are known there as writes.
constexpr std::string_view kRefusedWithKeys = "flushall flushdb swapdb migrate";

struct Subcommands {
  std::string_view name;
  RoutedTo to;
  std::string_view words;
};
constexpr auto kSubcommands = std::to_array<Subcommands>({
    {"client", RoutedTo::any_node, "id info list getname getredir trackinginfo help"},
    {"client", RoutedTo::connection, "setname setinfo"},
    {"config", RoutedTo::any_node, "get help"},
    {"acl", RoutedTo::any_node, "whoami getuser list users cat dryrun genpass help"},
    {"script", RoutedTo::any_node, "exists help"},
    {"script", RoutedTo::all_masters, "load flush"},
    {"function", RoutedTo::any_node, "list dump stats help"},
    {"function", RoutedTo::all_masters, "load delete flush restore"},
});

constexpr std::string_view kNotOfTheWhole =
    "-ERR this port serves a whole cluster, and this command is about a single Redis: send it to "
    "the nodes (cuckooguard, docs/cluster.md)\r\n";
// As a Redis says that is in no cluster.
constexpr std::string_view kNoCluster = "-ERR This instance has cluster support disabled\r\n";

Routing routing_of_subcommand(std::string_view name, Arguments arguments) {
  if (arguments.size() < 2) {
    return {RoutedTo::any_node};  // an error, which is Redis's to give
  }
  const auto* const found = std::ranges::find_if(kSubcommands, [&](const Subcommands& subcommands) {
    return subcommands.name == name && is_any_of(arguments[1], subcommands.words);
  });
  return found == kSubcommands.end() ? Routing{RoutedTo::refused, kNotOfTheWhole}
                                     : Routing{found->to};
}

Routing routing_of_plain(const redis::Command& command, Arguments arguments) {
  if (is_any_of(command.name, kAnyNode)) {
    return {RoutedTo::any_node};
  }
  if (command.name == "spublish") {
    return {RoutedTo::by_keys};
  }
  return {RoutedTo::refused,
          is_any_of(arguments.front(), "cluster clusterscan") ? kNoCluster : kNotOfTheWhole};
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
  if (is_any_of(command.name, kRefusedWithKeys)) {
    return {RoutedTo::refused, kNotOfTheWhole};
  }
  switch (command.role) {
    case Role::select:
    case Role::auth:
    case Role::hello:
    case Role::reset:
      return {RoutedTo::connection};
    case Role::multi:
    case Role::end_multi:
    case Role::watch:
    case Role::unwatch:
      return {RoutedTo::transaction};
    case Role::subscribe:
      return {RoutedTo::pubsub};
    case Role::redirect:
      return {RoutedTo::refused, kNoCluster};
    case Role::client:
    case Role::script:
    case Role::server:
      return routing_of_subcommand(command.name, arguments);
    case Role::unplaced:
      return command.name == "quit" ? Routing{RoutedTo::quit}
                                    : Routing{RoutedTo::refused, kNotOfTheWhole};
    case Role::plain:
      return routing_of_plain(command, arguments);
    default:
      return command.name == "function" ? routing_of_subcommand(command.name, arguments)
                                        : Routing{RoutedTo::by_keys};
  }
}

std::vector<std::string_view> routed_keys(const redis::Command& command, Arguments arguments) {
  if (command.name == "xreadgroup") {
    return keys_of_group(arguments);
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
