#include "debezium/stream_entry.h"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::debezium {
namespace {

using Fields = std::vector<std::string_view>;

std::expected<Message, std::string> read(const Fields& fields) {
  return message_of(fields, {});
}

TEST(StreamEntry, is_read_in_both_formats_of_the_sink) {
  for (const Fields& fields :
       {Fields{R"({"id":1})", R"({"op":"c"})"},
        Fields{"key", R"({"id":1})", "value", R"({"op":"c"})"},
        Fields{
            "key", R"({"id":1})", "value", R"({"op":"c"})", "__DEBEZIUM.NEWKEY", R"({"id":2})"}}) {
    const auto message = read(fields);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->key, R"({"id":1})");
    EXPECT_EQ(message->value, R"({"op":"c"})");
  }
}

TEST(StreamEntry, has_no_value_where_the_sink_says_default) {
  EXPECT_EQ(read({R"({"id":1})", "default"})->value, std::nullopt);
  EXPECT_EQ(read({"key", "default", "value", "{}"})->key, std::nullopt);
  const auto other = message_of(Fields{"nil", "null"}, {.key = "nil", .value = "null"});
  EXPECT_EQ(other->key, std::nullopt);
  EXPECT_EQ(other->value, std::nullopt);
}

TEST(StreamEntry, is_refused_if_it_is_of_neither_format) {
  for (const Fields& fields : {Fields{},
                               Fields{"key"},
                               Fields{"key", "1", "after", "{}"},
                               Fields{"key", "1", "value"},
                               Fields{"id", "1", "name", "Anne"}}) {
    EXPECT_FALSE(read(fields)) << fields.size();
  }
  EXPECT_EQ(read({"id", "1", "name", "Anne"}).error().find("Anne"), std::string::npos);
}

}  // namespace
}  // namespace cuckooguard::debezium
