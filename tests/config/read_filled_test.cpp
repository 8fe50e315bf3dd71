#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parse.h"

namespace cuckooguard::config {
namespace {

using testing::config_of;
using ::testing::ElementsAre;
using testing::errors_of;
using ::testing::HasSubstr;

TEST(ReadFilled, filters_are_asked_for_by_their_name_or_their_key) {
  const Config config = config_of(
      "filters: { named: { seen: {}, ids: { key: 'bf:ids', kind: cuckoo, capacity: 5k } } }\n");
  ASSERT_EQ(config.filters.named.size(), 2U);
  EXPECT_EQ(config.filters.named[0].redis_key(), "seen");
  EXPECT_EQ(config.filters.named[0].kind, FilledKind::bloom);
  EXPECT_EQ(config.filters.named[1].redis_key(), "bf:ids");
  EXPECT_EQ(config.filters.named[1].capacity, 5000U);
  EXPECT_TRUE(config.filters.is_used());
  EXPECT_FALSE(Config{}.filters.is_used());
}

TEST(ReadFilled, one_key_is_one_filter) {
  EXPECT_THAT(errors_of("filters: { named: { a: { key: x }, b: { key: x } } }\n"),
              ElementsAre(HasSubstr("is already the key of another filter")));
  EXPECT_THAT(errors_of("sources: { s: { type: file, path: /f } }\n"
                        "namespaces:\n"
                        "  n: { keys: 'k:{id}', source: { from: s }, commands: { key: x } }\n"
                        "filters: { named: { x: {} } }\n"),
              ElementsAre(HasSubstr("is already an application filter")));
}

TEST(ReadFilled, keys_that_may_be_two_things_are_refused) {
  EXPECT_THAT(errors_of("filters: { allow_reserve: 'a:{x}', dedupe: { keys: 'a:{y}' } }\n"),
              ElementsAre(HasSubstr("filters: ")));
}

TEST(ReadFilled, a_bloom_filter_has_no_deletes) {
  EXPECT_THAT(errors_of("filters: { named: { a: { deletes: exact } } }\n"),
              ElementsAre(HasSubstr("kind: cuckoo (CF.DEL)")));
}

TEST(ReadFilled, what_guards_share_needs_a_secret) {
  EXPECT_THAT(errors_of("filters: { durability: redis }\n"),
              ElementsAre(HasSubstr("durability: redis needs secret_file")));
  EXPECT_THAT(errors_of("filters: { log: 'a{b}' }\n"), ElementsAre(HasSubstr("without braces")));
}

}  // namespace
}  // namespace cuckooguard::config
