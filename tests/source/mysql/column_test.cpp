#include "mysql/column.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::source {
namespace {

using keyspace::ColumnUse;
using keyspace::Placeholder;
using testing::HasSubstr;

MysqlColumn text_column(const std::string& charset, const std::string& collation) {
  return {.name = "name",
          .data_type = "varchar",
          .column_type = "varchar(20)",
          .charset = charset,
          .collation = collation};
}

// What its collation finds equal is told, and the collation that does not.
TEST(MysqlColumn, says_why_its_collation_finds_other_bytes_equal) {
  const Placeholder name{.name = "name"};
  EXPECT_THAT(ambiguous(text_column("ascii", "ascii_bin"), name).value(),
              HasSubstr("ascii_bin, by which trailing spaces do not count; "));
  EXPECT_THAT(ambiguous(text_column("ascii", "ascii_general_ci"), name).value(),
              HasSubstr("ascii_general_ci, by which different bytes can be equal; "));
  EXPECT_EQ(ambiguous(text_column("ascii", "ascii_nopad_bin"), name), std::nullopt);
}

TEST(MysqlColumn, the_same_for_a_condition) {
  const ColumnUse compared{.literals = {"'a'"}};
  EXPECT_THAT(undecidable(text_column("utf8mb4", "utf8mb4_bin"), compared).value(),
              HasSubstr("utf8mb4_bin, by which trailing spaces do not count; MODIFY it to "
                        "utf8mb4_nopad_bin"));
  EXPECT_THAT(undecidable(text_column("utf8mb4", "utf8mb4_general_ci"), compared).value(),
              HasSubstr("by which different bytes can be equal; MODIFY it"));
  EXPECT_EQ(undecidable(text_column("utf8mb4", "utf8mb4_0900_bin"), compared), std::nullopt);
}

}  // namespace
}  // namespace cuckooguard::source
