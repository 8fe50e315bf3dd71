#include "redis/command_table.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/newer_commands.h"
#include "redis/redis_7_0_commands.h"

namespace cuckooguard::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Fact {
  std::string name;        // of the command, without its subcommand
  std::string subcommand;  // if any
  bool writes = false;
  bool reads = false;
  int first = 0;
  int last = 0;
  int step = 0;
  bool movable = false;
};

std::vector<Fact> facts() {
  std::vector<Fact> facts;
  std::string all;
  for (const std::string_view server :
       {kRedis70Commands, kRedis80Commands, kValkey80Commands, kValkey91Commands}) {
    all += server;
  }
  std::istringstream lines{all};
  std::string flag;
  std::string movable;
  Fact fact;
  while (lines >> fact.name >> flag >> fact.first >> fact.last >> fact.step >> movable) {
    fact.writes = flag == "write";
    fact.reads = flag == "readonly";
    fact.movable = movable == "movable";
    const std::size_t bar = fact.name.find('|');
    fact.subcommand = bar == std::string::npos ? "" : fact.name.substr(bar + 1);
    fact.name.resize(std::min(bar, fact.name.size()));
    facts.push_back(fact);
  }
  return facts;
}

std::vector<std::string_view> keys_of(std::vector<std::string_view> arguments) {
  const KeyIndexes keys = key_indexes(find_command(arguments.front()), arguments);
  std::vector<std::string_view> found;
  for (std::size_t i = keys.first; i < keys.end; i += keys.step) {
    found.push_back(arguments.at(i));
  }
  if (keys.also != 0) {
    found.push_back(arguments.at(keys.also));
  }
  return found;
}

TEST(CommandTable, knows_every_command_of_redis_and_valkey_and_no_other) {
  std::set<std::string> redis;
  for (const Fact& fact : facts()) {
    redis.insert(fact.name);
    EXPECT_EQ(find_command(fact.name).name, fact.name);
  }
  EXPECT_EQ(redis.size(), 269);
  for (const Command& command : all_commands()) {
    EXPECT_TRUE(redis.contains(std::string(command.name))) << command.name;
  }
  EXPECT_EQ(all_commands().size(), redis.size());
}

TEST(CommandTable, finds_names_in_any_case) {
  for (const Command& command : all_commands()) {
    std::string upper(command.name);
    std::ranges::transform(upper, upper.begin(), [](char c) {
      return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    });
    EXPECT_EQ(&find_command(upper), &find_command(command.name)) << upper;
    std::string mixed(command.name);
    mixed.back() = upper.back();
    EXPECT_EQ(&find_command(mixed), &find_command(command.name)) << mixed;
  }
}

TEST(CommandTable, a_name_that_is_almost_a_commands_is_unknown) {
  for (const Command& command : all_commands()) {
    const std::string name(command.name);
    for (std::size_t i = 0; i < name.size(); ++i) {
      // One bit apart like 'A' and 'a', but no letters.
      const bool is_letter = std::isalpha(static_cast<unsigned char>(name[i])) != 0;
      const char twin = static_cast<char>(name[i] ^ (is_letter ? 0x40 : 0x20));
      for (const char other : {twin, '`', '@', '{', '[', '\0', '\xe1', '!'}) {
        std::string wrong = name;
        wrong[i] = other;
        EXPECT_EQ(find_command(wrong).role, Role::unknown) << testing::PrintToString(wrong);
      }
    }
    EXPECT_EQ(find_command(name + '!').role, Role::unknown) << name;
    EXPECT_EQ(find_command(name + name).role, Role::unknown) << name;
  }
  EXPECT_EQ(find_command("").role, Role::unknown);
  EXPECT_EQ(find_command(std::string(100, 'a')).role, Role::unknown);
}

TEST(CommandTable, every_command_that_writes_is_a_write) {
  for (const Fact& fact : facts()) {
    // CLUSTER FLUSHSLOT takes keys away, but names none.
    if (fact.writes && !fact.name.ends_with("getex") && fact.name != "cluster") {
      EXPECT_EQ(find_command(fact.name).role, Role::write) << fact.name;
    }
  }
  for (const std::string_view name : {"getex", "hgetex"}) {
    EXPECT_EQ(find_command(name).role, Role::getex) << "it writes an expiry, but makes no key";
  }
  for (const std::string_view script : {"eval", "evalsha", "fcall"}) {
    EXPECT_EQ(find_command(script).role, Role::write) << "it may";
  }
}

TEST(CommandTable, no_command_that_only_reads_is_a_write) {
  for (const Fact& fact : facts()) {
    const Role role = find_command(fact.name).role;
    if (fact.reads && fact.subcommand.empty() && role != Role::plain) {
      EXPECT_THAT(role, testing::AnyOf(Role::read, Role::get, Role::mget, Role::exists))
          << fact.name;
    }
  }
}

TEST(CommandTable, keys_stand_where_redis_says) {
  for (const Fact& fact : facts()) {
    const Command& command = find_command(fact.name);
    if (fact.movable || fact.first == 0) {
      continue;
    }
    if (command.role == Role::plain || command.role == Role::unplaced) {
      continue;  // channels
    }
    EXPECT_EQ(command.keys, KeyShape::range) << fact.name;
    EXPECT_EQ(command.first, fact.first) << fact.name;
    EXPECT_EQ(command.last, fact.last) << fact.name;
    EXPECT_EQ(command.step, fact.step) << fact.name;
  }
}

TEST(CommandTable, a_movable_key_of_a_write_is_never_overlooked) {
  for (const Fact& fact : facts()) {
    const Command& command = find_command(fact.name);
    if (!fact.movable || command.role != Role::write) {
      continue;
    }
    EXPECT_THAT(command.keys, testing::AnyOf(KeyShape::counted, KeyShape::anywhere)) << fact.name;
    if (fact.first != 0 && command.keys == KeyShape::counted) {
      EXPECT_EQ(command.first, fact.first) << fact.name << ": the destination";
    }
  }
}

TEST(CommandTable, ranges_reach_as_far_as_the_command) {
  EXPECT_THAT(keys_of({"SET", "k", "v", "EX", "5"}), ElementsAre("k"));
  EXPECT_THAT(keys_of({"DEL", "a", "b", "c"}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(keys_of({"MSET", "a", "1", "b", "2"}), ElementsAre("a", "b"));
  EXPECT_THAT(keys_of({"BLPOP", "a", "b", "0"}), ElementsAre("a", "b"));
  EXPECT_THAT(keys_of({"BITOP", "AND", "to", "a", "b"}), ElementsAre("to", "a", "b"));
  EXPECT_THAT(keys_of({"COPY", "a", "b", "DB", "1"}), ElementsAre("a", "b"));
  EXPECT_THAT(keys_of({"XGROUP", "CREATE", "k", "g", "$"}), ElementsAre("k"));
}

TEST(CommandTable, counted_keys_are_those_behind_their_number) {
  EXPECT_THAT(keys_of({"EVAL", "script", "2", "a", "b", "argument"}), ElementsAre("a", "b"));
  EXPECT_THAT(keys_of({"FCALL", "f", "0", "argument"}), IsEmpty());
  EXPECT_THAT(keys_of({"ZUNIONSTORE", "to", "2", "a", "b", "WEIGHTS", "1", "2"}),
              ElementsAre("a", "b", "to"));
  EXPECT_THAT(keys_of({"LMPOP", "1", "a", "LEFT"}), ElementsAre("a"));
  EXPECT_THAT(keys_of({"BZMPOP", "0.5", "2", "a", "b", "MIN"}), ElementsAre("a", "b"));
  EXPECT_THAT(keys_of({"MSETEX", "2", "a", "1", "b", "2", "EX", "5"}), ElementsAre("a", "b"));
}

TEST(CommandTable, keys_of_xread_stand_between_streams_and_their_ids) {
  EXPECT_THAT(keys_of({"XREAD", "STREAMS", "a", "b", "0", "$"}), ElementsAre("a", "b"));
  EXPECT_THAT(keys_of({"XREAD", "count", "2", "Block", "0", "streams", "a", "0"}),
              ElementsAre("a"));
  EXPECT_THAT(keys_of({"XREAD", "STREAMS", "streams", "0"}), ElementsAre("streams"));
  EXPECT_THAT(keys_of({"XREAD", "COUNT", "STREAMS", "a", "0"}), IsEmpty());
  EXPECT_THAT(keys_of({"XREAD", "STREAMS"}), IsEmpty());
  EXPECT_THAT(keys_of({"XREAD", "COUNT"}), IsEmpty());
  EXPECT_THAT(keys_of({"XREAD"}), IsEmpty());
}

TEST(CommandTable, a_command_that_redis_will_refuse_leads_nowhere) {
  EXPECT_THAT(keys_of({"SET"}), IsEmpty());
  EXPECT_THAT(keys_of({"DEL"}), IsEmpty());
  EXPECT_THAT(keys_of({"BLPOP"}), IsEmpty());
  EXPECT_THAT(keys_of({"BLPOP", "a"}), IsEmpty());
  EXPECT_THAT(keys_of({"BITOP", "AND"}), IsEmpty());
  EXPECT_THAT(keys_of({"EVAL"}), IsEmpty());
  EXPECT_THAT(keys_of({"EVAL", "script"}), IsEmpty());
  EXPECT_THAT(keys_of({"EVAL", "script", "1"}), IsEmpty());
  EXPECT_THAT(keys_of({"EVAL", "script", "2", "a"}), IsEmpty());
  EXPECT_THAT(keys_of({"EVAL", "script", "-1", "a"}), IsEmpty());
  EXPECT_THAT(keys_of({"EVAL", "script", "1x", "a"}), IsEmpty());
  EXPECT_THAT(keys_of({"EVAL", "script", "18446744073709551615", "a"}), IsEmpty());
  EXPECT_THAT(keys_of({"ZUNIONSTORE"}), IsEmpty());
  EXPECT_THAT(keys_of({"ZUNIONSTORE", "to", "9", "a"}), ElementsAre("to"));
  EXPECT_THAT(keys_of({"MSET", "a", "1", "b"}), ElementsAre("a", "b"));
  EXPECT_THAT(keys_of({"MSETEX", "2", "a", "1", "b"}), IsEmpty());
  EXPECT_THAT(keys_of({"MSETEX", "9223372036854775808", "a", "1"}), IsEmpty());
}

TEST(CommandTable, any_argument_may_be_a_key_where_the_table_cannot_tell) {
  EXPECT_THAT(keys_of({"SORT", "a", "STORE", "b"}), testing::IsSupersetOf({"a", "b"}));
  EXPECT_THAT(keys_of({"MIGRATE", "host", "1", "", "0", "5", "KEYS", "a", "b"}),
              testing::IsSupersetOf({"a", "b"}));
  EXPECT_THAT(keys_of({"JSON.SET", "a", "$", "1"}), ElementsAre("a", "$", "1"));
}

// A streamed command is judged argument by argument: what is a key of the whole command may be one
// then.
TEST(CommandTable, an_argument_that_is_a_key_may_be_one_when_streamed) {
  const std::vector<std::vector<std::string_view>> commands = {
      {"SET", "k", "v"},
      {"MSET", "a", "1", "b", "2"},
      {"MSETEX", "2", "a", "1", "b", "2", "EX", "5"},
      {"BLPOP", "a", "b", "0"},
      {"EVAL", "script", "2", "a", "b", "argument"},
      {"ZUNIONSTORE", "to", "1", "a"},
      {"SORT", "a", "STORE", "b"},
      {"JSON.SET", "a", "$", "1"},
  };
  for (const auto& arguments : commands) {
    const Command& command = find_command(arguments.front());
    const auto keys = keys_of(arguments);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const bool is_key = std::ranges::find(keys, arguments[i]) != keys.end();
      if (is_key) {
        EXPECT_TRUE(may_be_key(command, i, arguments.size())) << arguments[i];
      } else if (command.keys == KeyShape::range) {
        EXPECT_FALSE(may_be_key(command, i, arguments.size())) << arguments[i];
      }
    }
  }
  EXPECT_FALSE(may_be_key(find_command("PING"), 1, 2));
  EXPECT_FALSE(may_be_key(find_command("BLPOP"), 1, 0)) << "no command is that short";
}

}  // namespace
}  // namespace cuckooguard::redis
