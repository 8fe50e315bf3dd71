#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "text/ascii.h"
#include "upstream/inquiry.h"
#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {
namespace {

// name, arity, flags, first, last, step; Redis 6: categories; Redis 7: tips, key specs,
// subcommands.
constexpr std::size_t kName = 0;
constexpr std::size_t kArity = 1;
constexpr std::size_t kFlags = 2;
constexpr std::size_t kFirst = 3;
constexpr std::size_t kLast = 4;
constexpr std::size_t kStep = 5;
constexpr std::size_t kRequired = 6;  // fields, at least
constexpr std::size_t kSubcommands = 9;
// Key positions are kept in single bytes.
constexpr long long kPositionMax = 100;

bool is_position(const redisReply& reply) {
  return reply.type == REDIS_REPLY_INTEGER && reply.integer >= -kPositionMax &&
         reply.integer <= kPositionMax;
}

struct Entry {
  ListedCommand listed;
  bool has_no_keys = false;  // for sure, nor have its subcommands
};

std::optional<Entry> entry_of(const redisReply& reply) {
  const std::span<redisReply* const> fields = elements_of(reply);
  if (fields.size() < kRequired || text_of(*fields[kName]).empty()) {
    return std::nullopt;
  }
  const std::span<redisReply* const> flags = elements_of(*fields[kFlags]);
  const auto has = [flags](std::string_view flag) {
    return std::ranges::any_of(
        flags, [flag](const redisReply* element) { return text_of(*element) == flag; });
  };
  Entry entry;
  ListedCommand& listed = entry.listed;
  listed.name = text::lower_case(text_of(*fields[kName]));
  if (is_position(*fields[kArity])) {
    listed.arity = static_cast<int>(fields[kArity]->integer);
  }
  // A command with neither flag may still reach keys: EVAL, a container of subcommands.
  const bool writes = has("write") || !has("readonly");
  redis::Command& command = listed.command;
  command = {.role = writes ? redis::Role::write : redis::Role::read,
             .keys = redis::KeyShape::anywhere,
             .first = 1};
  if (has("pubsub") && listed.name.ends_with("subscribe")) {
    command.role = redis::Role::unplaced;  // what comes back of it is no reply
  }
  const auto subcommands = fields.size() > kSubcommands ? elements_of(*fields[kSubcommands])
                                                        : std::span<redisReply* const>();
  const bool are_positions = std::ranges::all_of(
      fields.subspan(kFirst, 3), [](const redisReply* field) { return is_position(*field); });
  entry.has_no_keys = are_positions && fields[kFirst]->integer == 0 && !has("movablekeys") &&
                      std::ranges::all_of(subcommands, [](const redisReply* element) {
                        const auto subcommand = entry_of(*element);
                        return subcommand && subcommand->has_no_keys;
                      });
  listed.writes_no_key = !writes || entry.has_no_keys;
  if (are_positions && subcommands.empty() && !has("movablekeys") && fields[kFirst]->integer > 0 &&
      fields[kStep]->integer > 0) {
    command.keys = redis::KeyShape::range;
    command.first = static_cast<std::uint8_t>(fields[kFirst]->integer);
    command.last = static_cast<std::int8_t>(fields[kLast]->integer);
    command.step = static_cast<std::uint8_t>(fields[kStep]->integer);
  }
  return entry;
}

}  // namespace

std::vector<ListedCommand> commands_of(const redisReply& reply) {
  std::vector<ListedCommand> commands;
  for (const redisReply* const element : elements_of(reply)) {
    if (commands.size() == kCommandsMax) {
      break;
    }
    if (auto entry = entry_of(*element)) {
      commands.push_back(std::move(entry->listed));
    }
  }
  return commands;
}

std::map<std::string, redis::Command, std::less<>> beyond_table(
    std::span<const ListedCommand> commands) {
  std::map<std::string, redis::Command, std::less<>> beyond;
  for (const ListedCommand& each : commands) {
    const bool is_new = redis::find_command(each.name).role == redis::Role::unknown;
    if (is_new && each.name.size() <= redis::kLearnedNameBytesMax) {
      beyond.emplace(each.name, each.command);
    }
  }
  return beyond;
}

redis::CommandSet names_there(const redisReply& reply, std::span<const redis::Command> commands) {
  const std::span<redisReply* const> elements = elements_of(reply);
  redis::CommandSet there;
  for (std::size_t i = 0; elements.size() == commands.size() && i < commands.size(); ++i) {
    const auto entry = entry_of(*elements[i]);
    // Another name: a command was renamed to this one.
    there[i] = entry && entry->listed.name == commands[i].name;
  }
  return there;
}

}  // namespace cuckooguard::upstream
