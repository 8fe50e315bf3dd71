#include <gtest/gtest.h>

#include "reply_text.h"
#include "upstream/inquiry.h"
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

ListedCommand only(const std::string& entry) {
  const std::vector<ListedCommand> commands = commands_of(*reply_of(array(entry)));
  return commands.size() == 1 ? commands.front() : ListedCommand{};
}

redis::KeyShape keys_of(const std::string& entry) {
  return only(entry).command.keys;
}

redis::Role role_of(const std::string& entry) {
  return only(entry).command.role;
}

TEST(CommandReply, is_read_as_redis_7_writes_it) {
  const ListedCommand get = only(get_of_redis_7());
  EXPECT_EQ(get.name, "get");
  EXPECT_EQ(get.arity, 2);
  EXPECT_TRUE(get.writes_no_key);
  EXPECT_EQ(get.command.role, redis::Role::read);
  ASSERT_EQ(get.command.keys, redis::KeyShape::range);
  EXPECT_EQ(get.command.first, 1);
  EXPECT_EQ(get.command.last, 1);
  EXPECT_EQ(get.command.step, 1);
}

TEST(CommandReply, of_a_module_says_where_its_keys_are) {
  const ListedCommand add =
      only(entry("TS.MADD", -4, array(status("write"), status("module")), {1, -1, 3}));
  EXPECT_EQ(add.name, "ts.madd");
  EXPECT_FALSE(add.writes_no_key);
  EXPECT_EQ(add.command.role, redis::Role::write);
  EXPECT_EQ(add.command.keys, redis::KeyShape::range);
  EXPECT_EQ(add.command.last, -1);
  EXPECT_EQ(add.command.step, 3);
}

TEST(CommandReply, that_cannot_say_where_the_keys_are_does_not) {
  constexpr auto kAnywhere = redis::KeyShape::anywhere;
  EXPECT_EQ(keys_of(entry("sort", -2, array(status("write"), status("movablekeys")), {1, 1, 1})),
            kAnywhere);
  EXPECT_EQ(keys_of(entry("xread", -4, array(status("readonly")), {0, 0, 0})), kAnywhere);
  EXPECT_EQ(keys_of(entry("odd", -4, array(status("write")), {1, 1, 0})), kAnywhere);
  EXPECT_EQ(keys_of(entry("far", -4, array(status("write")), {1000, 1000, 1})), kAnywhere);
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
  EXPECT_EQ(keys_of(container), kAnywhere);
}

TEST(CommandReply, what_is_not_said_to_be_readonly_writes) {
  EXPECT_EQ(role_of(entry("eval", -3, array(status("noscript")), {0, 0, 0})), redis::Role::write);
  EXPECT_EQ(role_of(entry("set", -3, array(status("write"), status("readonly")), {1, 1, 1})),
            redis::Role::write);
  EXPECT_EQ(role_of(entry("get", 2, array(status("readonly")), {1, 1, 1})), redis::Role::read);
}

// What comes back of it is no reply.
TEST(CommandReply, a_command_that_subscribes_is_transparent) {
  EXPECT_EQ(role_of(entry("zsubscribe", -2, array(status("pubsub")), {0, 0, 0})),
            redis::Role::unplaced);
  EXPECT_EQ(
      role_of(entry("x.subscribe", -2, array(status("pubsub"), status("readonly")), {0, 0, 0})),
      redis::Role::unplaced);
  EXPECT_EQ(role_of(entry("publish", 3, array(status("pubsub")), {0, 0, 0})), redis::Role::write);
}

TEST(CommandReply, only_commands_that_the_table_lacks_are_learned) {
  const Reply reply = reply_of(array(get_of_redis_7(),
                                     entry("bf.add", -4, array(status("write")), {1, -1, 2}),
                                     entry("ft.search", -2, array(status("readonly")), {0, 0, 0}),
                                     entry(std::string(redis::kLearnedNameBytesMax + 1, 'x'),
                                           1,
                                           array(status("readonly")),
                                           {0, 0, 0})));
  const redis::Commands commands{.learned = beyond_table(commands_of(*reply))};
  EXPECT_EQ(commands.learned.size(), 2U);
  EXPECT_EQ(commands.find_learned("get"), nullptr);
  const redis::Command* const add = commands.find_learned("BF.ADD");
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(add->role, redis::Role::write);
  EXPECT_EQ(add->keys, redis::KeyShape::range);
  EXPECT_EQ(add->last, -1);
  EXPECT_EQ(commands.find_learned("ft.search")->keys, redis::KeyShape::anywhere);
}

TEST(CommandReply, of_a_strange_shape_is_left_out) {
  for (const std::string& bytes : kStrange) {
    const Reply reply = reply_of(bytes);
    for (const ListedCommand& each : commands_of(*reply)) {
      EXPECT_EQ(each.command.keys, redis::KeyShape::anywhere) << bytes;
      EXPECT_EQ(each.command.role, redis::Role::write) << bytes;
    }
    const std::vector<redis::Command> commands{{.name = "get"}};
    EXPECT_TRUE(names_there(*reply, commands).none()) << bytes;
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
  const std::vector<redis::Command> commands{{.name = "get"}, {.name = "mget"}, {.name = "exists"}};
  const std::string other = entry("set", -3, array(status("write")), {1, 1, 1});
  // mget is switched off, SET was renamed to EXISTS.
  const Reply reply = reply_of(array(get_of_redis_7(), std::string("*-1\r\n"), other));
  EXPECT_EQ(names_there(*reply, commands), redis::CommandSet(0b001));
  EXPECT_TRUE(names_there(*reply_of(array(get_of_redis_7())), commands).none());
}

}  // namespace
}  // namespace cuckooguard::upstream
