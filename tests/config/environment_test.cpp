#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/parse.h"
#include "config/section.h"

namespace cuckooguard::config {
namespace {

using ::testing::HasSubstr;

const testing::Environment kVariables = {
    {"HOST", "redis"}, {"EMPTY", ""}, {"TRICK", "${HOST}"}, {"SECRET", "hunter2"}};

std::string expanded(std::string_view text) {
  const auto result = expand(text, testing::lookup_in(kVariables));
  return result ? *result : "error: " + result.error();
}

TEST(Environment, variables_are_put_in) {
  EXPECT_EQ(expanded("${HOST}:6379"), "redis:6379");
  EXPECT_EQ(expanded("${HOST}${HOST}"), "redisredis");
  EXPECT_EQ(expanded("a $HOST {x} $"), "a $HOST {x} $");
  EXPECT_EQ(expanded(""), "");
}

TEST(Environment, a_default_is_for_unset_and_empty) {
  EXPECT_EQ(expanded("${NOPE:-here}"), "here");
  EXPECT_EQ(expanded("${EMPTY:-here}"), "here");
  EXPECT_EQ(expanded("${HOST:-here}"), "redis");
  EXPECT_EQ(expanded("${NOPE:-}x"), "x");
  EXPECT_EQ(expanded("${EMPTY}x"), "x");
}

TEST(Environment, an_unset_variable_is_named) {
  EXPECT_THAT(expanded("${NOPE}"),
              HasSubstr("needs the environment variable NOPE, which is not set"));
}

TEST(Environment, what_a_variable_holds_is_not_expanded_again) {
  EXPECT_EQ(expanded("${TRICK}"), "${HOST}");
}

TEST(Environment, a_doubled_dollar_is_literal) {
  EXPECT_EQ(expanded("$${HOST}"), "${HOST}");
  EXPECT_EQ(expanded("x$${${HOST}"), "x${redis");
}

TEST(Environment, what_is_not_closed_or_no_name_is_an_error) {
  EXPECT_THAT(expanded("${HOST"), HasSubstr("without a closing }"));
  EXPECT_THAT(expanded("${}"), HasSubstr("does not name a variable"));
  EXPECT_THAT(expanded("${a b}"), HasSubstr("does not name a variable"));
}

TEST(Environment, of_the_process_is_read) {
  EXPECT_EQ(process_environment()("PATH"),
            std::string(std::getenv("PATH")));  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(process_environment()("CUCKOOGUARD_SURELY_UNSET"), std::nullopt);
}

}  // namespace
}  // namespace cuckooguard::config
