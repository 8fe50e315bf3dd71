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

std::vector<std::string> texts(const Reply& list) {
  std::vector<std::string> all;
  all.reserve(list.elements.size());
  for (const Reply& element : list.elements) {
    all.push_back(element.text);
  }
  return all;
}

// What COMMAND says of one: name, arity, flags, first key, last, step, categories, ...; the tenth:
// its subcommands.
void add(const Reply& command, std::vector<ReportedCommand>& commands) {
  constexpr std::size_t kCategories = 6;
  constexpr std::size_t kSubcommands = 9;
  const std::vector<Reply>& said = command.elements;
  ReportedCommand one{.name = said.at(0).text,
                      .arity = std::stoi(said.at(1).text),
                      .flags = texts(said.at(2)),
                      .first_key = std::stoi(said.at(3).text),
                      .last_key = std::stoi(said.at(4).text),
                      .key_step = std::stoi(said.at(5).text)};
  if (said.size() > kCategories) {
    one.categories = texts(said[kCategories]);
  }
  one.has_subcommands = said.size() > kSubcommands && !said[kSubcommands].elements.empty();
  commands.push_back(one);
  if (one.has_subcommands) {
    for (const Reply& subcommand : said[kSubcommands].elements) {
      add(subcommand, commands);
    }
  }
}

}  // namespace

bool ReportedCommand::is(std::string_view flag) const {
  return std::ranges::find(flags, flag) != flags.end();
}

bool ReportedCommand::is_in(std::string_view category) const {
  return std::ranges::find(categories, category) != categories.end();
}

std::vector<ReportedCommand> reported_commands(RawClient& client) {
  const std::string bytes = client.call({"COMMAND"});
  std::string_view left(bytes);
  std::vector<ReportedCommand> commands;
  for (const Reply& command : take_reply(left).elements) {
    add(command, commands);
  }
  std::ranges::sort(commands, {}, &ReportedCommand::name);
  return commands;
}

std::vector<std::string> read_only_commands_with_keys(RawClient& client) {
  std::vector<std::string> names;
  for (const ReportedCommand& command : reported_commands(client)) {
    const bool reads = command.is("readonly") || command.name.ends_with("getex");
    if (reads && (command.first_key != 0 || command.is("movablekeys"))) {
      names.push_back(command.name);
    }
  }
  return names;
}

}  // namespace cuckooguard::harness
