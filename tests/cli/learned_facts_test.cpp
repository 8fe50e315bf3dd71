#include "cli/learned_facts.h"

#include <gtest/gtest.h>

namespace cuckooguard::cli {
namespace {

std::size_t index_of(std::string_view name) {
  return redis::command_index(redis::find_command(name));
}

TEST(LearnedFacts, questions_and_answers_are_in_the_same_order) {
  const upstream::Questions questions = questions_for({});
  upstream::Facts facts;
  facts.commands.emplace();
  facts.commands->has_built_in.assign(questions.built_in.size(), true);
  upstream::UserFacts user{.name = "bob", .keys = {upstream::KeyAccess::read_write}};
  for (std::size_t i = 0; i < questions.built_in.size(); ++i) {
    facts.commands->has_built_in[i] = questions.built_in[i] != "mget";
  }
  for (const upstream::AnswerableCommand& command : questions.answerable) {
    user.commands_on_writable.push_back(command.name == "exists");
  }
  facts.users = {user};
  const redis::Reading reading = reading_of(facts, config::Acl::ask);
  EXPECT_FALSE(reading.commands->listed[index_of("mget")]);
  EXPECT_TRUE(reading.commands->listed[index_of("get")]);
  const redis::UserAccess* const bob = reading.users.find("bob");
  ASSERT_NE(bob, nullptr);
  EXPECT_TRUE(bob->may(index_of("exists"), 0));
  EXPECT_FALSE(bob->may(index_of("get"), 0));
  EXPECT_FALSE(bob->may(index_of("exists"), 1));
}

TEST(LearnedFacts, only_commands_that_the_table_lacks_are_learned) {
  upstream::Facts facts;
  facts.commands.emplace();
  facts.commands->all = {
      {.name = "get", .writes = true},
      {.name = "bf.add", .writes = true, .has_key_range = true, .first = 1, .last = -1, .step = 2},
      {.name = "ft.search", .writes = false}};
  const redis::Reading reading = reading_of(facts, config::Acl::ask);
  EXPECT_EQ(reading.commands->find_learned("get"), nullptr);
  const redis::Command* const add = reading.commands->find_learned("BF.ADD");
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(add->role, redis::Role::write);
  EXPECT_EQ(add->keys, redis::KeyShape::range);
  EXPECT_EQ(add->last, -1);
  EXPECT_EQ(reading.commands->find_learned("ft.search")->keys, redis::KeyShape::anywhere);
}

// What comes back of it is no reply.
TEST(LearnedFacts, a_command_that_subscribes_is_transparent) {
  upstream::Facts facts;
  facts.commands.emplace();
  facts.commands->all = {{.name = "x.subscribe", .writes = false, .subscribes = true},
                         {.name = "x.listen", .writes = true, .subscribes = true}};
  const redis::Reading reading = reading_of(facts, config::Acl::ask);
  for (const char* const name : {"x.subscribe", "x.listen"}) {
    EXPECT_EQ(reading.commands->find_learned(name)->role, redis::Role::unplaced) << name;
  }
}

TEST(LearnedFacts, what_the_guard_may_not_ask_is_graver_if_keys_pass) {
  using State = redis::ControlReport::State;
  EXPECT_EQ(report_of({}).state, State::allowed);
  EXPECT_EQ(report_of({.why = "NOPERM", .hint = "ACL"}).state, State::limited);
  EXPECT_EQ(report_of({.why = "NOPERM", .hint = "ACL", .passes = true}),
            (redis::ControlReport{.state = State::not_allowed, .why = "NOPERM", .hint = "ACL"}));
  EXPECT_EQ(report_of({.why = "odd", .passes = true, .is_unsupported = true}).state,
            State::unsupported);
}

TEST(LearnedFacts, trust_knows_everybody_but_those_of_a_cluster) {
  upstream::Facts facts;
  facts.needs_password = false;
  EXPECT_NE(reading_of(facts, config::Acl::trust).users.find("anybody"), nullptr);
  EXPECT_TRUE(reading_of(facts, config::Acl::trust).users.default_needs_no_password);
  EXPECT_EQ(reading_of(facts, config::Acl::ask).users.find("anybody"), nullptr);
  facts.is_cluster = true;
  EXPECT_EQ(reading_of(facts, config::Acl::trust).users.find("anybody"), nullptr);
}

}  // namespace
}  // namespace cuckooguard::cli
