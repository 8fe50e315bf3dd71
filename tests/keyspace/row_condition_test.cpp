#include "keyspace/row_condition.h"

#include <gtest/gtest.h>

namespace cuckooguard::keyspace {
namespace {

using Values = std::vector<std::optional<std::string_view>>;

RowCondition parsed(std::string_view text) {
  auto condition = RowCondition::parse(text);
  EXPECT_TRUE(condition) << text << ": " << condition.error();
  return condition.value_or(RowCondition{});
}

bool holds(std::string_view text, const Values& values) {
  return parsed(text).holds(values);
}

std::string refusal(std::string_view text) {
  const auto condition = RowCondition::parse(text);
  EXPECT_FALSE(condition) << text;
  return condition ? std::string{} : condition.error();
}

TEST(RowCondition, asks_for_null) {
  EXPECT_TRUE(holds("deleted_at IS NULL", {std::nullopt}));
  EXPECT_FALSE(holds("deleted_at IS NULL", {"2024-01-01"}));
  EXPECT_FALSE(holds("deleted_at IS NULL", {""})) << "an empty text is no NULL";
  EXPECT_FALSE(holds("deleted_at is not null", {std::nullopt}));
  EXPECT_TRUE(holds("deleted_at is not null", {""}));
}

TEST(RowCondition, compares_bytes) {
  EXPECT_TRUE(holds("status = 'live'", {"live"}));
  EXPECT_FALSE(holds("status = 'live'", {"Live"}));
  EXPECT_FALSE(holds("status = 'live'", {"live "}));
  EXPECT_TRUE(holds("status <> 'live'", {"Live"}));
  EXPECT_FALSE(holds("status <> 'live'", {"live"}));
  EXPECT_TRUE(holds("kind = 7", {"7"}));
  EXPECT_FALSE(holds("kind = 7", {"07"}));
  EXPECT_TRUE(holds("kind = -7", {"-7"}));
  EXPECT_TRUE(holds("kind = 18446744073709551615", {"18446744073709551615"}));
  EXPECT_TRUE(holds("status = 'it''s'", {"it's"}));
  EXPECT_TRUE(holds("status = ''", {""}));
}

TEST(RowCondition, takes_bits_and_truth_values_for_the_integers_that_they_are) {
  EXPECT_EQ(parsed("a = b'101'"), parsed("a = 5"));
  EXPECT_EQ(parsed("a IN (B'0', true)").text(), parsed("a IN (0, 1)").text());
  EXPECT_EQ(parsed("a <> False").text(), parsed("a <> 0").text());
  EXPECT_TRUE(holds("a = b'" + std::string(64, '1') + "'", {"18446744073709551615"}));
  EXPECT_TRUE(holds("a = 'true'", {"true"})) << "a text is none";
  for (const std::string_view text :
       {"a = b''", "a = b'2'", "a = b'1", "a = b'-1'", "a = truth", "a = b 1"}) {
    refusal(text);
  }
  refusal("a = b'1" + std::string(64, '0') + "'");
  EXPECT_TRUE(parsed("a = TRUE").use_of(0).has_integers);
  EXPECT_TRUE(parsed("a = b'1'").use_of(0).has_integers);
}

TEST(RowCondition, takes_one_of_a_list) {
  for (const std::string_view value : {"1", "2", "x"}) {
    EXPECT_TRUE(holds("kind IN (2, 1, 'x')", {value})) << value;
  }
  EXPECT_FALSE(holds("kind IN (2, 1, 'x')", {"3"}));
  EXPECT_TRUE(holds("kind in(5)", {"5"}));
}

TEST(RowCondition, finds_null_neither_equal_nor_unequal) {
  EXPECT_FALSE(holds("status = 'live'", {std::nullopt}));
  EXPECT_FALSE(holds("status <> 'live'", {std::nullopt}));
  EXPECT_FALSE(holds("status IN ('live')", {std::nullopt}));
}

TEST(RowCondition, holds_where_all_its_terms_do) {
  const std::string_view text = "a = 1 AND b IS NULL and a <> 2 AND `c d` = 'x'";
  const RowCondition condition = parsed(text);
  EXPECT_EQ(std::vector<std::string>(condition.columns().begin(), condition.columns().end()),
            (std::vector<std::string>{"a", "b", "c d"}));
  EXPECT_TRUE(holds(text, {"1", std::nullopt, "x"}));
  EXPECT_FALSE(holds(text, {"1", "", "x"}));
  EXPECT_FALSE(holds(text, {"3", std::nullopt, "x"}));
  EXPECT_FALSE(holds(text, {"1", std::nullopt, "y"}));
}

TEST(RowCondition, without_a_term_holds_for_every_row) {
  EXPECT_TRUE(RowCondition{}.holds({}));
  EXPECT_TRUE(RowCondition{}.columns().empty());
}

TEST(RowCondition, finds_its_columns_in_a_wider_row) {
  const RowCondition condition = parsed("a = 1 AND b IS NULL");
  const std::vector<std::size_t> places = {2, 0};
  EXPECT_TRUE(condition.holds(Values{std::nullopt, "x", "1"}, places));
  EXPECT_FALSE(condition.holds(Values{"1", "x", "1"}, places));
  EXPECT_FALSE(condition.holds(Values{std::nullopt, "1", "x"}, places));
}

TEST(RowCondition, says_what_it_asks_of_a_column) {
  const RowCondition condition =
      parsed("a IS NULL AND b IS NOT NULL AND c = 'x' AND c <> '7' AND d IN (7, 'y') AND a = 'z'");
  const auto literals = [&condition](std::size_t column) {
    return condition.use_of(column).literals;
  };
  EXPECT_TRUE(condition.use_of(0).asks_is_null);
  EXPECT_FALSE(condition.use_of(1).asks_is_null);
  EXPECT_TRUE(condition.use_of(0).compares());
  EXPECT_FALSE(condition.use_of(1).compares());
  EXPECT_EQ(literals(2), (std::vector<std::string_view>{"x", "7"}));
  EXPECT_EQ(literals(3), (std::vector<std::string_view>{"7", "y"}));
  EXPECT_FALSE(condition.use_of(2).only_excludes) << "c = 'x', too";
  EXPECT_TRUE(parsed("a <> 'x' AND a <> 'y' AND a IS NOT NULL").use_of(0).only_excludes);
  EXPECT_FALSE(parsed("a <> 'x' AND a IN ('y')").use_of(0).only_excludes);
  EXPECT_FALSE(condition.use_of(2).has_integers);
  EXPECT_TRUE(condition.use_of(3).has_integers);
}

TEST(RowCondition, takes_names_as_databases_quote_them) {
  EXPECT_EQ(parsed("`a``b` = 1").columns()[0], "a`b");
  EXPECT_EQ(parsed("\"order\" = 1").columns()[0], "order");
  EXPECT_EQ(parsed("`and` = 1 AND is_null IS NULL").columns()[0], "and");
  EXPECT_EQ(parsed(" \t a=1\n").columns()[0], "a");
}

TEST(RowCondition, says_what_it_lacks_and_where) {
  EXPECT_EQ(refusal(""), "needs a column's name at character 1");
  EXPECT_EQ(refusal("a"), "needs IS, IN, = or <> at character 2");
  EXPECT_EQ(refusal("a == 1"),
            "needs an integer as the database prints it, or 'text', at character 4");
  EXPECT_EQ(refusal("a = 01"),
            "needs an integer as the database prints it, or 'text', at character 5");
  EXPECT_EQ(refusal("a IS 1"), "needs NULL at character 6");
  EXPECT_EQ(refusal("a IN 1"), "needs ( after IN at character 6");
  EXPECT_EQ(refusal("a IN (1 2)"), "needs , or ) at character 9");
  EXPECT_EQ(refusal("a IN ()"),
            "needs an integer as the database prints it, or 'text', at character 7");
  EXPECT_EQ(refusal("a = 1 AND"), "needs a column's name at character 10");
}

// Nothing is ever guessed: what this language lacks is no condition at all.
TEST(RowCondition, refuses_what_only_a_database_could_decide) {
  for (const std::string_view text : {"a = 1 OR b = 2",
                                      "a > 1",
                                      "a LIKE 'x%'",
                                      "a = 1.0",
                                      "a = b",
                                      "a = NULL",
                                      "NOT a = 1",
                                      "(a = 1)",
                                      "a NOT IN (1)",
                                      "a = 'x",
                                      "a = \"x\"",
                                      "a != 1",
                                      "lower(a) = 'x'",
                                      "1 = 1",
                                      "a = 1; DROP TABLE b",
                                      "a = 1 -- b"}) {
    refusal(text);
  }
}

TEST(RowCondition, is_bounded) {
  std::string text = "a = 1";
  for (std::size_t i = 1; i < kConditionTermsMax; ++i) {
    text += " AND a = 1";
  }
  parsed(text);
  EXPECT_NE(refusal(text + " AND a = 1").find("at most 64 of them"), std::string::npos);
  EXPECT_EQ(refusal("a = '" + std::string(kConditionBytesMax, 'x') + "'"),
            "is longer than 4096 bytes");
}

TEST(RowCondition, is_the_same_however_it_is_written) {
  EXPECT_EQ(parsed("a IN (2,1,2) and b is null").text(),
            parsed("`a`  in (1, '2') AND b IS NULL").text());
  EXPECT_EQ(parsed("a = 1"), parsed("a IN (1)"));
  EXPECT_EQ(parsed("a <> 'it''s'").text(), "`a` <> ('it''s')");
  EXPECT_NE(parsed("a = 1").text(), parsed("a <> 1").text());
}

}  // namespace
}  // namespace cuckooguard::keyspace
