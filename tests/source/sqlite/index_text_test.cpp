#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "sqlite/trigger_log.h"

namespace cuckooguard::source::sqlite {
namespace {

using Parts = std::vector<std::string>;

// The parts, and then the condition.
std::optional<Parts> text_of(std::string_view create_index) {
  auto text = read_index_text(create_index);
  if (!text) {
    return std::nullopt;
  }
  text->parts.push_back(text->condition);
  return text->parts;
}

Parts text(Parts parts, const std::string& condition = "") {
  parts.push_back(condition);
  return parts;
}

TEST(SqliteIndexText, is_parts_and_condition) {
  EXPECT_EQ(text_of("CREATE UNIQUE INDEX i ON t(a)"), text({"a"}));
  EXPECT_EQ(text_of("CREATE UNIQUE INDEX i ON t ( lower(a) , b + 1 )"),
            text({"lower(a)", "b + 1"}));
  EXPECT_EQ(text_of("CREATE UNIQUE INDEX i ON t(a) WHERE b IS NULL"), text({"a"}, "b IS NULL"));
  EXPECT_EQ(text_of("CREATE UNIQUE INDEX i ON t(f(a, (b)))where(b)"), text({"f(a, (b))"}, "(b)"));
}

TEST(SqliteIndexText, leaves_out_the_order_and_nothing_that_only_ends_like_it) {
  EXPECT_EQ(text_of("CREATE UNIQUE INDEX i ON t(a DESC, (b)asc, c COLLATE NOCASE Desc)"),
            text({"a", "(b)", "c COLLATE NOCASE"}));
  EXPECT_EQ(text_of("CREATE UNIQUE INDEX i ON t(desc, a_desc, \"x desc\", [y asc])"),
            text({"desc", "a_desc", "\"x desc\"", "[y asc]"}));
}

TEST(SqliteIndexText, is_read_over_quotes_and_comments) {
  EXPECT_EQ(text_of("CREATE UNIQUE INDEX \"i(\" ON [t(] (a || '),' /* ) */, -- )\n `b)`)"),
            text({"a || '),'", "`b)`"}));
  EXPECT_EQ(text_of("CREATE UNIQUE INDEX i ON t(a || 'it''s, ') WHERE a <> '--' -- b"),
            text({"a || 'it''s, '"}, "a <> '--'"));
}

TEST(SqliteIndexText, has_the_names_of_what_it_speaks_of) {
  const auto text = read_index_text(
      "CREATE UNIQUE INDEX i ON t(lower(a1), [b c] || \"d\"\"e\") WHERE `f` <> 'g' AND \xc3\xa9 > "
      "1");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->words, (Parts{"lower", "a1", "b c", "d\"e", "f", "g", "AND", "\xc3\xa9", "1"}));
}

TEST(SqliteIndexText, is_nothing_if_it_is_none) {
  for (const char* const none : {"",
                                 "CREATE UNIQUE INDEX i",
                                 "CREATE UNIQUE INDEX i ON t(a",
                                 "CREATE UNIQUE INDEX i ON t(a, )",
                                 "CREATE UNIQUE INDEX i ON t('a)",
                                 "CREATE UNIQUE INDEX i ON t()",
                                 "CREATE UNIQUE INDEX i ON t('a')",
                                 "CREATE UNIQUE INDEX i ON t(b, 'a' COLLATE NOCASE DESC)",
                                 "CREATE UNIQUE INDEX i ON t(a) b",
                                 "CREATE UNIQUE INDEX i ON t(a) WHERE"}) {
    EXPECT_EQ(read_index_text(none), std::nullopt) << none;
  }
}

}  // namespace
}  // namespace cuckooguard::source::sqlite
