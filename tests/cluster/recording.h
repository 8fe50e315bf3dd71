// What real nodes replied (record.py made it), and where clients are to go instead.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/addresses.h"
#include "cluster/map.h"
#include "harness/temporary_directory.h"
#include "resp/reply_framer.h"

namespace cuckooguard::cluster {

struct Recording {
  std::string slots;
  std::string shards;
  std::string nodes;
  std::string replicas;
  std::string moved;

  std::vector<std::string> all() const { return {slots, shards, nodes, replicas, moved}; }
};

// recorded/NAME.
inline Recording recorded(const std::string& name) {
  const std::string bytes = harness::read_whole_file(std::string(RECORDED_DIRECTORY) + "/" + name);
  std::string_view rest = bytes;
  std::vector<std::string> replies;
  resp::ReplyFramer framer;
  while (!rest.empty()) {
    const auto piece = framer.next(rest);
    if (!piece.ends) {
      throw std::runtime_error("no recording " + name);
    }
    replies.emplace_back(rest.substr(0, piece.bytes));
    rest.remove_prefix(piece.bytes);
  }
  return {replies.at(0), replies.at(1), replies.at(2), replies.at(3), replies.at(4)};
}

// What is in a string of RESP, of CLUSTER NODES.
inline std::string_view text_of(std::string_view reply) {
  reply.remove_prefix(reply.find('\n') + 1);
  reply.remove_suffix(2);
  return reply.starts_with("txt:") ? reply.substr(4) : reply;
}

// The node on port 700N, or 2700N, has its listener on 710N.
inline Addresses addresses_of(const Recording& recording) {
  Addresses addresses;
  const auto view = parse_nodes(text_of(recording.nodes), "");
  for (const Node& node : view.value().nodes) {
    addresses.add(node, static_cast<std::uint16_t>(7100 + node.port % 10));
  }
  return addresses;
}

}  // namespace cuckooguard::cluster
