#include <algorithm>
#include <map>

#include "cluster/node_line.h"
#include "redis/slot.h"
#include "resp/reply_framer.h"
#include "resp/reply_writer.h"
#include "routing/routed_transport.h"
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

std::optional<std::string> summed(std::span<const std::string> replies) {
  std::size_t sum = 0;
  for (const std::string_view each : replies) {
    std::string_view rest = each;
    const auto number = take_number(rest, ':');
    if (!number) {
      return std::nullopt;
    }
    sum += *number;
  }
  std::string reply;
  resp::append_integer(reply, static_cast<std::int64_t>(sum));
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
  const auto error = std::ranges::find_if(
      replies, [](const std::string& reply) { return reply.starts_with('-'); });
  if (error != replies.end()) {
    return *error;
  }
  switch (merge) {
    case Merge::elements:
      return merged_elements(places, replies);
    case Merge::sum:
      return summed(replies);
    case Merge::first:
    case Merge::none:
      break;
  }
  return replies.front();
}

}  // namespace cuckooguard::routing
