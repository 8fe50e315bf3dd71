#include "upstream/command_reply.h"

#include <gtest/gtest.h>

#include "reply_text.h"
#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {
namespace {

const std::string kNone = array();

struct KeyPositions {
  int first;
  int last;
  int step;
};

// As Redis 6 writes it: no tips, key specs, subcommands.
std::string entry(const std::string& name,
                  int arity,
                  const std::string& flags,
                  const KeyPositions& keys) {
  return array(bulk(name),
               number(arity),
               flags,
               number(keys.first),
               number(keys.last),
               number(keys.step),
               array(status("@read")));
}

// GET of Redis 7.0.15.
std::string get_of_redis_7() {
  const std::string spec = array(
      bulk("flags"),
      array(status("RO"), status("access")),
      bulk("begin_search"),
      array(bulk("type"), bulk("index"), bulk("spec"), array(bulk("index"), number(1))),
      bulk("find_keys"),
      array(
          bulk("type"),
          bulk("range"),
          bulk("spec"),
          array(bulk("lastkey"), number(0), bulk("keystep"), number(1), bulk("limit"), number(0))));
  return array(bulk("get"),
               number(2),
               array(status("readonly"), status("fast")),
               number(1),
               number(1),
               number(1),
               array(status("@read"), status("@string")),
               kNone,
               array(spec),
               kNone);
}

CommandFacts only(const std::string& entry) {
  const std::vector<CommandFacts> commands = commands_of(*reply_of(array(entry)));
  return commands.size() == 1 ? commands.front() : CommandFacts{};
}

TEST(CommandReply, is_read_as_redis_7_writes_it) {
  const CommandFacts get = only(get_of_redis_7());
  EXPECT_EQ(get.name, "get");
  EXPECT_EQ(get.arity, 2);
  EXPECT_FALSE(get.writes);
  EXPECT_FALSE(get.blocks);
  ASSERT_TRUE(get.has_key_range);
  EXPECT_EQ(get.first, 1);
  EXPECT_EQ(get.last, 1);
  EXPECT_EQ(get.step, 1);
}

TEST(CommandReply, of_a_module_says_where_its_keys_are) {
  const CommandFacts add =
      only(entry("TS.MADD", -4, array(status("write"), status("module")), {1, -1, 3}));
  EXPECT_EQ(add.name, "ts.madd");
  EXPECT_TRUE(add.writes);
  EXPECT_TRUE(add.has_key_range);
  EXPECT_EQ(add.last, -1);
  EXPECT_EQ(add.step, 3);
}

TEST(CommandReply, that_cannot_say_where_the_keys_are_does_not) {
  EXPECT_FALSE(only(entry("sort", -2, array(status("write"), status("movablekeys")), {1, 1, 1}))
                   .has_key_range);
  EXPECT_FALSE(only(entry("xread", -4, array(status("readonly")), {0, 0, 0})).has_key_range);
  EXPECT_FALSE(only(entry("odd", -4, array(status("write")), {1, 1, 0})).has_key_range);
  EXPECT_FALSE(only(entry("far", -4, array(status("write")), {1000, 1000, 1})).has_key_range);
  const std::string container = array(bulk("x"),
                                      number(-2),
                                      kNone,
                                      number(1),
                                      number(1),
                                      number(1),
                                      kNone,
                                      kNone,
                                      kNone,
                                      array(get_of_redis_7()));
  EXPECT_FALSE(only(container).has_key_range);
}

TEST(CommandReply, what_is_not_said_to_be_readonly_writes) {
  EXPECT_TRUE(only(entry("eval", -3, array(status("noscript")), {0, 0, 0})).writes);
  EXPECT_TRUE(only(entry("set", -3, array(status("write"), status("readonly")), {1, 1, 1})).writes);
  EXPECT_FALSE(only(entry("get", 2, array(status("readonly")), {1, 1, 1})).writes);
}

TEST(CommandReply, tells_what_blocks_and_what_subscribes) {
  EXPECT_TRUE(
      only(entry("blpop", -3, array(status("write"), status("blocking")), {1, -2, 1})).blocks);
  EXPECT_TRUE(only(entry("zsubscribe", -2, array(status("pubsub")), {0, 0, 0})).subscribes);
  EXPECT_FALSE(only(entry("publish", 3, array(status("pubsub")), {0, 0, 0})).subscribes);
}

TEST(CommandReply, of_a_strange_shape_is_left_out) {
  for (const std::string& bytes : kStrange) {
    const Reply reply = reply_of(bytes);
    for (const CommandFacts& command : commands_of(*reply)) {
      EXPECT_FALSE(command.has_key_range) << bytes;
      EXPECT_TRUE(command.writes) << bytes;
    }
    const std::vector<std::string> names{"get"};
    EXPECT_EQ(names_there(*reply, names), std::vector<bool>{false}) << bytes;
  }
  const std::string good = get_of_redis_7();
  EXPECT_EQ(commands_of(*reply_of(array(std::string("*-1\r\n"), good, number(1)))).size(), 1U);
}

TEST(CommandReply, reads_no_more_than_its_limit) {
  std::string all = "*" + std::to_string(kCommandsMax + 1) + "\r\n";
  for (std::size_t i = 0; i <= kCommandsMax; ++i) {
    all += entry("c" + std::to_string(i), 1, kNone, {0, 0, 0});
  }
  EXPECT_EQ(commands_of(*reply_of(all)).size(), kCommandsMax);
}

TEST(CommandReply, a_name_is_there_if_it_names_the_command_itself) {
  const std::vector<std::string> names{"get", "mget", "exists"};
  const std::string other = entry("set", -3, array(status("write")), {1, 1, 1});
  // mget is switched off, SET was renamed to EXISTS.
  const Reply reply = reply_of(array(get_of_redis_7(), std::string("*-1\r\n"), other));
  EXPECT_EQ(names_there(*reply, names), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(names_there(*reply_of(array(get_of_redis_7())), names),
            (std::vector<bool>{false, false, false}));
}

}  // namespace
}  // namespace cuckooguard::upstream
