#include "cluster/topology_reply.h"

#include <algorithm>
#include <array>

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

namespace {

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

Rewritten rewrite(TopologyReply kind,
                  std::string_view reply,
                  const Addresses& addresses,
                  const ClientView& client) {
  return rewrite_whole(
      reply, addresses, client, [kind](Rewriter& rewriter) { return rewriter.take(kind); });
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
