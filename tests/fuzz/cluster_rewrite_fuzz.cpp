// Any bytes as a reply of a cluster's node or of a Sentinel, of the kind that the first byte says;
// and as the text of CLUSTER NODES.
//
// Whatever comes, the reply is RESP afterwards if and only if it was before; it is the same, byte
// for byte, if nothing was replaced, as nothing is if no node is known; and what has our addresses
// is left as it is by a second time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cluster/map.h"
#include "cluster/topology_reply.h"
#include "resp/reply_framer.h"

namespace {

using namespace cuckooguard::cluster;

void require(bool holds) {
  if (!holds) {
    __builtin_trap();
  }
}

bool is_one_reply(std::string_view reply) {
  cuckooguard::resp::ReplyFramer framer;
  const auto piece = framer.next(reply);
  return piece.ends && piece.bytes == reply.size();
}

Node node(std::string id, std::uint16_t port) {
  Node node;
  node.id = std::move(id);
  node.host = "127.0.0.1";
  node.port = port;
  node.hostname = "node" + std::to_string(port) + ".example";
  return node;
}

const Addresses& known() {
  static const Addresses kKnown = [] {
    Addresses made;
    made.add(node("aa", 7001), 7101);
    made.add(node("bb", 7002), 7102);
    made.add(node("cc", 7003), 0);
    return made;
  }();
  return kKnown;
}

Rewritten rewritten(std::uint8_t how, std::string_view reply, const Addresses& addresses) {
  constexpr std::uint8_t kKinds = 11;
  constexpr std::uint8_t kMaster = 32;
  constexpr std::uint8_t kTls = 64;
  constexpr std::uint8_t kOpen = 128;
  constexpr std::array kNested{Nested{0, TopologyReply::slots},
                               Nested{1, TopologyReply::shards},
                               Nested{3, TopologyReply::nodes},
                               Nested{4, TopologyReply::replicas},
                               Nested{5, TopologyReply::role},
                               Nested{6, TopologyReply::info}};
  const ClientView client{.host = (how & kOpen) != 0 ? "" : "guard",
                          .host_of_this_node = "127.0.0.1",
                          .has_tls = (how & kTls) != 0,
                          .master = static_cast<std::uint16_t>((how & kMaster) != 0 ? 7100 : 0)};
  const auto kind = static_cast<std::uint8_t>(how % kMaster);
  return kind < kKinds ? rewrite(static_cast<TopologyReply>(kind), reply, addresses, client)
                       : rewrite(TopologyReply::exec, reply, addresses, client, kNested);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view reply(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Rewritten once = rewritten(data[0], reply, known());
  require(is_one_reply(reply) == is_one_reply(once.reply));
  require(is_one_reply(reply) || once.is_malformed);
  require(once.replaced != 0 || once.reply == reply);
  require(rewritten(data[0], once.reply, known()).reply == once.reply);
  require(rewritten(data[0], reply, Addresses()).reply == reply);
  if (const auto view = parse_nodes(reply, "127.0.0.1")) {
    const Map map = merge(std::span(&*view, 1));
    require(map.nodes().size() <= view->nodes.size() && map.owner_of(0) == nullptr);
  }
  return 0;
}
