// SUBSCRIBE and its family: one reply per channel, messages at any time, RESP2's restrictions; and
// an end to all that.

#include <string>

#include <gtest/gtest.h>

#include "fixtures/side_by_side.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

class Subscribe : public SideBySide {
 protected:
  void publish(std::string_view channel, std::string_view text) {
    tell_both({"PUBLISH", channel, text});
  }

  // Guarding, now and before: what a test of this file begins with.
  void expect_another_is_answered() { connect().expect_answered(); }
  // Valkey 8.0 has one error for both (-NOSUB).
  void leave_what_was_never_joined() {
    client_.same_through(command({"UNSUBSCRIBE", "a", "b"}) + command({"ECHO", "end"}),
                         bulk("end"));
  }

  Connection client_ = connect();
};

TEST_F(Subscribe, each_channel_has_a_reply_and_each_message_comes) {
  client_.expect_answered();
  client_.same(command({"SUBSCRIBE", "news", "weather", "news"}) +
                   command({"PSUBSCRIBE", "n*", "w*"}) + command({"SSUBSCRIBE", "shard"}),
               6);
  publish("news", "hello");
  publish("weather", std::string(100'000, 'r'));
  publish("sport", "nobody hears");
  tell_both({"SPUBLISH", "shard", "piece"});
  client_.same({}, 5);
  client_.same(command({"UNSUBSCRIBE", "news"}) + command({"PUNSUBSCRIBE", "n*"}) +
                   command({"PUNSUBSCRIBE"}) + command({"SUNSUBSCRIBE"}),
               4);
  client_.same(command({"UNSUBSCRIBE"}), 1);
}

TEST_F(Subscribe, in_resp2_reads_are_refused_and_ping_is_an_array) {
  client_.expect_answered();
  const std::string refused =
      client_.same(command({"SUBSCRIBE", "news"}) + get_absent() + command({"PING"}) +
                       command({"PING", "text"}) + command({"MGET", absent_user(), user(1)}) +
                       command({"EXISTS", absent_user()}) + command({"SET", "a", "b"}),
                   7);
  EXPECT_TRUE(refused.contains("-ERR Can't execute 'get'")) << shown(refused);
  client_.same(get_absent(), 1);
  publish("news", "hello");
  client_.same({}, 1);
  expect_another_is_answered();
}

TEST_F(Subscribe, in_resp3_messages_are_pushes_between_replies) {
  client_.same({"HELLO", "3"});
  client_.expect_answered();
  client_.same(command({"SUBSCRIBE", "news"}) + command({"PING"}), 2);
  for (int i = 0; i < 50; ++i) {
    publish("news", std::to_string(i));
    client_.same({}, 1);
    client_.same(command({"GET", user(1)}) + command({"CONFIG", "GET", "maxmemory"}), 2);
  }
  client_.same_through(command({"PUBLISH", "news", "to myself"}) + command({"ECHO", "end"}),
                       bulk("end"));
}

TEST_F(Subscribe, leaving_what_was_never_joined_has_one_reply_with_a_nil) {
  client_.expect_answered();
  client_.same(command({"UNSUBSCRIBE"}) + command({"PUNSUBSCRIBE"}) + command({"SUNSUBSCRIBE"}), 3);
  leave_what_was_never_joined();
  client_.same({"GET", user(1)});
}

TEST_F(Subscribe, guarding_resumes_after_leaving_what_was_never_joined) {
  for (const std::string_view leave : {"UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"}) {
    client_.same({leave});
    client_.expect_answered();
  }
  leave_what_was_never_joined();
  client_.expect_answered();
}

TEST_F(Subscribe, guarding_resumes_after_the_last_channel_is_left) {
  // Redis leaves several in the order of a hash table that it has seeded at random.
  client_.same(command({"SUBSCRIBE", "a"}) + command({"PSUBSCRIBE", "c*"}), 2);
  client_.same(command({"UNSUBSCRIBE"}), 1);
  client_.same(get_absent(), 1);  // the pattern is still there
  client_.same({"PUNSUBSCRIBE", "c*"});
  client_.expect_answered();
  client_.same(command({"SSUBSCRIBE", "s"}), 1);
  client_.same(get_absent(), 1);
  client_.same({"SUNSUBSCRIBE"});
  client_.expect_answered();
  // All in one pipeline, and again.
  client_.same(command({"SUBSCRIBE", "a"}) + command({"UNSUBSCRIBE", "a"}), 2);
  client_.expect_answered();
}

TEST_F(Subscribe, guarding_resumes_after_the_last_channel_is_left_in_resp3) {
  client_.same({"HELLO", "3"});
  client_.same(command({"SUBSCRIBE", "a", "b"}), 2);
  publish("a", "text");
  client_.same({}, 1);
  client_.same(command({"UNSUBSCRIBE", "b"}), 1);
  client_.same(command({"UNSUBSCRIBE"}), 1);
  client_.same({"PING"});
  client_.expect_answered();
}

TEST_F(Subscribe, guarding_resumes_after_reset) {
  client_.same(command({"SUBSCRIBE", "a", "b"}) + command({"RESET"}), 3);
  client_.expect_answered();
}

TEST_F(Subscribe, a_client_that_leaves_or_goes_is_no_subscriber_any_more) {
  client_.same(command({"SUBSCRIBE", "news"}), 1);
  Connection watcher = connect();
  watcher.same({"PUBSUB", "NUMSUB", "news"});
  watcher.same({"PUBLISH", "news", "to one"});
  client_.same({}, 1);
  client_.close();
  wait_until_both([](const RedisServer& redis) {
    return redis.call({"PUBSUB", "NUMSUB", "news"}).ends_with(":0\r\n");
  });
  watcher.expect_answered();
}

// Redis writes one reply per channel into EXEC's array, which counts one per command.
TEST_F(Subscribe, inside_multi_the_replies_are_redis_own) {
  client_.expect_answered();
  client_.same_through(command({"MULTI"}) + command({"SUBSCRIBE", "a", "b"}) + command({"EXEC"}) +
                           command({"PING", "end"}),
                       bulk("end"));
  publish("b", "message");
  client_.same_through("", bulk("message"));
  Connection other = connect();
  other.same({"HELLO", "3"});
  other.same_through(command({"MULTI"}) + command({"SUBSCRIBE", "a", "b"}) +
                         command({"GET", user(1)}) + command({"EXEC"}) + command({"PING", "end"}),
                     bulk("end"));
}

TEST_F(Subscribe, many_messages_come_whole_and_in_order) {
  client_.same({"SUBSCRIBE", "news"});
  constexpr std::size_t kMessages = 3000;
  std::string request;
  for (std::size_t i = 0; i < kMessages; ++i) {
    request += command({"PUBLISH", "news", std::to_string(i) + std::string(i % 400, 'm')});
  }
  Connection publisher = connect();
  publisher.same(request, kMessages);
  client_.same({}, kMessages);
  publisher.expect_answered();
}

TEST_F(Subscribe, events_of_the_keyspace_are_messages) {
  tell_both({"CONFIG", "SET", "notify-keyspace-events", "KEA"});
  client_.same({"PSUBSCRIBE", "__key*__:*"});
  Connection writer = connect();
  writer.expect_answered();  // what does not reach Redis is no event
  writer.same(command({"SET", absent_user(), "x"}) + command({"DEL", absent_user()}) +
                  command({"LPUSH", "list", "x"}),
              3);
  client_.same({}, 6);
}

}  // namespace
}  // namespace cuckooguard::harness
