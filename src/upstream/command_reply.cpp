#include "upstream/command_reply.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {
namespace {

// name, arity, flags, first, last, step; Redis 6: categories; Redis 7: tips, key specs, subcommands.
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

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

bool is_position(const redisReply& reply) {
  return reply.type == REDIS_REPLY_INTEGER && reply.integer >= -kPositionMax &&
         reply.integer <= kPositionMax;
}

std::optional<CommandFacts> command_of(const redisReply& reply) {
  const std::span<redisReply* const> fields = elements_of(reply);
  if (fields.size() < kRequired || text_of(*fields[kName]).empty()) {
    return std::nullopt;
  }
  const std::span<redisReply* const> flags = elements_of(*fields[kFlags]);
  const auto has = [flags](std::string_view flag) {
    return std::ranges::any_of(
        flags, [flag](const redisReply* element) { return text_of(*element) == flag; });
  };
  CommandFacts command{.name = to_lower(text_of(*fields[kName]))};
  if (is_position(*fields[kArity])) {
    command.arity = static_cast<int>(fields[kArity]->integer);
  }
  // A command with neither flag may still reach keys: EVAL, a container of subcommands.
  command.writes = has("write") || !has("readonly");
  command.blocks = has("blocking");
  command.subscribes = has("pubsub") && command.name.ends_with("subscribe");
  const auto subcommands = fields.size() > kSubcommands ? elements_of(*fields[kSubcommands])
                                                        : std::span<redisReply* const>();
  const bool are_positions = std::ranges::all_of(
      fields.subspan(kFirst, 3), [](const redisReply* field) { return is_position(*field); });
  command.has_no_keys = are_positions && fields[kFirst]->integer == 0 && !has("movablekeys") &&
                        std::ranges::all_of(subcommands, [](const redisReply* element) {
                          const auto subcommand = command_of(*element);
                          return subcommand && subcommand->has_no_keys;
                        });
  if (!are_positions || !subcommands.empty() || has("movablekeys")) {
    return command;
  }
  command.first = static_cast<int>(fields[kFirst]->integer);
  command.last = static_cast<int>(fields[kLast]->integer);
  command.step = static_cast<int>(fields[kStep]->integer);
  command.has_key_range = command.first > 0 && command.step > 0;
  return command;
}

}  // namespace

std::vector<CommandFacts> commands_of(const redisReply& reply) {
  std::vector<CommandFacts> commands;
  for (const redisReply* const element : elements_of(reply)) {
    if (commands.size() == kCommandsMax) {
      break;
    }
    if (auto command = command_of(*element)) {
      commands.push_back(*std::move(command));
    }
  }
  return commands;
}

std::vector<bool> names_there(const redisReply& reply, std::span<const std::string> names) {
  const std::span<redisReply* const> elements = elements_of(reply);
  std::vector<bool> there(names.size(), false);
  for (std::size_t i = 0; elements.size() == names.size() && i < names.size(); ++i) {
    const auto command = command_of(*elements[i]);
    // Another name: a command was renamed to this one.
    there[i] = command && command->name == names[i];
  }
  return there;
}

}  // namespace cuckooguard::upstream
