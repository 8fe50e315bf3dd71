#include "routing/split_command.h"

#include <algorithm>
#include <map>

#include "cluster/node_line.h"
#include "redis/slot.h"
#include "resp/reply_framer.h"
#include "resp/reply_writer.h"
#include "routing/scan_cursor.h"
#include "text/number.h"

namespace cuckooguard::routing {
namespace {

constexpr std::string_view kCrlf = "\r\n";

// Of "*3\r\n" or ":3\r\n", which is taken from the front.
std::optional<std::size_t> take_number(std::string_view& reply, char type) {
  const std::size_t end = reply.find(kCrlf);
  if (!reply.starts_with(type) || end == std::string_view::npos) {
    return std::nullopt;
  }
  const auto number = text::number_of<std::size_t>(reply.substr(1, end - 1));
  reply.remove_prefix(end + kCrlf.size());
  return number;
}

std::optional<std::string> merged_elements(std::span<const std::vector<std::uint32_t>> places,
                                           std::span<const std::string> replies) {
  std::vector<std::string_view> elements;
  for (const auto& part : places) {
    elements.resize(elements.size() + part.size());
  }
  for (std::size_t i = 0; i < replies.size(); ++i) {
    std::string_view rest = replies[i];
    if (take_number(rest, '*') != places[i].size()) {
      return std::nullopt;
    }
    resp::ReplyFramer framer;
    for (const std::uint32_t place : places[i]) {
      const auto piece = framer.next(rest);
      if (!piece.ends) {
        return std::nullopt;
      }
      elements[place] = rest.substr(0, piece.bytes);
      rest.remove_prefix(piece.bytes);
    }
  }
  std::string reply;
  resp::append_array_header(reply, elements.size());
  for (const std::string_view element : elements) {
    reply.append(element);
  }
  return reply;
}

// Of numbers.
std::optional<std::string> summed(std::span<const std::string> replies, bool is_least) {
  std::optional<std::size_t> all;
  for (const std::string_view each : replies) {
    std::string_view rest = each;
    const auto number = take_number(rest, ':');
    if (!number) {
      return std::nullopt;
    }
    all = !all ? *number : is_least ? std::min(*all, *number) : *all + *number;
  }
  std::string reply;
  resp::append_integer(reply, static_cast<std::int64_t>(all.value_or(0)));
  return reply;
}

std::optional<std::string> joined(std::span<const std::string> replies) {
  std::size_t elements = 0;
  std::string behind;
  for (const std::string_view each : replies) {
    std::string_view rest = each;
    const auto number = take_number(rest, '*');
    if (!number) {
      return std::nullopt;
    }
    elements += *number;
    behind.append(rest);
  }
  std::string reply;
  resp::append_array_header(reply, elements);
  return reply.append(behind);
}

bool is_null(std::string_view reply) {
  return reply.starts_with("$-1") || reply.starts_with('_');
}

// That a script cannot be ended goes before that another one was.
const std::string& ended(std::span<const std::string> replies) {
  const auto has_none = [](const std::string& reply) { return reply.starts_with("-NOTBUSY "); };
  const auto is_error = [&](const std::string& reply) {
    return reply.starts_with('-') && !has_none(reply);
  };
  auto found = std::ranges::find_if(replies, is_error);
  found = found != replies.end() ? found : std::ranges::find_if_not(replies, has_none);
  return found != replies.end() ? *found : replies.front();
}

void replace_once(std::string& text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  if (at != std::string::npos) {
    text.replace(at, what.size(), with);
  }
}

// A string of lines, whatever stands before its length: '$', or '=' in RESP3.
std::optional<std::string> without_cluster(std::string_view reply) {
  const char type = reply.empty() ? '\0' : reply.front();
  std::string_view rest = reply;
  const auto length = take_number(rest, type);
  if ((type != '$' && type != '=') || !length || rest.size() != *length + kCrlf.size()) {
    return std::nullopt;
  }
  std::string lines(rest.substr(0, *length));
  replace_once(lines, "\r\nredis_mode:cluster\r\n", "\r\nredis_mode:standalone\r\n");
  replace_once(lines, "\r\nserver_mode:cluster\r\n", "\r\nserver_mode:standalone\r\n");
  replace_once(lines, "\r\ncluster_enabled:1\r\n", "\r\ncluster_enabled:0\r\n");
  return type + std::to_string(lines.size()) + std::string(kCrlf) + lines + std::string(kCrlf);
}

std::string with_standalone_mode(std::string reply) {
  replace_once(reply, "$4\r\nmode\r\n$7\r\ncluster\r\n", "$4\r\nmode\r\n$10\r\nstandalone\r\n");
  return reply;
}

}  // namespace

Merge merge_of(const redis::Command& command, bool splits_mset) {
  if (command.name == "mget") {
    return Merge::elements;
  }
  if (command.name == "mset") {
    return splits_mset ? Merge::first : Merge::none;
  }
  const bool is_split = command.role == redis::Role::exists || redis::is_split_write(command);
  return is_split ? Merge::sum : Merge::none;
}

std::vector<SplitPart> split(const redis::Command& command,
                             std::span<const std::string_view> arguments) {
  const redis::KeyIndexes keys = redis::key_indexes(command, arguments);
  std::vector<SplitPart> parts;
  if ((keys.end - keys.first) % keys.step != 0) {
    return parts;
  }
  std::map<std::uint16_t, std::size_t> by_slot;
  std::vector<std::vector<std::string_view>> words;
  std::uint32_t place = 0;
  for (std::size_t i = keys.first; i < keys.end; i += keys.step) {
    const std::uint16_t slot = redis::slot_of(arguments[i]);
    const auto [at, is_new] = by_slot.try_emplace(slot, parts.size());
    if (is_new) {
      parts.push_back({.slot = slot, .command = {}, .places = {}});
      words.push_back({arguments.front()});
    }
    const auto argument = arguments.subspan(i, keys.step);
    words[at->second].insert(words[at->second].end(), argument.begin(), argument.end());
    parts[at->second].places.push_back(place++);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    resp::append_command(parts[i].command, words[i]);
  }
  return parts;
}

std::optional<std::string> merged(Merge merge,
                                  std::span<const std::vector<std::uint32_t>> places,
                                  std::span<const std::string> replies) {
  if (merge == Merge::ended) {
    return ended(replies);
  }
  const auto error = std::ranges::find_if(
      replies, [](const std::string& reply) { return reply.starts_with('-'); });
  if (error != replies.end()) {
    return *error;
  }
  switch (merge) {
    case Merge::elements:
      return merged_elements(places, replies);
    case Merge::sum:
    case Merge::least:
      return summed(replies, merge == Merge::least);
    case Merge::joined:
      return joined(replies);
    case Merge::present: {
      const auto found = std::ranges::find_if_not(replies, is_null);
      return found != replies.end() ? *found : replies.front();
    }
    case Merge::info:
      return without_cluster(replies.front());
    case Merge::hello:
      return with_standalone_mode(replies.front());
    case Merge::first:
    case Merge::none:
    case Merge::scan:
    case Merge::ended:
      break;
  }
  return replies.front();
}

std::optional<ScanReply> scan_reply(std::string_view reply) {
  std::string_view rest = reply;
  if (take_number(rest, '*') != 2) {
    return std::nullopt;
  }
  const auto length = take_number(rest, '$');
  if (!length || *length + kCrlf.size() > rest.size()) {
    return std::nullopt;
  }
  const auto cursor = text::number_of<std::uint64_t>(rest.substr(0, *length));
  if (!cursor) {
    return std::nullopt;
  }
  return ScanReply{.cursor = *cursor, .keys = rest.substr(*length + kCrlf.size())};
}

std::string scan_reply_with(std::uint64_t cursor, std::string_view keys) {
  std::string reply;
  resp::append_array_header(reply, 2);
  resp::append_bulk(reply, std::to_string(cursor));
  return reply.append(keys);
}

}  // namespace cuckooguard::routing
