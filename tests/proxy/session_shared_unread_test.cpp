// Clients in `mode: shared` that do not read what they have asked for, and those who share a
// connection with them.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "sharing_clients.h"

namespace cuckooguard::proxy {
namespace {

class UnreadReplies : public SharingClients {};

const std::string kPong = "+PONG\r\n";

TEST_F(UnreadReplies, a_client_that_does_not_read_gets_a_connection_that_is_not_read) {
  settings_.limits.client_output_soft = 64 * 1024;
  loop_.weather().capacity_min = loop_.weather().capacity_max = 16 * 1024;
  const auto a = connect();
  const auto b = connect();
  loop_.weather().capacity_min = loop_.weather().capacity_max = 1 << 20;
  send(b, command("PING"));
  send(a, command("GET big"));
  send(b, command("PING"));
  redis_sends(0, kPong + "$500000\r\n" + std::string(500'000, 'v') + "\r\n" + kPong);
  EXPECT_EQ(redis(0).unsent(), 0U) << "what is shared must be read while others wait";
  send(a, command("GET big"));
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(1), command("GET big"));
  redis_sends(1, "$3000000\r\n" + std::string(3'000'000, 'w') + "\r\n");
  EXPECT_GT(redis(1).unsent(), 1'000'000U);
  EXPECT_EQ(got(b), kPong + kPong);
  std::string all;
  while (all.size() < 3'500'000) {
    const std::string more = got(a);
    ASSERT_FALSE(more.empty()) << all.size();
    all += more;
  }
  EXPECT_TRUE(all.ends_with("w\r\n"));
}

// Else one that writes all before it reads would wait for ever.
TEST_F(UnreadReplies, that_connection_is_told_what_the_client_is_called_all_the_same) {
  settings_.limits.client_output_soft = 64 * 1024;
  loop_.weather().capacity_min = loop_.weather().capacity_max = 16 * 1024;
  const auto a = connect();
  const auto b = connect();
  loop_.weather().capacity_min = loop_.weather().capacity_max = 1 << 20;
  send(a, command("CLIENT SETNAME web"));
  redis_sends(0, "+OK\r\n");
  send(b, command("CLIENT GETNAME"));
  redis_sends(0, "+OK\r\n");
  redis_sends(0, "$-1\r\n");
  (void)redis_got(0);
  send(b, command("PING"));
  send(a, command("GET big"));
  send(b, command("PING"));
  ASSERT_EQ(upstreams(), 2U);
  redis_sends(1, kPong + "$500000\r\n" + std::string(500'000, 'v') + "\r\n" + kPong);
  send(a, command("GET big"));
  EXPECT_EQ(redis_got(0), command("CLIENT SETNAME web"));
  redis_sends(0, "+OK\r\n");
  EXPECT_EQ(redis_got(0), command("GET big"));
}

TEST_F(UnreadReplies, replies_to_one_client_stay_in_redis_and_others_are_served_by_a_spare) {
  settings_.limits.client_output_soft = 64 * 1024;
  loop_.weather().capacity_min = loop_.weather().capacity_max = 16 * 1024;
  const auto a = connect();
  const auto b = connect();
  send(a, command("GET big"));
  EXPECT_EQ(redis_got(0), command("GET big"));
  redis_sends(0, "$500000\r\n" + std::string(500'000, 'v') + "\r\n");
  EXPECT_GT(redis(0).unsent(), 300'000U);
  send(b, command("ECHO 1"));
  EXPECT_EQ(redis_got(1), kProbe);
  redis_sends(1, kPong);
  EXPECT_EQ(redis_got(1), command("ECHO 1"));
  redis_sends(1, "$1\r\n1\r\n");
  EXPECT_EQ(got(b), "$1\r\n1\r\n");
  EXPECT_GT(redis(0).unsent(), 300'000U);
  std::string all;
  while (!all.ends_with("v\r\n")) {
    const std::string more = got(a);
    ASSERT_FALSE(more.empty()) << all.size();
    all += more;
  }
  EXPECT_EQ(all.size(), 500'000 + std::string_view("$500000\r\n\r\n").size());
}

// Nobody knows how many more would hang, too.
TEST_F(UnreadReplies, where_no_spare_answers_replies_are_read_for_those_who_wait) {
  settings_.limits.client_output_soft = 64 * 1024;
  loop_.weather().capacity_min = loop_.weather().capacity_max = 16 * 1024;
  const auto a = connect();
  const auto b = connect();
  send(a, command("GET big"));
  redis_sends(0, "$500000\r\n" + std::string(500'000, 'v') + "\r\n");
  send(b, command("ECHO 1"));
  EXPECT_EQ(redis_got(1), kProbe);
  redis(1).close();
  EXPECT_TRUE(redis_got(0).ends_with(command("ECHO 1")));
  EXPECT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis(0).unsent(), 0U);
  redis_sends(0, "$1\r\n1\r\n");
  EXPECT_EQ(got(b), "$1\r\n1\r\n");
}

// It may write all it has before it reads: what comes next waits for a lease, and that for the
// replies before.
TEST_F(UnreadReplies, replies_do_not_stay_in_redis_while_the_next_command_waits_for_them) {
  settings_.limits.client_output_soft = 64 * 1024;
  loop_.weather().capacity_min = loop_.weather().capacity_max = 16 * 1024;
  const auto a = connect();
  send(a, command("GET big"));
  redis_sends(0, "$500000\r\n" + std::string(500'000, 'v') + "\r\n");
  send(a, command("ECHO 1"));
  EXPECT_EQ(redis(0).unsent(), 0U);
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(1), command("ECHO 1"));
}

TEST_F(UnreadReplies,
       a_shared_connection_is_read_again_when_the_client_that_did_not_read_has_left) {
  settings_.limits.client_output_soft = 64 * 1024;
  loop_.weather().capacity_min = loop_.weather().capacity_max = 16 * 1024;
  const auto a = connect();
  send(a, command("GET big"));
  redis_sends(0, "$500000\r\n" + std::string(500'000, 'v') + "\r\n");
  EXPECT_GT(redis(0).unsent(), 300'000U);
  peers_.at(a).reset();
  loop_.run();
  EXPECT_EQ(redis(0).unsent(), 0U);
}

TEST_F(UnreadReplies, who_is_owed_more_than_the_hard_limit_is_closed) {
  settings_.limits.client_output_hard = 100'000;
  loop_.weather().capacity_min = loop_.weather().capacity_max = 16 * 1024;
  const auto a = connect();
  const auto b = connect();
  loop_.weather().capacity_min = loop_.weather().capacity_max = 1 << 20;
  send(a, command("GET big"));
  send(b, command("PING"));
  redis_sends(0, "$500000\r\n" + std::string(500'000, 'v') + "\r\n" + kPong);
  EXPECT_EQ(clients_.count(), 1U);
  EXPECT_EQ(got(b), kPong);
}

}  // namespace
}  // namespace cuckooguard::proxy
