// Commands that wait: nothing of the guard's ends the wait, and nothing outlives the client.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/side_by_side.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

class BlockingCommands : public SideBySide {
 protected:
  BlockingCommands() { client_.expect_answered(); }

  void send(Connection& connection, const std::string& request) {
    connection.straight().send(request);
    connection.guarded().send(request);
  }

  Connection client_ = connect();
};

TEST_F(BlockingCommands, are_woken_by_what_they_wait_for) {
  struct Case {
    std::vector<std::string_view> wait;
    std::vector<std::string_view> wake;
  };
  const std::string guarded = absent_user(900);
  const std::vector<Case> cases{
      {{"BLPOP", "none", "list", "0"}, {"RPUSH", "list", "x"}},
      {{"BRPOP", "list", "0"}, {"RPUSH", "list", "x"}},
      {{"BLMOVE", "list", "other", "LEFT", "RIGHT", "0"}, {"RPUSH", "list", "x"}},
      {{"BRPOPLPUSH", "list", "other", "0"}, {"RPUSH", "list", "x"}},
      {{"BLMPOP", "0", "2", "none", "list", "LEFT", "COUNT", "5"}, {"RPUSH", "list", "x", "y"}},
      {{"BZPOPMIN", "zset", "0"}, {"ZADD", "zset", "1", "x"}},
      {{"BZPOPMAX", "zset", "0"}, {"ZADD", "zset", "1", "x"}},
      {{"BZMPOP", "0", "1", "zset", "MIN"}, {"ZADD", "zset", "1", "x"}},
      {{"XREAD", "BLOCK", "0", "STREAMS", "stream", "$"}, {"XADD", "stream", "9-1", "a", "b"}},
      {{"BLPOP", guarded, "0"}, {"RPUSH", guarded, "x"}},
  };
  for (const std::string_view version : {"2", "3"}) {
    tell_both({"DEL", "stream"});
    client_.same({"HELLO", version});
    for (const Case& each : cases) {
      send(client_, command(each.wait));
      wait_until_blocked(1);
      connect().expect_answered();
      tell_both(each.wake);
      client_.same({}, 1);
      client_.expect_answered();
    }
  }
}

TEST_F(BlockingCommands, two_in_one_pipeline_wait_one_after_the_other) {
  Connection second = connect();
  send(client_,
       command({"BLPOP", "a", "0"}) + command({"BRPOP", "b", "0"}) + command({"ECHO", "end"}));
  wait_until_blocked(1);
  second.same({"RPUSH", "b", "early"});
  second.same({"RPUSH", "a", "x"});
  client_.same({}, 3);
  client_.expect_answered();
}

TEST_F(BlockingCommands, time_out_as_in_redis) {
  client_.same(command({"BLPOP", "none", "0.01"}) + command({"BZPOPMIN", "none", "0.01"}) +
                   command({"XREAD", "BLOCK", "5", "STREAMS", "none", "$"}) +
                   command({"BLMOVE", "none", "other", "LEFT", "LEFT", "0.01"}) +
                   command({"BLPOP", "none", "-1"}) + command({"BLPOP", "none", "x"}) +
                   command({"GET", user(1)}),
               7);
  client_.expect_answered();
}

TEST_F(BlockingCommands, wait_counts_replicas_for_this_connection_s_writes) {
  client_.same(command({"SET", "a", "b"}) + command({"WAIT", "0", "0"}) +
                   command({"WAIT", "1", "10"}) + command({"WAIT", "x", "0"}),
               4);
  client_.expect_answered();
}

TEST_F(BlockingCommands, a_client_that_goes_while_it_waits_waits_in_redis_no_longer) {
  std::vector<Connection> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(connect());
    send(clients.back(),
         i % 2 == 0 ? command({"BLPOP", "queue", "0"})
                    : command({"XREAD", "BLOCK", "0", "STREAMS", "s", "$"}));
  }
  wait_until_blocked(5);
  clients.clear();
  wait_until_blocked(0);
  // Nothing is taken by those that have gone.
  tell_both({"RPUSH", "queue", "x"});
  client_.same({"LLEN", "queue"});
}

TEST_F(BlockingCommands, client_unblock_ends_the_wait_with_or_without_an_error) {
  same_both_ways([](Side& side) {
    std::string seen;
    for (const std::string_view how : {"TIMEOUT", "ERROR", ""}) {
      RawClient waiting = side.connect();
      RawClient other = side.connect();
      const std::string reply = waiting.call({"CLIENT", "ID"});
      const std::string id = reply.substr(1, reply.size() - 3);
      seen += other.call({"CLIENT", "UNBLOCK", id});
      waiting.send(command({"BLPOP", "queue", "0"}) + command({"ECHO", "behind"}));
      EXPECT_TRUE(eventually([&] { return side.redis.info("clients", "blocked_clients") == "1"; }));
      seen += how.empty() ? other.call({"CLIENT", "UNBLOCK", id})
                          : other.call({"CLIENT", "UNBLOCK", id, how});
      seen += waiting.read_replies(2);
    }
    return seen;
  });
}

TEST_F(BlockingCommands, inside_multi_and_scripts_do_not_wait) {
  client_.same(command({"MULTI"}) + command({"BLPOP", "none", "0"}) +
                   command({"XREAD", "BLOCK", "0", "STREAMS", "none", "$"}) + command({"EXEC"}),
               4);
  client_.same({"EVAL", "return redis.call('blpop', KEYS[1], 0)", "1", "none"});
  client_.expect_answered();
}

TEST_F(BlockingCommands, a_client_that_finishes_sending_still_gets_what_it_waits_for_or_the_close) {
  send(client_, command({"BLPOP", "queue", "0"}));
  wait_until_blocked(1);
  client_.straight().finish_sending();
  client_.guarded().finish_sending();
  wait_until_blocked(0);
  client_.same_until_closed("");
}

}  // namespace
}  // namespace cuckooguard::harness
