// Pub/sub frames in the order of a client's replies.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "reply_chain.h"

namespace cuckooguard::proxy {
namespace {

// A subscriber of version `version`, its commands and what Redis sends; `served` at last, and not
// before.
struct Subscriber {
  std::vector<redis::StateChange> commands;
  std::string from_redis;
  std::string version = "*";
  std::uint32_t left = 0;
};

std::string frame(const std::string& type, std::string_view word, std::string_view count) {
  return type + "3\r\n$" + std::to_string(word.size()) + "\r\n" + std::string(word) +
         "\r\n$1\r\nc\r\n" + std::string(count) + "\r\n";
}

redis::StateChange subscribe(std::uint32_t confirmations, redis::ChannelKind channels = {}) {
  return {
      .kind = redis::ChangeKind::subscribe, .channels = channels, .confirmations = confirmations};
}

TEST(ReplyOrderPubSub, a_subscription_has_its_reply_once_every_channel_is_confirmed) {
  using redis::ChannelKind;
  const std::string message = frame("*", "message", "$1\r\nm");
  const std::string push = frame(">", "message", "$1\r\nm");
  const std::string invalidate = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n";
  const std::vector<Subscriber> subscribers{
      {{subscribe(1)}, frame("*", "subscribe", ":1"), "*", 1},
      {{subscribe(2)},
       frame("*", "subscribe", ":1") + message + frame("*", "subscribe", ":2"),
       "*",
       2},
      {{subscribe(0)}, frame("*", "unsubscribe", ":0"), "*", 0},
      {{subscribe(2), subscribe(1, ChannelKind::pattern), subscribe(0)},
       frame("*", "subscribe", ":1") + frame("*", "subscribe", ":2") +
           frame("*", "psubscribe", ":3") + message + frame("*", "unsubscribe", ":2") +
           frame("*", "unsubscribe", ":1"),
       "*",
       1},
      {{subscribe(2)}, "-NOPERM no\r\n", "*", 0},
      {{subscribe(2), subscribe(0)},
       invalidate + frame(">", "subscribe", ":1") + push + frame(">", "subscribe", ":2") +
           frame(">", "unsubscribe", ":1") + push + frame(">", "unsubscribe", ":0"),
       ">",
       0},
  };
  for (const Subscriber& subscriber : subscribers) {
    const std::string bytes = "+1\r\n" + subscriber.from_redis;
    expect_same_at_every_split(bytes, [&](Pieces pieces) {
      Chain chain;
      if (subscriber.version == ">") {
        chain.state.sent(hello3());
        chain.state.replied(hello3(), '%');
      }
      chain.order.expect_reply();
      for (const redis::StateChange& command : subscriber.commands) {
        chain.state.sent(command);
        chain.order.expect_observed_reply(command);
      }
      chain.order.answer(kNilReply);
      std::string sent = chain.relay(pieces);
      EXPECT_EQ(sent, bytes + kNilReply);
      EXPECT_EQ(chain.state.subscriptions().any(), subscriber.left != 0);
      EXPECT_EQ(chain.state.is_settled(), subscriber.left == 0 || subscriber.version == ">");
      return sent;
    });
  }
}

// What a list holds is not looked into where no pub/sub frame can come.
TEST(ReplyOrderPubSub, an_array_that_looks_like_a_message_is_a_reply) {
  EXPECT_EQ(
      relayed(frame("*", "message", "$1\r\nm") + frame("*", "subscribe", ":1"),
              [](ReplyOrder& order) {
                order.expect_reply();
                order.answer(kNilReply);
                order.expect_reply();
                order.answer(kNilReply);
              }),
      frame("*", "message", "$1\r\nm") + kNilReply + frame("*", "subscribe", ":1") + kNilReply);
}

}  // namespace
}  // namespace cuckooguard::proxy
