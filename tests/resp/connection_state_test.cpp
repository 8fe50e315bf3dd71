#include "resp/connection_state.h"

#include <gtest/gtest.h>

namespace cuckooguard::resp {
namespace {

const Login kShop{.user = "shop", .secret = "word"};

TEST(Greeting, says_nothing_to_a_connection_that_is_so_already) {
  const ConnectionState state{
      .version = Version::resp3, .login = kShop, .db = 2, .labels = {.name = "web"}};
  const auto greeting = resp::greeting(state, state);
  ASSERT_TRUE(greeting);
  EXPECT_EQ(greeting->commands, "");
  EXPECT_EQ(greeting->replies, 0U);
}

TEST(Greeting, says_all_that_differs_in_as_few_commands_as_replies) {
  const auto greeting = resp::greeting({},
                                       {.version = Version::resp3,
                                        .login = kShop,
                                        .db = 2,
                                        .labels = {.name = "web", .library = "lib"}});
  ASSERT_TRUE(greeting);
  EXPECT_EQ(greeting->commands,
            "*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$4\r\nshop\r\n$4\r\nword\r\n"
            "*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n"
            "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$3\r\nweb\r\n"
            "*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$8\r\nLIB-NAME\r\n$3\r\nlib\r\n");
  EXPECT_EQ(greeting->replies, 4U);
  EXPECT_EQ(greeting->labels, 2U);
}

TEST(Greeting, logs_in_by_the_form_that_was_used) {
  EXPECT_EQ(greeting({}, {.login = Login{.user = "", .secret = "w"}})->commands,
            "*2\r\n$4\r\nAUTH\r\n$1\r\nw\r\n");
  EXPECT_EQ(greeting({}, {.login = Login{.user = "default", .secret = "w"}})->commands,
            "*3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$1\r\nw\r\n");
  EXPECT_EQ(greeting({}, {.login = kShop})->commands,
            "*3\r\n$4\r\nAUTH\r\n$4\r\nshop\r\n$4\r\nword\r\n");
}

TEST(Greeting, takes_a_name_away_again) {
  EXPECT_EQ(greeting({.labels = {.name = "web"}}, {})->commands,
            "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$0\r\n\r\n");
}

TEST(Greeting, makes_a_reader_of_a_replica_and_ends_it) {
  EXPECT_EQ(greeting({}, {.reads_replica = true})->commands, "*1\r\n$8\r\nREADONLY\r\n");
  EXPECT_EQ(greeting({.reads_replica = true}, {})->commands, "*1\r\n$9\r\nREADWRITE\r\n");
}

TEST(Greeting, logs_nobody_out) {
  EXPECT_EQ(greeting({.login = kShop}, {}), std::nullopt);
}

}  // namespace
}  // namespace cuckooguard::resp
