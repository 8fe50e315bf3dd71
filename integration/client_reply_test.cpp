// CLIENT REPLY OFF and SKIP: commands without replies, of which the guard gives none either.

#include <string>

#include <gtest/gtest.h>

#include "fixtures/side_by_side.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

std::string off() {
  return command({"CLIENT", "REPLY", "OFF"});
}

std::string on() {
  return command({"CLIENT", "REPLY", "ON"});
}

std::string skip() {
  return command({"CLIENT", "REPLY", "SKIP"});
}

class ClientReply : public SideBySide {
 protected:
  ClientReply() { client_.expect_answered(); }

  std::string reads() const {
    return get_absent() + command({"MGET", absent_user(), user(1)}) +
           command({"EXISTS", absent_user()});
  }

  Connection client_ = connect();
};

TEST_F(ClientReply, off_gives_nothing_until_on) {
  client_.same(off() + reads() + command({"PING"}) + reads() + on() + command({"ECHO", "end"}), 2);
}

TEST_F(ClientReply, off_gives_nothing_to_commands_sent_later) {
  client_.same(off() + command({"CLIENT", "REPLY", "ON"}), 1);
  client_.guarded().send(off());
  client_.straight().send(off());
  for (int i = 0; i < 20; ++i) {
    client_.guarded().send(reads());
    client_.straight().send(reads());
  }
  client_.same(on() + command({"ECHO", "end"}), 2);
}

TEST_F(ClientReply, commands_run_while_it_is_off) {
  const std::string key = absent_user(5);
  client_.same(off() + command({"SET", key, "written"}) + command({"INCR", "counter"}) + on(), 1);
  client_.same({"GET", "counter"});
  client_.same({"GET", key});
}

TEST_F(ClientReply, skip_takes_the_next_reply_only) {
  client_.same(skip() + get_absent() + command({"ECHO", "end"}), 1);
  client_.same(skip() + command({"SET", "a", "b"}) + command({"GET", "a"}), 1);
  client_.same(skip() + skip() + command({"ECHO", "skipped"}) + command({"ECHO", "end"}), 1);
  client_.same(skip() + on() + command({"ECHO", "end"}), 2);
  client_.same(skip() + off() + reads() + on(), 1);
  client_.same(off() + skip() + get_absent() + on(), 1);
}

TEST_F(ClientReply, mistakes_are_redis_own) {
  client_.same({"CLIENT", "REPLY"});
  client_.same({"CLIENT", "REPLY", "NOSUCH"});
  client_.same({"CLIENT", "REPLY", "ON", "OFF"});
  client_.same(off() + command({"NOSUCH"}) + on(), 1);
}

TEST_F(ClientReply, pushes_come_while_it_is_off) {
  client_.same({"HELLO", "3"});
  client_.same({"SUBSCRIBE", "news"});
  client_.guarded().send(off() + command({"SET", "off", "1"}));
  client_.straight().send(off() + command({"SET", "off", "1"}));
  wait_until_both(
      [](const RedisServer& redis) { return redis.call({"EXISTS", "off"}) == ":1\r\n"; });
  tell_both({"PUBLISH", "news", "hello"});
  client_.same({}, 1);
  client_.same(on() + command({"ECHO", "end"}), 2);
}

TEST_F(ClientReply, inside_multi_works_as_in_redis) {
  client_.same_through(command({"MULTI"}) + get_absent() + skip() + get_absent() +
                           command({"EXEC"}) + command({"ECHO", "one"}) + command({"ECHO", "end"}),
                       bulk("end"));
}

TEST_F(ClientReply, guarding_resumes_after_on) {
  client_.same(off() + reads() + on(), 1);
  client_.expect_answered();
  client_.same({"GET", user(1)});
  client_.same(on(), 1);  // it was
  client_.expect_answered();
}

TEST_F(ClientReply, guarding_resumes_after_the_skipped_reply) {
  client_.same(skip() + get_absent() + command({"ECHO", "end"}), 1);
  client_.expect_answered();
  client_.same(skip() + command({"SET", "a", "b"}) + command({"GET", "a"}), 1);
  client_.expect_answered();
}

TEST_F(ClientReply, guarding_resumes_after_a_mistake) {
  client_.same({"CLIENT", "REPLY", "NOSUCH"});
  client_.expect_answered();
}

TEST_F(ClientReply, guarding_resumes_after_reset) {
  client_.same_through(off() + get_absent() + command({"RESET"}) + command({"ECHO", "end"}),
                       bulk("end"));
  client_.expect_answered();
}

}  // namespace
}  // namespace cuckooguard::harness
