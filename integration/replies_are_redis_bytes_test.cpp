// Through the guard a client sees the very bytes that it would see from Redis, although part of them are the guard's.
//
// Two equal Redis servers, one behind the guard, get the same random commands, cut at random places. With
// `absent_reply: nil` every byte must be the same, and in the end all that the two hold.

#include <cstdio>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/command_mix.h"
#include "harness/redis_command.h"
#include "harness/same_bytes.h"
#include "harness/seed.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

constexpr std::size_t kConnections = 40;
constexpr std::size_t kPipelines = 20;

// HELLO tells the number of the connection, which is no other's.
std::string without_connection_id(const std::string& replies) {
  static const std::regex id("\\$2\r\nid\r\n:[0-9]+\r\n");
  return replies.contains("id\r\n:") ? std::regex_replace(replies, id, "$2\r\nid\r\n:N\r\n")
                                     : replies;
}

// Reads that both commandstats count; what is missing on one side has been answered before it.
std::uint64_t reads_seen_by(const RedisServer& redis) {
  return redis.calls("get") + redis.calls("mget") + redis.calls("exists");
}

class RepliesAreRedisBytes : public testing::Test {
 protected:
  RepliesAreRedisBytes() {
    shop_.wait_until_it_answers();
    straight_.call({"CONFIG", "RESETSTAT"});
    shop_.redis().call({"CONFIG", "RESETSTAT"});
  }

  Shop shop_{{.absent_reply = "nil", .more_namespace = "    overlay: { ttl: 1h }\n"}};
  RedisServer straight_;
};

TEST_F(RepliesAreRedisBytes, whatever_is_sent_however_it_is_cut) {
  const std::uint32_t seed = seed_of_this_run();
  CommandMix mix(seed);
  std::size_t bytes = 0;
  for (std::size_t connection = 0; connection < kConnections; ++connection) {
    RawClient guarded = shop_.client();
    RawClient straight = straight_.client();
    for (std::size_t i = 0; i < kPipelines; ++i) {
      const std::string end = "end of " + std::to_string(connection) + "." + std::to_string(i);
      const std::string request = mix.pipeline() + command({"ECHO", end});
      guarded.send_cut(request, mix.cuts(request.size()));
      straight.send(request);
      const std::string expected = straight.read_through(bulk(end));
      const std::string actual = guarded.read_through(bulk(end));
      ASSERT_TRUE(same_bytes(without_connection_id(actual), without_connection_id(expected)))
          << "CUCKOOGUARD_SEED=" << seed << ", connection " << connection << ", pipeline " << i
          << ":\n"
          << shown(request);
      bytes += expected.size();
    }
  }
  EXPECT_EQ(shop_.redis().call({"DEBUG", "DIGEST"}), straight_.call({"DEBUG", "DIGEST"}));
  const std::uint64_t all = reads_seen_by(straight_);
  const std::uint64_t forwarded = reads_seen_by(shop_.redis());
  EXPECT_GT(all - forwarded, all / 30)
      << "so few have been answered here that this test proves little";
  std::printf("replies: %zu bytes; reads: %llu, answered here: %llu\n",
              bytes,
              static_cast<unsigned long long>(all),
              static_cast<unsigned long long>(all - forwarded));
}

}  // namespace
}  // namespace cuckooguard::harness
