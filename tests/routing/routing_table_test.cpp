#include "routing/routing_table.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::routing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using enum RoutedTo;

using Words = std::initializer_list<std::string_view>;

RoutedTo routed(Words words) {
  return routing_of(redis::find_command(*words.begin()), {words.begin(), words.size()}).to;
}
std::vector<std::string_view> keys(Words words) {
  return routed_keys(redis::find_command(*words.begin()), {words.begin(), words.size()});
}

TEST(RoutingTable, says_of_each_command_who_gets_it) {
  for (const Words words : {Words{"PING"},
                            {"time"},
                            {"INFO"},
                            {"COMMAND", "DOCS"},
                            {"echo", "a"},
                            {"CLIENT", "ID"},
                            {"client", "list"},
                            {"CONFIG", "GET", "*"},
                            {"ACL", "WHOAMI"},
                            {"SCRIPT", "EXISTS", "x"},
                            {"FUNCTION", "LIST"},
                            {"MEMORY", "DOCTOR"},
                            {"LATENCY", "LATEST"},
                            {"MODULE", "LIST"},
                            {"MEMORY"},
                            {"CLIENT"}}) {
    EXPECT_EQ(routed(words), any_node) << *words.begin();
  }
  for (const Words words : {Words{"SCRIPT", "LOAD", "x"},
                            {"script", "flush"},
                            {"FUNCTION", "LOAD", "x"},
                            {"FUNCTION", "DELETE", "x"},
                            {"KEYS", "*"},
                            {"DBSIZE"},
                            {"RANDOMKEY"},
                            {"FLUSHALL"},
                            {"flushdb", "async"},
                            {"WAIT", "1", "0"},
                            {"SCRIPT", "KILL"},
                            {"FUNCTION", "KILL"},
                            {"MEMORY", "PURGE"},
                            {"SLOWLOG", "GET"},
                            {"LATENCY", "RESET"},
                            {"DEBUG", "SLEEP", "1"},
                            {"CONFIG", "SET", "a", "b"},
                            {"CONFIG", "RESETSTAT"},
                            {"CLIENT", "PAUSE", "1"},
                            {"CLIENT", "NO-EVICT", "on"}}) {
    EXPECT_EQ(routed(words), all_masters) << *words.begin();
  }
  for (const Words words : {Words{"AUTH", "x"},
                            {"HELLO", "3"},
                            {"SELECT", "0"},
                            {"RESET"},
                            {"CLIENT", "SETNAME", "x"},
                            {"client", "setinfo", "lib-name", "x"}}) {
    EXPECT_EQ(routed(words), connection) << *words.begin();
  }
  for (const Words words : {Words{"MULTI"}, {"EXEC"}, {"DISCARD"}, {"WATCH", "a"}, {"UNWATCH"}}) {
    EXPECT_EQ(routed(words), transaction) << *words.begin();
  }
  for (const Words words : {Words{"SUBSCRIBE", "a"}, {"SUNSUBSCRIBE"}, {"PUNSUBSCRIBE"}}) {
    EXPECT_EQ(routed(words), pubsub) << *words.begin();
  }
  for (const Words words : {Words{"SWAPDB", "0", "1"},
                            {"WAITAOF", "0", "0", "0"},
                            {"SAVE"},
                            {"BGSAVE"},
                            {"SHUTDOWN"},
                            {"MONITOR"},
                            {"SYNC"},
                            {"REPLICAOF", "NO", "ONE"},
                            {"FAILOVER"},
                            {"MODULE", "LOAD", "x"},
                            {"DEBUG", "SEGFAULT"},
                            {"CONFIG", "REWRITE"},
                            {"MIGRATE", "h", "1", "k", "0", "1"},
                            {"CLUSTER", "NODES"},
                            {"READONLY"},
                            {"ASKING"},
                            {"ACL", "SETUSER", "a"},
                            {"ACL", "LOG", "RESET"},
                            {"CLIENT", "KILL", "ID", "1"},
                            {"CLIENT", "TRACKING", "ON"},
                            {"CLIENT", "REPLY", "OFF"},
                            {"SCRIPT", "DEBUG", "YES"}}) {
    EXPECT_EQ(routed(words), refused) << *words.begin();
  }
  EXPECT_EQ(routed({"SCAN", "0"}), scan);
  EXPECT_EQ(routed({"PUBLISH", "c", "m"}), pubsub_node);
  EXPECT_EQ(routed({"PUBSUB", "NUMSUB", "c"}), pubsub_node);
  EXPECT_EQ(routed({"MEMORY", "USAGE", "a"}), by_keys);
  EXPECT_EQ(routed({"DEBUG", "OBJECT", "a"}), by_keys);
  EXPECT_EQ(routed({"quit"}), quit);
  EXPECT_EQ(routed({"GET", "a"}), by_keys);
  EXPECT_EQ(routed({"JSON.GET", "a"}), by_keys);
  EXPECT_EQ(routed({"SPUBLISH", "a", "m"}), by_keys);
}

// A new one without keys is refused until somebody has thought of it.
TEST(RoutingTable, leaves_no_refusal_without_words_and_refuses_no_command_of_keys_but_migrate) {
  for (const redis::Command& command : redis::all_commands()) {
    const std::vector<std::string_view> words{command.name, "a", "b", "c"};
    const Routing routing = routing_of(command, words);
    EXPECT_EQ(routing.to == refused, routing.refusal.starts_with('-')) << command.name;
    EXPECT_EQ(routing.to == refused, routing.refusal.ends_with("\r\n")) << command.name;
    if (command.keys != redis::KeyShape::none && command.role != redis::Role::subscribe &&
        command.role != redis::Role::watch && command.name != "migrate" &&
        command.name != "memory") {
      EXPECT_EQ(routing.to, by_keys) << command.name;
    }
  }
}

TEST(RoutingTable, knows_the_keys_that_lead) {
  EXPECT_THAT(keys({"GET", "a"}), ElementsAre("a"));
  EXPECT_THAT(keys({"MSET", "a", "1", "b", "2"}), ElementsAre("a", "b"));
  EXPECT_THAT(keys({"EVAL", "x", "2", "a", "b", "c"}), ElementsAre("a", "b"));
  EXPECT_THAT(keys({"EVAL", "x", "0", "c"}), IsEmpty());
  EXPECT_THAT(keys({"ZUNIONSTORE", "d", "1", "a"}), ElementsAre("a", "d"));
  EXPECT_THAT(keys({"XREAD", "COUNT", "1", "STREAMS", "a", "b", "0", "0"}), ElementsAre("a", "b"));
  EXPECT_THAT(
      keys({"XREADGROUP", "GROUP", "streams", "c", "NOACK", "BLOCK", "1", "streams", "a", ">"}),
      ElementsAre("a"));
  EXPECT_THAT(keys({"XREADGROUP", "GROUP", "g", "c"}), IsEmpty());
  EXPECT_THAT(keys({"SORT", "a", "STORE", "b"}), ElementsAre("a"));
  EXPECT_THAT(keys({"JSON.SET", "a", "$", "1"}), ElementsAre("a"));
  EXPECT_THAT(keys({"DEBUG", "OBJECT", "a"}), ElementsAre("a"));
  EXPECT_THAT(keys({"MEMORY", "USAGE", "a", "SAMPLES", "5"}), ElementsAre("a"));
  EXPECT_THAT(keys({"GET"}), IsEmpty());
  EXPECT_THAT(keys({"NOSUCH"}), IsEmpty());
}

}  // namespace
}  // namespace cuckooguard::routing
