// What happens at each limit that session.h documents.
#include <deque>
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

TEST_F(SessionLimitsTest, changes_in_flight_are_bounded_and_then_replies_are_relayed_unread) {
  settings_.limits.inflight_per_client = 5;
  connect_both();
  const std::size_t limit = 500;  // a hundred times as many
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

std::string absent_items(std::size_t count) {
  std::string mget = "*" + std::to_string(count + 1) + "\r\n$4\r\nMGET\r\n";
  return mget + repeat("$9\r\nitem:plum\r\n", count);
}

// Of 27 bytes for each key it would make 1,000.
TEST_F(SessionLimitsTest, an_answer_that_is_too_large_is_not_made) {
  shop_.spaces[guard::GuardedShop::kItems].absent_reply =
      guard::AbsentReplyBytes({.nil = false, .bytes = std::string(1000, 'a')});
  connect_both();
  client_sends(absent_items(200));
  EXPECT_EQ(redis_got_all(), absent_items(200)) << "more than the soft limit";
  redis_sends("*200\r\n" + repeat(kNil, 200));
  EXPECT_EQ(client_got_all(), "*200\r\n" + repeat(kNil, 200));
  client_sends(absent_items(50));
  EXPECT_EQ(redis_got_all(), "");
  EXPECT_EQ(client_got_all(),
            "*50\r\n" + repeat("$1000\r\n" + std::string(1000, 'a') + "\r\n", 50));
}

TEST_F(SessionLimitsTest, nor_are_parts_of_one_that_are_too_large) {
  shop_.spaces[guard::GuardedShop::kItems].absent_reply =
      guard::AbsentReplyBytes({.nil = false, .bytes = std::string(1000, 'a')});
  connect_both();
  const std::string mget =
      "*202\r\n$4\r\nMGET\r\n" + repeat("$9\r\nitem:plum\r\n", 200) + "$6\r\nuser:7\r\n";
  client_sends(mget);
  EXPECT_EQ(redis_got_all(), mget);
}

TEST_F(SessionLimitsTest, what_all_clients_have_queued_leaves_room_for_small_answers_alone) {
  shop_.spaces[guard::GuardedShop::kItems].absent_reply =
      guard::AbsentReplyBytes({.nil = false, .bytes = std::string(1000, 'a')});
  settings_.output_total = 200'000;
  connect_both();
  std::deque<SimPeer> others;
  const auto join = [&]() -> SimPeer& {
    SimPeer& other = others.emplace_back(loop_);
    auto transport = loop_.accept(other);
    loop_.as_batch([&] { clients_.admit(std::move(transport)); });
    return other;
  };
  while (others.size() < 5) {
    join();
  }
  for (int i = 0; i < 10; ++i) {
    client_.send(absent_items(70));
    for (SimPeer& other : others) {
      other.send(absent_items(70));
    }
    loop_.run();
    EXPECT_LE(loop_.chunks().bytes_in_use(), settings_.output_total + 4 * sizeof(io::Chunk));
  }
  SimPeer& last = join();
  last.send(absent_items(1));
  loop_.run();
  EXPECT_TRUE(last.read().starts_with("*1\r\n$1000\r\n"));
}

TEST_F(SessionLimitsTest, answers_that_wait_behind_redis_count_like_those_that_are_queued) {
  connect_both();
  client_sends(kPing);
  const std::size_t before = loop_.chunks().bytes_in_use();
  client_sends(repeat(kAbsentGet, 1000));
  EXPECT_GE(loop_.chunks().bytes_in_use(), before + 1000 * kNil.size());
  redis_sends("+PONG\r\n");
  EXPECT_EQ(client_got_all(), "+PONG\r\n" + repeat(kNil, 1000));
  EXPECT_EQ(loop_.chunks().bytes_in_use(), 0U);
}

TEST_F(SessionLimitsTest, who_is_known_not_to_have_logged_in_has_redis_limits_for_lengths_at_once) {
  shop_.facts.publish_users(shop_.facts.epoch(), {.unrestricted = {"default"}});
  connect_both();
  client_sends("*100\r\n");
  EXPECT_EQ(redis_got(), "*100\r\n");
  redis_sends("-ERR Protocol error: unauthenticated multibulk length\r\n");
  EXPECT_EQ(client_got(), "-ERR Protocol error: unauthenticated multibulk length\r\n");
}

TEST_F(SessionLimitsTest, who_may_not_have_logged_in_has_them_too) {
  shop_.facts.withdraw_users();
  connect_both();
  client_sends("*1\r\n$100000000\r\n");
  EXPECT_EQ(redis_got(), "*1\r\n$100000000\r\n") << "Redis knows";
}

// Somebody has taken the password away behind the guard's back.
TEST_F(SessionLimitsTest, who_turns_out_not_to_need_a_login_is_scanned_like_anybody) {
  shop_.facts.publish_users(shop_.facts.epoch(), {.unrestricted = {"default"}});
  connect_both();
  const std::string mset =
      "*23\r\n$4\r\nMSET\r\n$8\r\nuser:999\r\n$1\r\nx\r\n" + repeat("$1\r\na\r\n$1\r\nb\r\n", 10);
  client_sends(mset.substr(0, 30));
  EXPECT_EQ(redis_got(), mset.substr(0, 30));
  client_sends(mset.substr(30, 10));
  EXPECT_EQ(redis_got(), mset.substr(30, 10));
  client_sends(mset.substr(40));
  EXPECT_EQ(redis_got(), mset.substr(40)) << "nothing twice";
  redis_sends("+OK\r\n");
  shop_.facts.publish_users(shop_.facts.epoch(),
                            {.unrestricted = {"default"}, .default_needs_no_password = true});
  client_sends(kAbsentGet);
  EXPECT_EQ(redis_got(), kAbsentGet) << "it has just been written";
  redis_sends("$1\r\nx\r\n");
  client_sends("*2\r\n$3\r\nGET\r\n$8\r\nuser:998\r\n");
  EXPECT_EQ(client_got(), "+OK\r\n$1\r\nx\r\n" + std::string(kNil)) << "and it is guarded";
}

TEST_F(SessionLimitsTest, who_may_have_logged_in_has_not) {
  shop_.facts.publish_users(shop_.facts.epoch(), {.unrestricted = {"default"}});
  connect_both();
  const std::string auth = "*2\r\n$4\r\nAUTH\r\n$4\r\nword\r\n";
  client_sends(auth + "*100\r\n");
  EXPECT_EQ(redis_got(), auth) << "Redis may accept it";
  redis_sends("+OK\r\n");
  client_sends(repeat("$1\r\na\r\n", 100));
  EXPECT_EQ(redis_got(), "*100\r\n" + repeat("$1\r\na\r\n", 100));
  redis_sends("-ERR unknown command\r\n");
  client_sends(kAbsentGet);
  EXPECT_EQ(client_got(), "+OK\r\n-ERR unknown command\r\n" + std::string(kNil));
}

}  // namespace
}  // namespace cuckooguard::proxy
