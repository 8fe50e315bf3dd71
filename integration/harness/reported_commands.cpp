#include "harness/reported_commands.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string_view>

namespace cuckooguard::harness {
namespace {

// A reply in RESP2: text, or elements.
struct Reply {
  std::string text;
  std::vector<Reply> elements;
};

std::string_view take_line(std::string_view& bytes) {
  const std::size_t end = bytes.find("\r\n");
  const std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(std::min(bytes.size(), end + 2));
  return line;
}

Reply take_reply(std::string_view& bytes) {
  const std::string_view line = take_line(bytes);
  if (line.empty()) {
    throw std::runtime_error("COMMAND: not RESP2");
  }
  const std::string value(line.substr(1));
  Reply reply{.text = value, .elements = {}};
  if (line.front() == '$') {
    const auto size = static_cast<std::size_t>(std::stoul(value));
    reply.text = bytes.substr(0, size);
    bytes.remove_prefix(size + 2);
  } else if (line.front() == '*') {
    for (long left = std::stol(value); left > 0; --left) {
      reply.elements.push_back(take_reply(bytes));
    }
  }
  return reply;
}

bool has(const Reply& flags, std::string_view flag) {
  return std::ranges::find(flags.elements, flag, &Reply::text) != flags.elements.end();
}

// What COMMAND says of one: name, arity, flags, first key, ...; the tenth: its subcommands.
void add_reads(const Reply& command, std::vector<std::string>& names) {
  constexpr std::size_t kName = 0;
  constexpr std::size_t kFlags = 2;
  constexpr std::size_t kFirstKey = 3;
  constexpr std::size_t kSubcommands = 9;
  const Reply& flags = command.elements.at(kFlags);
  const bool has_keys = command.elements.at(kFirstKey).text != "0" || has(flags, "movablekeys");
  if (has(flags, "readonly") && has_keys) {
    names.push_back(command.elements.at(kName).text);
  }
  if (command.elements.size() > kSubcommands) {
    for (const Reply& subcommand : command.elements[kSubcommands].elements) {
      add_reads(subcommand, names);
    }
  }
}

}  // namespace

std::vector<std::string> read_only_commands_with_keys(RawClient& client) {
  const std::string bytes = client.call({"COMMAND"});
  std::string_view left(bytes);
  std::vector<std::string> names;
  for (const Reply& command : take_reply(left).elements) {
    add_reads(command, names);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace cuckooguard::harness
