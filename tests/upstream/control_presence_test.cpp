// A Control that is to know nothing but whether Redis answers.
#include <csignal>

#include <gtest/gtest.h>

#include "harness/redis_server.h"
#include "heard.h"
#include "upstream/control.h"

namespace cuckooguard::upstream {
namespace {

using harness::RedisServer;

TEST(ControlOfPresence, asks_for_nothing_else) {
  RedisServer redis({"--requirepass", "secret"}, "secret");
  Heard heard;
  Control control({.address = {.host = "127.0.0.1", .port = redis.port()}},
                  {.of_presence_alone = true},
                  heard.calls());
  control.start();
  EXPECT_TRUE(heard.reachable_becomes({true}));
  ::kill(redis.pid(), SIGSTOP);
  EXPECT_TRUE(heard.reachable_becomes({true, false}));
  EXPECT_EQ(heard.why(), "no reply within 2 s");
  ::kill(redis.pid(), SIGCONT);
  EXPECT_TRUE(heard.reachable_becomes({true, false, true}));
  redis.kill();
  EXPECT_TRUE(heard.reachable_becomes({true, false, true, false}));
  redis.start_again();
  EXPECT_TRUE(heard.reachable_becomes({true, false, true, false, true}));
  EXPECT_EQ(redis.calls("hello"), 0U);
  EXPECT_FALSE(heard.any_facts());
  EXPECT_TRUE(heard.reports().empty());
}

}  // namespace
}  // namespace cuckooguard::upstream
