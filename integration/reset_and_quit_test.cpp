// RESET makes a connection as new. QUIT is replied to and ends it, and nothing that was sent behind
// it runs.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/side_by_side.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

std::string reset() {
  return command({"RESET"});
}

std::string quit() {
  return command({"QUIT"});
}

class ResetAndQuit : public SideBySide {
 protected:
  ResetAndQuit() { client_.expect_answered(); }

  void expect_not_run() {
    EXPECT_EQ(shop().redis().call({"EXISTS", "behind"}), ":0\r\n");
    EXPECT_EQ(straight().call({"EXISTS", "behind"}), ":0\r\n");
    connect().expect_answered();
  }

  Connection client_ = connect();
};

TEST_F(ResetAndQuit, reset_ends_every_state) {
  const std::vector<std::pair<std::string, std::size_t>> states{
      {command({"SELECT", "3"}), 1},
      {command({"HELLO", "3"}), 1},
      {command({"MULTI"}) + get_absent(), 2},
      {command({"MULTI"}) + command({"NOSUCH"}), 2},
      {command({"WATCH", user(1)}), 1},
      {command({"CLIENT", "SETNAME", "somebody"}), 1},
      {command({"CLIENT", "NO-EVICT", "ON"}), 1},
      {command({"SELECT", "3"}) + command({"HELLO", "3"}) + command({"WATCH", user(1)}) +
           command({"MULTI"}),
       4},
      {reset(), 1},
  };
  for (const auto& [request, replies] : states) {
    client_.same(request + reset() + command({"GET", user(77)}) + command({"CLIENT", "GETNAME"}),
                 replies + 3);
    client_.expect_answered();
    client_.same(request, replies);
    client_.same({"RESET"});
    client_.expect_answered();
    client_.same(command({"EXEC"}) + command({"GET", user(1)}), 2);
  }
}

TEST_F(ResetAndQuit, reset_within_a_pipeline_is_in_its_place) {
  client_.same(command({"SELECT", "3"}) + get_absent() + reset() + get_absent() +
                   command({"SELECT", "4"}) + command({"MULTI"}) + get_absent() + reset() +
                   command({"GET", user(1)}),
               9);
  client_.expect_answered();
}

TEST_F(ResetAndQuit, reset_takes_no_arguments) {
  client_.same({"SELECT", "3"});
  client_.same({"RESET", "all"});
  client_.same(get_absent(), 1);
  client_.same({"RESET"});
  client_.expect_answered();
}

TEST_F(ResetAndQuit, quit_is_replied_to_and_closes) {
  for (const std::string& request : {quit(),
                                     command({"quit"}),
                                     std::string("QUIT\r\n"),
                                     std::string("quit now\r\n"),
                                     command({"QUIT", "now"}),
                                     command({"MULTI"}) + quit(),
                                     command({"SUBSCRIBE", "a"}) + quit(),
                                     command({"HELLO", "3"}) + quit(),
                                     command({"GET", user(1)}) + quit() + quit()}) {
    EXPECT_TRUE(connect().same_until_closed(request).ends_with(kOk)) << shown(request);
  }
  connect().expect_answered();
}

TEST_F(ResetAndQuit, what_is_behind_quit_does_not_run) {
  connect().same_until_closed(command({"GET", user(1)}) + quit() + command({"SET", "behind", "x"}));
  connect().same_until_closed("QUIT\r\nSET behind x\r\n");
  connect().same_until_closed(quit() + get_absent() + command({"SET", "behind", "x"}) +
                              get_absent());
  connect().same_until_closed(command({"MULTI"}) + command({"SET", "behind", "x"}) + quit() +
                              command({"EXEC"}));
  expect_not_run();
}

TEST_F(ResetAndQuit, what_is_behind_quit_does_not_run_though_no_buffer_holds_it) {
  constexpr std::size_t kCommands = 40'000;  // 1.6 MB
  std::string many = quit();
  for (std::size_t i = 0; i < kCommands; ++i) {
    many += command({"SET", "behind", std::to_string(i)});
  }
  const std::string one = quit() + command({"SET", "behind", std::string(3'000'000, 'x')});
  for (const std::string& request : {many, one}) {
    for (int round = 0; round < 3; ++round) {
      connect().same_until_closed(request);
      expect_not_run();
    }
  }
}

TEST_F(ResetAndQuit, what_the_guard_has_answered_before_quit_arrives) {
  std::string request;
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    request += command({"GET", absent_user(700'000)}) + command({"GET", user(1)});
    expected += absent_reply() + bulk("one");
  }
  client_.guarded().send(request + quit());
  EXPECT_EQ(client_.guarded().read_until_closed(), expected + std::string(kOk));
}

TEST_F(ResetAndQuit, quit_behind_a_command_that_waits_waits_too) {
  for (RawClient* client : {&client_.straight(), &client_.guarded()}) {
    client->send(command({"BLPOP", "queue", "0"}) + quit() + command({"SET", "behind", "x"}));
  }
  wait_until_blocked(1);
  tell_both({"RPUSH", "queue", "x"});
  client_.same_until_closed("");
  expect_not_run();
}

TEST_F(ResetAndQuit, a_client_that_quits_is_gone_from_redis) {
  client_.same_until_closed(quit());
  wait_until_both([](const RedisServer& redis) {
    return !redis.call({"CLIENT", "LIST"}).contains("cmd=quit") &&
           !redis.call({"CLIENT", "LIST"}).contains("cmd=get");
  });
}

}  // namespace
}  // namespace cuckooguard::harness
