#include "proxy/session.h"

#include <string>

#include <gtest/gtest.h>

#include "proxied_client.h"

namespace cuckooguard::proxy {
namespace {

using std::chrono::seconds;

class SessionTest : public ProxiedClient {};

const std::string kPing = "*1\r\n$4\r\nPING\r\n";
const std::string kSubscribe = "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n";
const std::string kUnsubscribe = "*1\r\n$11\r\nUNSUBSCRIBE\r\n";
const std::string kSubscribed = "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";
const std::string kUnsubscribed = "*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n";
const std::string kMessage = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n";

TEST_F(SessionTest, an_absent_key_is_answered_without_redis) {
  connect_both();
  client_sends(kAbsentGet);
  EXPECT_EQ(client_got(), kNil);
  EXPECT_EQ(redis_got(), "");
}

TEST_F(SessionTest, everything_else_goes_to_redis_and_comes_back_byte_for_byte) {
  connect_both();
  const std::string bytes =
      "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$3\r\n\r\nx\r\nPiNg  \r\n\r\n*0\r\n*1\r\n$7\r\nUNKNOWN\r\n";
  client_sends(bytes);
  EXPECT_EQ(redis_got(), bytes);
  redis_sends("+OK\r\n+PONG\r\n-ERR unknown command\r\n");
  EXPECT_EQ(client_got(), "+OK\r\n+PONG\r\n-ERR unknown command\r\n");
}

TEST_F(SessionTest, a_pipeline_is_one_write_to_redis_and_redis_goes_first) {
  connect_both();
  order_.clear();
  client_sends(std::string(kAbsentGet) + kPing + kPing);
  EXPECT_EQ(order_, (std::vector<std::string>{"upstream 28", "client 5"}));
}

TEST_F(SessionTest, replies_and_answers_come_in_the_order_of_the_commands) {
  connect_both();
  client_sends(kPing + std::string(kAbsentGet) + kPing + std::string(kAbsentGet));
  EXPECT_EQ(client_got(), "");
  redis_sends("+1\r\n");
  EXPECT_EQ(client_got(), "+1\r\n$-1\r\n");
  redis_sends("+2\r\n");
  EXPECT_EQ(client_got(), "+2\r\n$-1\r\n");
}

TEST_F(SessionTest, absent_keys_are_taken_out_of_mget_and_exists) {
  connect_both();
  client_sends("MGET user:999 user:7 user:998\r\nEXISTS user:7 user:999\r\n");
  EXPECT_EQ(redis_got(),
            "*2\r\n$4\r\nMGET\r\n$6\r\nuser:7\r\n*2\r\n$6\r\nEXISTS\r\n$6\r\nuser:7\r\n");
  redis_sends("*1\r\n$5\r\nseven\r\n:1\r\n");
  EXPECT_EQ(client_got(), "*3\r\n$-1\r\n$5\r\nseven\r\n$-1\r\n:1\r\n");
}

TEST_F(SessionTest, commands_may_come_byte_by_byte) {
  connect_both();
  for (const char byte : std::string(kExistingGet) + std::string(kAbsentGet)) {
    client_sends(std::string_view(&byte, 1));
  }
  EXPECT_EQ(redis_got(), kExistingGet);
  redis_sends("$1\r\nv\r\n");
  EXPECT_EQ(client_got(), "$1\r\nv\r\n$-1\r\n");
}

TEST_F(SessionTest, what_is_sent_before_redis_is_reached_waits_and_absent_keys_do_not) {
  connect();
  client_sends(std::string(kAbsentGet) + kPing);
  EXPECT_EQ(client_got(), kNil);
  redis_accepts();
  EXPECT_EQ(redis_got(), kPing);
}

TEST_F(SessionTest, what_was_read_is_judged_by_the_time_after_the_read) {
  connect_both();
  client_transport_->observe({.on_read = [this](std::string_view) {
    shop_.filters[guard::GuardedShop::kUsers]->set_fresh_until(loop_.now() + seconds(1));
    loop_.pass(seconds(2));  // suspended, right here
  }});
  client_sends(kAbsentGet);
  EXPECT_EQ(redis_got(), kAbsentGet);
}

TEST_F(SessionTest, a_change_of_the_connection_counts_once_redis_has_confirmed_it) {
  connect_both();
  const std::string select = "*2\r\n$6\r\nSELECT\r\n$1\r\n5\r\n";
  client_sends(select + std::string(kAbsentGet));
  EXPECT_EQ(redis_got(), select + std::string(kAbsentGet));
  redis_sends("-ERR DB index is out of range\r\n$-1\r\n");
  client_sends(kAbsentGet);
  EXPECT_EQ(redis_got(), "");
  client_sends(select);
  redis_sends("+OK\r\n");
  client_sends(kAbsentGet);
  EXPECT_EQ(redis_got(), select + std::string(kAbsentGet));
}

TEST_F(SessionTest, a_client_that_says_no_more_still_gets_every_reply) {
  connect_both();
  client_.send(kPing + std::string(kAbsentGet) + "*1\r\n$4\r\nPI");
  client_.finish();
  loop_.run();
  EXPECT_EQ(redis_got(), kPing);
  EXPECT_TRUE(redis_.at_end());
  redis_.send("+PONG\r\n");
  redis_.close();
  EXPECT_EQ(client_got(), "+PONG\r\n$-1\r\n");
  EXPECT_TRUE(client_is_closed());
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(SessionTest, a_client_that_has_said_all_before_redis_is_reached_is_served) {
  connect();
  client_.send(kPing);
  client_.finish();
  loop_.run();
  redis_accepts();
  EXPECT_EQ(redis_got(), kPing);
  EXPECT_TRUE(redis_.at_end());
  redis_.send("+PONG\r\n");
  redis_.close();
  EXPECT_EQ(client_got(), "+PONG\r\n");
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(SessionTest,
       absent_keys_are_answered_while_redis_is_down_and_what_needs_it_ends_the_client) {
  connect();
  redis_refuses();
  client_sends(kAbsentGet);
  EXPECT_EQ(client_got(), kNil);
  client_sends(std::string(kAbsentGet) + kPing + std::string(kAbsentGet));
  EXPECT_EQ(client_got(), kNil);
  EXPECT_TRUE(client_is_closed());
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(SessionTest, a_client_that_leaves_while_redis_is_down_is_gone) {
  connect();
  redis_refuses();
  client_sends(kAbsentGet);
  client_.finish();
  EXPECT_EQ(client_got(), kNil);
  EXPECT_TRUE(client_is_closed());
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(SessionTest, a_command_that_waits_for_a_redis_that_refuses_ends_the_client) {
  connect();
  client_sends(kPing);
  EXPECT_FALSE(client_is_closed());
  redis_refuses();
  EXPECT_TRUE(client_is_closed());
}

TEST_F(SessionTest, a_redis_that_never_answers_is_down_after_the_connect_timeout) {
  connect();
  client_sends(kPing);
  loop_.run(seconds(4));
  EXPECT_FALSE(client_is_closed());
  loop_.run(seconds(6));
  EXPECT_TRUE(client_is_closed());
  EXPECT_TRUE(upstream_is_closed_);
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(SessionTest, a_redis_that_closes_takes_its_client_along_after_its_last_words) {
  connect_both();
  redis_.send("-ERR max number of clients reached\r\n");
  redis_.close();
  EXPECT_EQ(client_got(), "-ERR max number of clients reached\r\n");
  EXPECT_TRUE(client_is_closed());
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(SessionTest, a_redis_that_dies_takes_its_client_along) {
  connect_both();
  client_sends(kPing);
  redis_.reset();
  EXPECT_EQ(client_got(), "");
  EXPECT_TRUE(client_is_closed());
}

TEST_F(SessionTest, last_words_wait_for_a_client_that_reads_late) {
  loop_.weather().capacity_min = loop_.weather().capacity_max = 1000;
  connect_both();
  const std::string reply = "$50000\r\n" + std::string(50'000, 'v') + "\r\n";
  client_sends(kPing);
  redis_.send(reply);
  redis_.finish();
  loop_.run();
  EXPECT_EQ(sessions(), 1U);
  EXPECT_EQ(client_got_all(), reply);
  EXPECT_TRUE(client_is_closed());
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(SessionTest, a_client_that_leaves_takes_its_connection_to_redis_along) {
  connect_both();
  client_.reset();
  loop_.run();
  EXPECT_TRUE(upstream_is_closed_);
  EXPECT_TRUE(redis_.at_end());
  EXPECT_EQ(sessions(), 0U);
  EXPECT_EQ(total_.open, 0U);
}

TEST_F(SessionTest, bytes_that_are_no_commands_are_for_redis_to_refuse) {
  connect_both();
  const std::string wrong = "*1\r\n!3\r\nmore";
  client_sends(kPing + std::string(kAbsentGet) + wrong);
  client_sends(kAbsentGet);  // no longer a command for anybody
  EXPECT_EQ(redis_got(), kPing + wrong + std::string(kAbsentGet));
  redis_.send("+PONG\r\n-ERR Protocol error: expected '$', got '!'\r\n");
  redis_.close();
  EXPECT_EQ(client_got(), "+PONG\r\n$-1\r\n-ERR Protocol error: expected '$', got '!'\r\n");
  EXPECT_TRUE(client_is_closed());
}

TEST_F(SessionTest, a_subscribed_client_is_served_by_redis_until_it_has_unsubscribed) {
  connect_both();
  client_sends(kSubscribe + std::string(kAbsentGet));
  EXPECT_EQ(redis_got(), kSubscribe + std::string(kAbsentGet));
  redis_sends(kSubscribed + "-ERR Can't execute 'get'\r\n" + kMessage);
  client_sends(kUnsubscribe + std::string(kAbsentGet));
  EXPECT_EQ(redis_got(), kUnsubscribe + std::string(kAbsentGet));
  redis_sends(kMessage + kUnsubscribed + "$-1\r\n");
  client_sends(std::string(kAbsentGet));
  EXPECT_EQ(client_got(),
            kSubscribed + "-ERR Can't execute 'get'\r\n" + kMessage + kMessage + kUnsubscribed +
                "$-1\r\n" + std::string(kNil));
  EXPECT_EQ(redis_got(), "");
}

TEST_F(SessionTest, replies_that_are_switched_off_are_not_waited_for) {
  connect_both();
  client_sends("CLIENT REPLY OFF\r\nSET free 1\r\n" + std::string(kAbsentGet) +
               "CLIENT REPLY ON\r\n" + std::string(kAbsentGet));
  EXPECT_EQ(redis_got(),
            "CLIENT REPLY OFF\r\nSET free 1\r\n" + std::string(kAbsentGet) + "CLIENT REPLY ON\r\n");
  EXPECT_EQ(client_got(), "");
  redis_sends("+OK\r\n");
  EXPECT_EQ(client_got(), "+OK\r\n" + std::string(kNil));
}

TEST_F(SessionTest, a_skipped_reply_is_not_waited_for) {
  connect_both();
  client_sends("CLIENT REPLY SKIP\r\n" + kPing + std::string(kAbsentGet) + kPing);
  EXPECT_EQ(redis_got(), "CLIENT REPLY SKIP\r\n" + kPing + kPing);
  redis_sends("+PONG\r\n");
  EXPECT_EQ(client_got(), std::string(kNil) + "+PONG\r\n");
}

// Redis skips the reply of the next command that it takes up, and takes up an empty one, too.
TEST_F(SessionTest, an_empty_command_behind_skip_is_redis_to_judge) {
  connect_both();
  client_sends("CLIENT REPLY SKIP\r\n*0\r\n" + std::string(kAbsentGet));
  EXPECT_EQ(redis_got(), "CLIENT REPLY SKIP\r\n*0\r\n" + std::string(kAbsentGet));
}

TEST_F(SessionTest, a_monitoring_connection_is_relayed_unread_both_ways) {
  connect_both();
  client_sends("MONITOR\r\n" + std::string(kAbsentGet) + "no command\r\n");
  EXPECT_EQ(redis_got(), "MONITOR\r\n" + std::string(kAbsentGet) + "no command\r\n");
  redis_sends("+OK\r\n+1.2 [0 unix] \"GET\"\r\n*3\r\nwhatever");
  EXPECT_EQ(client_got(), "+OK\r\n+1.2 [0 unix] \"GET\"\r\n*3\r\nwhatever");
}

TEST_F(SessionTest, a_redis_that_speaks_no_resp_ends_the_client) {
  connect_both();
  client_sends(kPing);
  redis_sends("HTTP/1.1 400 Bad Request\r\n");
  EXPECT_TRUE(client_is_closed());
  EXPECT_TRUE(upstream_is_closed_);
  EXPECT_EQ(sessions(), 0U);
}

TEST_F(SessionTest, a_value_that_is_written_large_is_found_by_the_next_read) {
  connect_both();
  const std::string set =
      "*3\r\n$3\r\nSET\r\n$8\r\nuser:999\r\n$200000\r\n" + std::string(200'000, 'v') + "\r\n";
  client_sends(set + std::string(kAbsentGet));
  EXPECT_EQ(redis_got_all(), set + std::string(kAbsentGet));
  redis_sends("+OK\r\n$1\r\nv\r\n");
  EXPECT_EQ(client_got(), "+OK\r\n$1\r\nv\r\n");
}

}  // namespace
}  // namespace cuckooguard::proxy
