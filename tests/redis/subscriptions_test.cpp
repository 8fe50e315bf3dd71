#include "redis/subscriptions.h"

#include <string>

#include <gtest/gtest.h>

namespace cuckooguard::redis {
namespace {

PubSubFrame parse(const std::string& frame) {
  return parse_pubsub_frame(frame.substr(0, kPubSubHeadBytes),
                            frame.substr(frame.size() - std::min(frame.size(), kPubSubTailBytes)));
}

std::string frame(const std::string& word, const std::string& behind) {
  return "*3\r\n$" + std::to_string(word.size()) + "\r\n" + word + "\r\n" + behind;
}

struct Named {
  std::string word;
  ChannelKind channels;
};

TEST(PubSubFrame, confirmations_of_every_kind_say_how_many_subscriptions_there_are) {
  for (const auto& [word, channels] : {Named{"subscribe", ChannelKind::plain},
                                       Named{"unsubscribe", ChannelKind::plain},
                                       Named{"psubscribe", ChannelKind::pattern},
                                       Named{"punsubscribe", ChannelKind::pattern},
                                       Named{"ssubscribe", ChannelKind::shard},
                                       Named{"sunsubscribe", ChannelKind::shard}}) {
    const PubSubFrame found = parse(frame(word, "$4\r\na:b:\r\n:4000000000\r\n"));
    EXPECT_EQ(found.kind, PubSubFrame::Kind::confirmation) << word;
    EXPECT_EQ(found.channels, channels) << word;
    EXPECT_EQ(found.count, 4'000'000'000U) << word;
    EXPECT_EQ(channel_kind_of(word), channels);
  }
  EXPECT_EQ(parse(frame("unsubscribe", "$-1\r\n:0\r\n")).count, 0U);
}

TEST(PubSubFrame, messages_are_known_whatever_they_carry) {
  for (const std::string word : {"message", "pmessage", "smessage"}) {
    EXPECT_EQ(parse(frame(word, "$1\r\nc\r\n$6\r\n:12\r\n\n\r\n")).kind,
              PubSubFrame::Kind::message);
  }
}

TEST(PubSubFrame, everything_else_is_other) {
  for (const std::string& other : {frame("pong", "$0\r\n\r\n"),
                                   frame("messages", "$1\r\nc\r\n"),
                                   frame("invalidate", "*1\r\n$1\r\na\r\n"),
                                   frame("subscribe", "$1\r\nc\r\n$1\r\n1\r\n"),
                                   std::string("*3\r\n:1\r\nsubscribe\r\n:1\r\n"),
                                   std::string("*0\r\n"),
                                   std::string("*3"),
                                   std::string()}) {
    EXPECT_EQ(parse(other).kind, PubSubFrame::Kind::other) << other;
  }
}

TEST(Subscriptions, plain_ones_and_patterns_are_counted_together_by_redis_and_apart_here) {
  Subscriptions subscriptions;
  const auto confirm = [&subscriptions](ChannelKind channels, std::uint32_t count) {
    subscriptions.confirmed({PubSubFrame::Kind::confirmation, channels, count});
  };
  confirm(ChannelKind::plain, 1);
  confirm(ChannelKind::plain, 1);  // the same channel again
  confirm(ChannelKind::pattern, 2);
  confirm(ChannelKind::plain, 3);
  confirm(ChannelKind::shard, 1);
  EXPECT_EQ(subscriptions.count(ChannelKind::plain), 2U);
  EXPECT_EQ(subscriptions.count(ChannelKind::pattern), 1U);
  EXPECT_EQ(subscriptions.count(ChannelKind::shard), 1U);
  confirm(ChannelKind::plain, 2);
  confirm(ChannelKind::plain, 1);
  confirm(ChannelKind::pattern, 0);
  EXPECT_EQ(subscriptions.count(ChannelKind::plain), 0U);
  EXPECT_TRUE(subscriptions.any());
  confirm(ChannelKind::shard, 0);
  EXPECT_FALSE(subscriptions.any());
}

}  // namespace
}  // namespace cuckooguard::redis
