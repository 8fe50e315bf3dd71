#include "cluster/topology_reply.h"

#include <algorithm>
#include <array>

#include "cluster/node_line.h"
#include "cluster/rewriter.h"
#include "redis/slot.h"
#include "redis/word.h"
#include "resp/reply_framer.h"
#include "text/number.h"
#include "text/words.h"

namespace cuckooguard::cluster {
namespace {

using redis::is_word;

bool is_one_reply(std::string_view reply) {
  resp::ReplyFramer framer;
  const auto piece = framer.next(reply);
  return piece.ends && piece.bytes == reply.size();
}

struct Named {
  std::string_view subcommand;
  TopologyReply reply;
};

constexpr auto kOfCluster = std::to_array<Named>({
    {"slots", TopologyReply::slots},
    {"shards", TopologyReply::shards},
    {"nodes", TopologyReply::nodes},
    {"replicas", TopologyReply::replicas},
    {"slaves", TopologyReply::replicas},
});
constexpr auto kOfSentinel = std::to_array<Named>({
    {"get-master-addr-by-name", TopologyReply::master_address},
    {"master", TopologyReply::instance},
    {"masters", TopologyReply::instances},
    {"replicas", TopologyReply::instances},
    {"slaves", TopologyReply::instances},
    {"sentinels", TopologyReply::instances},
});

TopologyReply named_in(std::span<const Named> all, std::string_view subcommand) {
  const auto found = std::ranges::find_if(
      all, [subcommand](const Named& one) { return is_word(subcommand, one.subcommand); });
  return found == all.end() ? TopologyReply::none : found->reply;
}

}  // namespace

TopologyReply topology_reply(std::span<const std::string_view> arguments) {
  if (arguments.empty()) {
    return TopologyReply::none;
  }
  if (is_word(arguments[0], "role")) {
    return TopologyReply::role;
  }
  if (is_word(arguments[0], "info")) {
    return TopologyReply::info;
  }
  if (arguments.size() < 2) {
    return TopologyReply::none;
  }
  if (is_word(arguments[0], "cluster")) {
    return named_in(kOfCluster, arguments[1]);
  }
  return is_word(arguments[0], "sentinel") ? named_in(kOfSentinel, arguments[1])
                                           : TopologyReply::none;
}

Redirect redirect_in(std::string_view reply) {
  if (reply.starts_with("-MOVED ")) {
    return Redirect::moved;
  }
  return reply.starts_with("-ASK ") ? Redirect::ask : Redirect::none;
}

std::optional<NamedNode> named_node_in(std::string_view error) {
  const Redirect kind = redirect_in(error);
  if (kind == Redirect::none || !error.ends_with("\r\n")) {
    return std::nullopt;
  }
  error.remove_suffix(2);
  text::take_word(error);
  const auto slot = text::number_of<std::uint16_t>(text::take_word(error));
  const auto endpoint = endpoint_in(error);
  if (!slot || *slot >= redis::kSlots || !endpoint || error.contains(' ')) {
    return std::nullopt;
  }
  return NamedNode{kind == Redirect::ask, *slot, endpoint->host, endpoint->port};
}

Rewritten rewrite(TopologyReply kind,
                  std::string_view reply,
                  const Addresses& addresses,
                  const ClientView& client,
                  std::span<const Nested> nested) {
  Rewriter rewriter(reply, addresses, client, nested);
  if (!is_one_reply(reply) || !rewriter.take(kind)) {
    return {.reply = std::string(reply), .is_malformed = true};
  }
  return std::move(rewriter).finish();
}

}  // namespace cuckooguard::cluster
