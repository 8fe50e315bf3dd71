#include "cluster/topology_reply.h"

#include <algorithm>

#include "cluster/rewriter.h"
#include "resp/reply_framer.h"

namespace cuckooguard::cluster {
namespace {

// `name` in lower case.
bool is_word(std::string_view word, std::string_view name) {
  return std::ranges::equal(word, name, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

bool is_one_reply(std::string_view reply) {
  resp::ReplyFramer framer;
  const auto piece = framer.next(reply);
  return piece.ends && piece.bytes == reply.size();
}

template <typename Take>
Rewritten rewrite_whole(std::string_view reply,
                        const Addresses& addresses,
                        const ClientView& client,
                        const Take& take) {
  Rewriter rewriter(reply, addresses, client);
  if (!is_one_reply(reply) || !take(rewriter)) {
    return {.reply = std::string(reply), .is_malformed = true};
  }
  return std::move(rewriter).finish();
}

}  // namespace

TopologyReply topology_reply(std::span<const std::string_view> arguments) {
  if (arguments.size() < 2 || !is_word(arguments[0], "cluster")) {
    return TopologyReply::none;
  }
  if (is_word(arguments[1], "slots")) {
    return TopologyReply::slots;
  }
  if (is_word(arguments[1], "shards")) {
    return TopologyReply::shards;
  }
  if (is_word(arguments[1], "nodes")) {
    return TopologyReply::nodes;
  }
  const bool is_replicas = is_word(arguments[1], "replicas") || is_word(arguments[1], "slaves");
  return is_replicas ? TopologyReply::replicas : TopologyReply::none;
}

Redirect redirect_in(std::string_view reply) {
  if (reply.starts_with("-MOVED ")) {
    return Redirect::moved;
  }
  return reply.starts_with("-ASK ") ? Redirect::ask : Redirect::none;
}

Rewritten rewrite(TopologyReply kind,
                  std::string_view reply,
                  const Addresses& addresses,
                  const ClientView& client) {
  return rewrite_whole(
      reply, addresses, client, [kind](Rewriter& rewriter) { return rewriter.take(kind); });
}

Rewritten rewrite_redirect(std::string_view reply,
                           const Addresses& addresses,
                           const ClientView& client) {
  return rewrite(TopologyReply::none, reply, addresses, client);
}

Rewritten rewrite_nested(std::span<const Nested> nested,
                         std::string_view reply,
                         const Addresses& addresses,
                         const ClientView& client) {
  return rewrite_whole(reply, addresses, client, [nested](Rewriter& rewriter) {
    return rewriter.take_nested(nested);
  });
}

}  // namespace cuckooguard::cluster
