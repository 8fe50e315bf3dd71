// Which slots a node serves, as its control connection asks: real nodes.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "cluster/map.h"
#include "harness/redis_server.h"
#include "upstream/control.h"
#include "upstream/heard.h"

namespace cuckooguard::topology {
namespace {

using harness::RedisServer;
using upstream::Control;
using upstream::Heard;
using upstream::Questions;
using State = redis::ControlReport::State;

config::Upstream node_at(const RedisServer& redis, config::Control control = {}) {
  const config::Address address{.host = "127.0.0.1", .port = redis.port()};
  return {.address = address, .control = std::move(control), .cluster = {address}};
}
Questions questions_for_node() {
  return {.keys = {{"user:"}}, .served_slots = cluster::served_slots};
}

TEST(NodeSlots, a_node_of_a_cluster_tells_its_slots_but_for_those_on_their_way) {
  const RedisServer redis({"--cluster-enabled", "yes"});
  Heard heard;
  Control control(node_at(redis), questions_for_node(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.reading_becomes([](const redis::Reading& reading) {
    return reading.slots && reading.slots->none() && upstream::is_open_default(reading.users);
  })) << "it is not ok";
  redis.call({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  EXPECT_TRUE(heard.reading_becomes(
      [](const redis::Reading& reading) { return reading.slots && reading.slots->all(); }));
  redis.call({"CLUSTER", "DELSLOTS", "8"});
  redis.call({"CONFIG", "SET", "cluster-require-full-coverage", "no"});
  EXPECT_TRUE(heard.reading_becomes([](const redis::Reading& reading) {
    return reading.slots && reading.slots->count() == redis::kSlots - 1 && !reading.slots->test(8);
  }));
}

TEST(NodeSlots, a_node_that_may_not_be_asked_for_its_slots_serves_none) {
  const RedisServer redis({"--cluster-enabled", "yes"});
  redis.call({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  redis.call({"ACL", "SETUSER", "ops", "on", ">pass", "+@all", "-cluster|nodes"});
  Heard heard;
  Control control(
      node_at(redis, {.username = "ops", .password = "pass"}), questions_for_node(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.reading_becomes(
      [](const redis::Reading& reading) { return reading.slots && reading.slots->none(); }));
  ASSERT_FALSE(heard.reports().empty());
  EXPECT_EQ(heard.reports()[0].state, State::not_allowed);
  EXPECT_EQ(heard.reports()[0].hint,
            "ACL SETUSER ops +cluster|nodes +cluster|info; until then all keys pass");
}

}  // namespace
}  // namespace cuckooguard::topology
