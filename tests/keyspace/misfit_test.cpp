#include "keyspace/misfit.h"

#include <string>

#include <gtest/gtest.h>

#include "keyspace/random_keyspace.h"

namespace cuckooguard::keyspace {
namespace {

using testing::must_build;
using testing::must_parse;

Keyspace shop() {
  return must_build(
      {{"items", {must_parse("item:{id}")}, false},
       {"users", {must_parse("user:{id:uint64}"), must_parse("u:{id:uint64}")}, false}});
}

TEST(Misfit, names_the_template_that_the_key_goes_along_with_the_furthest_and_the_byte) {
  const Misfit misfit = misfit_of(shop(), "users:42");
  EXPECT_EQ(misfit.nearest, "user:{id:uint64} of namespace users");
  EXPECT_EQ(misfit.why, R"(at byte 4, before "s:42", the template has ":")");
  EXPECT_EQ(misfit_of(shop(), "item:1:2").nearest, "item:{id} of namespace items");
}

TEST(Misfit, of_a_key_that_fits_but_for_a_value_says_so) {
  const Misfit misfit = misfit_of(shop(), "user:007");
  EXPECT_EQ(misfit.nearest, "user:{id:uint64} of namespace users");
  EXPECT_TRUE(misfit.why.starts_with("it matches, but a value is not a canonical integer"))
      << misfit.why;
}

TEST(Misfit, of_a_key_with_another_spelling_names_the_placeholder) {
  const Keyspace keyspace = must_build({{"days", {must_parse("day:{shop}:{d:date}")}, false}});
  const Misfit misfit = misfit_of(keyspace, "day:a:20240229");
  EXPECT_EQ(misfit.nearest, "day:{shop}:{d:date} of namespace days");
  EXPECT_TRUE(misfit.why.starts_with(
      "it matches, but the value of {d:date} is not spelled as PostgreSQL prints"))
      << misfit.why;
}

// The longer prefix is not sure of it, so that the other one, which would be, does not get it.
TEST(Misfit, does_not_name_a_template_that_has_the_key_but_for_another_one) {
  const Keyspace keyspace = must_build({{"all", {must_parse("{any:rest}")}, false},
                                        {"users", {must_parse("user:{id:uint64}")}, false}});
  EXPECT_EQ(misfit_of(keyspace, "user:x").nearest, "user:{id:uint64} of namespace users");
}

TEST(Misfit, without_a_template_to_name_says_why_there_is_none) {
  EXPECT_EQ(misfit_of(must_build({}), "user:1").why, "the configuration has no namespaces");
  const Misfit too_long = misfit_of(shop(), std::string(kKeyBytesMax + 1, 'u'));
  EXPECT_EQ(too_long.nearest, "");
  EXPECT_EQ(too_long.why, "it is longer than 16384 bytes");
}

}  // namespace
}  // namespace cuckooguard::keyspace
