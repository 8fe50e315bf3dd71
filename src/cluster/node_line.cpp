#include "cluster/node_line.h"

#include <algorithm>

namespace cuckooguard::cluster {
namespace {

// host:port[@bus-port][,hostname[,name=value ...]]
bool take_apart(NodeLine& line) {
  std::string_view names = line.address;
  const std::string_view in_front = text::take_word(names, ',');
  const std::size_t bus = std::min(in_front.find('@'), in_front.size());
  line.bus = in_front.substr(bus);
  const auto endpoint = endpoint_in(in_front.substr(0, bus));
  if (!endpoint || (!line.bus.empty() && !text::number_of<std::uint16_t>(line.bus.substr(1)))) {
    return false;
  }
  line.endpoint = *endpoint;
  line.more = names;
  const std::string_view first = text::take_word(names, ',');
  if (line.address.contains(',') && !first.contains('=')) {
    line.hostname = first;
    line.more = names;
  }
  return true;
}

}  // namespace

std::optional<Endpoint> endpoint_in(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  const auto port = text::number_of<std::uint16_t>(text.substr(colon + 1));
  return port ? std::optional(Endpoint{text.substr(0, colon), *port}) : std::nullopt;
}

std::optional<NodeLine> node_line_in(std::string_view line) {
  NodeLine parsed;
  parsed.id = text::take_word(line);
  parsed.address = text::take_word(line);
  parsed.flags = text::take_word(line);
  parsed.master = text::take_word(line);
  text::take_word(line);  // when a ping was sent
  text::take_word(line);  // when a pong came
  parsed.config_epoch = text::take_word(line);
  const std::string_view link = text::take_word(line);
  parsed.slots = line;
  const bool is_whole = !parsed.id.empty() && !parsed.flags.empty() && !link.empty();
  return is_whole && take_apart(parsed) ? std::optional(parsed) : std::nullopt;
}

bool NodeLine::has(std::string_view flag) const {
  std::string_view rest = flags;
  while (!rest.empty()) {
    if (text::take_word(rest, ',') == flag) {
      return true;
    }
  }
  return false;
}

}  // namespace cuckooguard::cluster
