#include "mysql/column.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::source::mysql {
namespace {

using keyspace::ColumnUse;
using keyspace::Placeholder;
using testing::HasSubstr;

Column text_column(const std::string& charset, const std::string& collation) {
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
              HasSubstr("ascii_bin, in which trailing spaces are ignored; "));
  EXPECT_THAT(ambiguous(text_column("ascii", "ascii_general_ci"), name).value(),
              HasSubstr("ascii_general_ci, in which different bytes can be equal; "));
  EXPECT_EQ(ambiguous(text_column("ascii", "ascii_nopad_bin"), name), std::nullopt);
}

TEST(MysqlColumn, of_text_may_have_uuids_and_a_date_dates) {
  const auto with = [](keyspace::ValueType type) {
    return Placeholder{.name = "name", .type = type};
  };
  const Column date{.name = "name", .data_type = "date", .column_type = "date"};
  const Column decimal{.name = "name", .data_type = "decimal", .column_type = "decimal(9,2)"};
  const Column bytes{.name = "name", .data_type = "binary", .column_type = "binary(16)"};
  const Column folded = text_column("utf8mb4", "utf8mb4_general_ci");
  const auto uuid = with(keyspace::ValueType::uuid);
  EXPECT_EQ(ambiguous(bytes, uuid), std::nullopt);
  EXPECT_THAT(ambiguous(bytes, with(keyspace::ValueType::text)).value(), HasSubstr("{name:uuid}"));
  keyspace::Placeholder rest = with(keyspace::ValueType::text);
  rest.rest = true;
  EXPECT_EQ(ambiguous(bytes, rest), std::nullopt);
  EXPECT_EQ(ambiguous(folded, uuid), std::nullopt);
  EXPECT_EQ(ambiguous(text_column("ascii", "ascii_nopad_bin"), uuid), std::nullopt);
  EXPECT_THAT(ambiguous(text_column("utf8mb4", "utf8mb4_roman_ci"), uuid).value(),
              HasSubstr("different letters can be equal"));
  EXPECT_EQ(ambiguous(date, with(keyspace::ValueType::date)), std::nullopt);
  for (const auto type :  // 20240102 finds 2024-01-02
       {keyspace::ValueType::text, keyspace::ValueType::uint64, keyspace::ValueType::int64}) {
    EXPECT_THAT(ambiguous(date, with(type)).value(), HasSubstr("write {name:date}"));
  }
  for (const Column& column : {folded, date, decimal, bytes}) {
    EXPECT_THAT(ambiguous(column, with(keyspace::ValueType::numeric)).value(),
                HasSubstr("does not work with {name:numeric}"));
    EXPECT_TRUE(ambiguous(column, with(keyspace::ValueType::bytea)));
    EXPECT_EQ(ambiguous(column, uuid).has_value(), column != folded && column != bytes);
    EXPECT_EQ(ambiguous(column, with(keyspace::ValueType::date)).has_value(), column != date);
  }
}

TEST(MysqlColumn, the_same_for_a_condition) {
  const ColumnUse compared{.literals = {"'a'"}};
  EXPECT_THAT(
      undecidable(text_column("utf8mb4", "utf8mb4_bin"), compared).value(),
      HasSubstr(
          "utf8mb4_bin, in which trailing spaces are ignored; MODIFY it to utf8mb4_nopad_bin"));
  EXPECT_THAT(undecidable(text_column("utf8mb4", "utf8mb4_general_ci"), compared).value(),
              HasSubstr("in which different bytes can be equal; MODIFY it"));
  EXPECT_EQ(undecidable(text_column("utf8mb4", "utf8mb4_0900_bin"), compared), std::nullopt);
  EXPECT_EQ(undecidable(text_column("utf8mb4", "utf8mb4_general_ci"),
                        {.only_excludes = true, .literals = {"'a'"}}),
            std::nullopt);
}

TEST(MysqlColumn, of_bits_is_compared_as_a_number) {
  const Column bits{.name = "deleted", .data_type = "bit", .column_type = "bit(1)"};
  EXPECT_EQ(undecidable(bits, {.has_integers = true, .literals = {"0"}}), std::nullopt);
  EXPECT_EQ(undecidable(bits, {.literals = {"0"}}), std::nullopt);
  EXPECT_THAT(undecidable(bits, {.literals = {"0", "x"}}).value(),
              HasSubstr("column `deleted` (bit(1)) is compared as a number, but 'x' is not written "
                        "as the server prints numbers"));
  EXPECT_TRUE(unreadable(bits)) << "nothing is known of keys that are made of it";
}

}  // namespace
}  // namespace cuckooguard::source::mysql
