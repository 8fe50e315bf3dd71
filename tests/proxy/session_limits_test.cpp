// What happens at each limit that session.h documents.
#include <string>

#include <gtest/gtest.h>

#include "proxied_client.h"
#include "proxy/session.h"

namespace cuckooguard::proxy {
namespace {

constexpr std::size_t kReadBytes = io::Loop::kReadBufferBytes;
constexpr std::size_t kNetworkBytes = 20'000;
const std::string kPing = "*1\r\n$4\r\nPING\r\n";

std::string repeat(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) {
    all += text;
  }
  return all;
}

class SessionLimitsTest : public ProxiedClient {
 protected:
  SessionLimitsTest() {
    loop_.weather().capacity_min = loop_.weather().capacity_max = kNetworkBytes;
    settings_.limits.client_output_soft = 100'000;
    settings_.limits.inflight_per_client = 50;
  }
};

TEST_F(SessionLimitsTest, a_client_that_does_not_read_stops_its_redis_from_being_read) {
  connect_both();
  client_sends(kPing);
  const std::string reply = "$3000000\r\n" + std::string(3'000'000, 'v') + "\r\n";
  redis_sends(reply);
  const std::size_t held = reply.size() - redis_.unsent();
  EXPECT_LE(held, settings_.limits.client_output_soft + kReadBytes + 2 * kNetworkBytes);
  EXPECT_EQ(client_got_all(), reply);  // and it is read again as the client reads
  EXPECT_EQ(redis_.unsent(), 0U);
}

TEST_F(SessionLimitsTest, a_client_that_does_not_read_is_not_answered_here) {
  connect_both();
  client_sends(kPing);
  const std::string reply = "$200000\r\n" + std::string(200'000, 'v') + "\r\n";
  redis_sends(reply);
  client_sends(kAbsentGet);
  EXPECT_EQ(redis_got(), kPing + std::string(kAbsentGet));
  EXPECT_EQ(client_got_all(), reply);
  redis_sends(kNil);
  EXPECT_EQ(client_got(), kNil);
  client_sends(kAbsentGet);
  EXPECT_EQ(client_got(), kNil);
  EXPECT_EQ(redis_got(), "");
}

TEST_F(SessionLimitsTest, a_client_that_writes_a_long_pipeline_before_it_reads_is_served) {
  connect_both();
  constexpr std::size_t kCommands = 20'000;
  const std::string set = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$20\r\nxxxxxxxxxxxxxxxxxxxx\r\n";
  client_.send(repeat(set, kCommands));
  EXPECT_EQ(redis_got_all(), repeat(set, kCommands));
  EXPECT_EQ(client_.unsent(), 0U);
  redis_sends(repeat("+OK\r\n", kCommands));
  EXPECT_EQ(client_got_all(), repeat("+OK\r\n", kCommands));
}

TEST_F(SessionLimitsTest, a_redis_that_does_not_read_stops_the_client_from_being_read) {
  connect_both();
  const std::string set =
      "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$3000000\r\n" + std::string(3'000'000, 'v') + "\r\n";
  client_sends(set);
  EXPECT_LE(read_of_client_, Session::kUpstreamQueueBytesMax + kReadBytes + kNetworkBytes);
  EXPECT_EQ(redis_got_all(), set);
  EXPECT_EQ(read_of_client_, set.size());
}

TEST_F(SessionLimitsTest, a_client_that_is_not_read_and_goes_away_is_gone) {
  connect_both();
  client_sends("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$3000000\r\n" + std::string(1'000'000, 'v'));
  client_.reset();
  loop_.run();
  EXPECT_EQ(sessions(), 0U);
  EXPECT_TRUE(upstream_is_closed_);
}

TEST_F(SessionLimitsTest, a_redis_that_is_not_read_and_goes_away_is_noticed_when_the_client_reads) {
  connect_both();
  client_sends(kPing);
  redis_sends("$3000000\r\n" + std::string(3'000'000, 'v'));
  redis_.reset();
  loop_.run();
  EXPECT_EQ(sessions(), 1U);
  client_got_all();
  EXPECT_TRUE(client_is_closed());
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(SessionLimitsTest, answers_that_wait_behind_redis_are_bounded_in_bytes) {
  connect_both();
  client_sends(kPing);  // Redis keeps silent
  constexpr std::size_t kCommands = 100'000;
  client_.send(repeat(kAbsentGet, kCommands));
  const std::size_t forwarded = redis_got_all().size() / kAbsentGet.size();
  const std::size_t answered_bytes = (kCommands - forwarded) * kNil.size();
  EXPECT_GT(forwarded, 0U);
  EXPECT_LE(answered_bytes, settings_.limits.client_output_soft + kNil.size());
  redis_sends("+PONG\r\n" + repeat(kNil, forwarded));
  EXPECT_EQ(client_got_all(), "+PONG\r\n" + repeat(kNil, kCommands));
}

TEST_F(SessionLimitsTest, answers_between_replies_are_bounded_in_number) {
  connect_both();
  constexpr std::size_t kPairs = 500;
  client_sends(repeat(kPing + std::string(kAbsentGet), kPairs));
  const std::string got = redis_got_all();
  const std::size_t forwarded = (got.size() - kPairs * kPing.size()) / kAbsentGet.size();
  const std::size_t answered = kPairs - forwarded;
  EXPECT_GT(answered, 0U);
  EXPECT_LE(answered, settings_.limits.inflight_per_client);
}

TEST_F(SessionLimitsTest, changes_in_flight_are_bounded_and_then_the_client_is_relayed_unread) {
  connect_both();
  const std::size_t limit = settings_.limits.inflight_per_client;
  const std::string select = "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n";
  client_sends(repeat(select, limit));
  redis_sends(repeat("+OK\r\n", limit));
  client_sends(kAbsentGet);
  EXPECT_EQ(redis_got_all(), repeat(select, limit));
  client_sends(repeat(select, limit + 1));
  redis_sends(repeat("+OK\r\n", limit + 1));
  client_sends(kAbsentGet);
  EXPECT_EQ(redis_got_all(), repeat(select, limit + 1) + std::string(kAbsentGet));
  EXPECT_EQ(client_got(),
            repeat("+OK\r\n", limit) + std::string(kNil) + repeat("+OK\r\n", limit + 1));
}

TEST_F(SessionLimitsTest, memory_of_a_burst_goes_back_to_the_pool) {
  connect_both();
  client_sends(kPing);
  const std::string reply = "$90000\r\n" + std::string(90'000, 'v') + "\r\n";
  redis_sends(reply);
  const std::size_t pooled = loop_.chunks().pooled();
  EXPECT_EQ(client_got_all(), reply);
  EXPECT_GE(loop_.chunks().pooled(), pooled + (reply.size() - kNetworkBytes) / io::Chunk::kBytes);
}

}  // namespace
}  // namespace cuckooguard::proxy
