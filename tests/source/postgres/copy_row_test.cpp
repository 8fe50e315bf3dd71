#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "postgres/connection.h"

namespace cuckooguard::source::postgres {
namespace {

using testing::ElementsAre;
using testing::Optional;
using Values = std::vector<std::optional<std::string>>;

// Nothing: it has other columns.
std::optional<Values> parsed(std::string row, std::size_t columns) {
  std::vector<std::optional<std::string_view>> views(columns, "of the row before");
  if (!parse_copy_row(row, views)) {
    return std::nullopt;
  }
  Values values;
  for (const auto& view : views) {
    values.push_back(view ? std::optional<std::string>(*view) : std::nullopt);
  }
  return values;
}

TEST(CopyRow, is_values_between_tabs) {
  EXPECT_THAT(parsed("7", 1), Optional(ElementsAre("7")));
  EXPECT_THAT(parsed("7\ta b\t\xC3\xA9", 3), Optional(ElementsAre("7", "a b", "\xC3\xA9")));
}

TEST(CopyRow, tells_null_from_empty_and_from_the_text_of_a_null) {
  EXPECT_THAT(parsed("\\N\t\t\\\\N\tN", 4), Optional(ElementsAre(std::nullopt, "", "\\N", "N")));
  EXPECT_THAT(parsed("", 1), Optional(ElementsAre("")));
  EXPECT_THAT(parsed("\\N", 1), Optional(ElementsAre(std::nullopt)));
}

TEST(CopyRow, undoes_what_stands_behind_backslashes) {
  EXPECT_THAT(parsed("a\\tb\\nc\\rd\\\\e\\bf\\fg\\vh", 1),
              Optional(ElementsAre("a\tb\nc\rd\\e\bf\fg\vh")));
  EXPECT_THAT(parsed("\\\\\t\\\\t\t\\\\\\t", 3), Optional(ElementsAre("\\", "\\t", "\\\t")));
  EXPECT_THAT(parsed("plain\tx\\\\\tplain", 3), Optional(ElementsAre("plain", "x\\", "plain")));
  EXPECT_THAT(parsed("\\.\tcut\\", 2), Optional(ElementsAre(".", "cut\\")));
}

TEST(CopyRow, is_refused_if_it_has_other_columns) {
  EXPECT_EQ(parsed("1\t2", 1), std::nullopt);
  EXPECT_EQ(parsed("1\t2", 3), std::nullopt);
  EXPECT_EQ(parsed("1\t2\t", 2), std::nullopt);
}

}  // namespace
}  // namespace cuckooguard::source::postgres
