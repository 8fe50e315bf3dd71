// Through the guard a client sees the very bytes that it would see from Redis, although part of
// them are the guard's.
//
// Two equal Redis servers, one behind the guard, get the same random commands of every data type,
// in both protocols, cut at random places. With `absent_reply: nil` every byte must be the same,
// and in the end all that the two hold.

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "fixtures/same_bytes.h"
#include "fixtures/side_by_side.h"
#include "harness/command_mix.h"
#include "harness/redis_command.h"
#include "harness/seed.h"

namespace cuckooguard::harness {
namespace {

constexpr std::size_t kConnections = 40;
constexpr std::size_t kPipelines = 25;
constexpr std::size_t kAnsweredPerThousandMin = 20;

// Of INFO commandstats: name -> calls.
std::map<std::string, std::uint64_t> calls_of(const RedisServer& redis) {
  constexpr std::string_view kLabel = "cmdstat_";
  constexpr std::string_view kCalls = ":calls=";
  const std::string text = redis.call({"INFO", "commandstats"});
  std::map<std::string, std::uint64_t> calls;
  std::size_t at = 0;
  while ((at = text.find(kLabel, at)) != std::string::npos) {
    at += kLabel.size();
    const std::size_t end = text.find(kCalls, at);
    std::from_chars(text.data() + end + kCalls.size(),
                    text.data() + text.size(),
                    calls[text.substr(at, end - at)]);
  }
  return calls;
}

class RandomDifferential : public testing::Test {
 protected:
  RandomDifferential() {
    shop_.wait_until_it_answers();
    for (const RedisServer* redis : {&straight_, &shop_.redis()}) {
      RawClient client = redis->client();
      client.exchange(command(library_of_functions()), 1);
      client.call({"CONFIG", "RESETSTAT"});
    }
  }

  // What only the Redis without a guard has run.
  std::size_t answered() {
    const auto forwarded = calls_of(shop_.redis());
    std::size_t answered = 0;
    for (const auto& [name, calls] : calls_of(straight_)) {
      const auto found = forwarded.find(name);
      const std::uint64_t there = found == forwarded.end() ? 0 : found->second;
      answered += calls - std::min(calls, there);
    }
    return answered;
  }

  Shop shop_{{.absent_reply = "nil", .overlay = "{ ttl: 1h, pass_at_start: false }"}};
  RedisServer straight_;
};

TEST_F(RandomDifferential, replies_are_redis_bytes_whatever_is_sent_however_it_is_cut) {
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
  for (const std::string_view db : {"0", "1"}) {
    RawClient guarded = shop_.redis().client();
    RawClient straight = straight_.client();
    guarded.call({"SELECT", db});
    straight.call({"SELECT", db});
    EXPECT_EQ(guarded.call({"DBSIZE"}), straight.call({"DBSIZE"}));
  }
  EXPECT_EQ(shop_.redis().call({"DEBUG", "DIGEST"}), straight_.call({"DEBUG", "DIGEST"}));
  std::printf("commands: %zu, answered by the guard: %zu; replies: %zu bytes\n",
              mix.commands(),
              answered(),
              bytes);
  EXPECT_GT(mix.commands(), 10'000U);
  EXPECT_GE(answered() * 1000, mix.commands() * kAnsweredPerThousandMin)
      << "so few have been answered here that this test proves little";
}

}  // namespace
}  // namespace cuckooguard::harness
