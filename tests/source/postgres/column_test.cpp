#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "postgres/table.h"

namespace cuckooguard::source::postgres {
namespace {

using keyspace::ColumnUse;
using keyspace::Placeholder;
using keyspace::ValueType;
using testing::HasSubstr;

Column of(ColumnKind type) {
  return {.name = "c", .type_name = "t", .type = type};
}

TEST(PostgresColumn, has_the_type_of_what_it_is_made_of) {
  EXPECT_EQ(column_kind(20, 'b', "int8"), ColumnKind::integer);
  EXPECT_EQ(column_kind(1043, 'b', "varchar"), ColumnKind::text);
  EXPECT_EQ(column_kind(1042, 'b', "bpchar"), ColumnKind::padded_text);
  EXPECT_EQ(column_kind(16, 'b', "bool"), ColumnKind::boolean);
  EXPECT_EQ(column_kind(70000, 'e', "mood"), ColumnKind::text);
  EXPECT_EQ(column_kind(70001, 'b', "citext"), ColumnKind::folded_text);
  EXPECT_EQ(column_kind(70002, 'c', "address"), ColumnKind::composite);
  EXPECT_EQ(column_kind(2950, 'b', "uuid"), ColumnKind::uuid);
  EXPECT_EQ(column_kind(1700, 'b', "numeric"), ColumnKind::numeric);
  EXPECT_EQ(column_kind(1082, 'b', "date"), ColumnKind::date);
  EXPECT_EQ(column_kind(17, 'b', "bytea"), ColumnKind::bytea);
  EXPECT_EQ(column_kind(1114, 'b', "timestamp"), ColumnKind::other);
}

TEST(PostgresColumn, needs_a_placeholder_that_finds_what_sql_finds) {
  const Placeholder bytes{.name = "c"};
  const Placeholder number{.name = "c", .type = ValueType::int64};
  const Placeholder folded{.name = "c", .type = ValueType::text_ci, .rest = true};
  EXPECT_THAT(ambiguous(of(ColumnKind::integer), bytes).value(), HasSubstr("{c:int64}"));
  EXPECT_EQ(ambiguous(of(ColumnKind::integer), number), std::nullopt);
  EXPECT_EQ(ambiguous(of(ColumnKind::text), bytes), std::nullopt);
  for (const ColumnKind type :
       {ColumnKind::blended_text, ColumnKind::padded_text, ColumnKind::folded_text}) {
    EXPECT_THAT(ambiguous(of(type), bytes).value(), HasSubstr("instead of {c} write {c|ci}"));
    EXPECT_THAT(ambiguous(of(type), number).value(), HasSubstr("write {c|ci}"));
    EXPECT_EQ(ambiguous(of(type), folded), std::nullopt);
  }
  for (const ColumnKind type : {ColumnKind::boolean, ColumnKind::composite, ColumnKind::other}) {
    EXPECT_THAT(ambiguous(of(type), bytes).value(), HasSubstr("several spellings"));
  }
}

TEST(PostgresColumn, of_text_in_which_two_characters_are_one_is_not_compared_with_the_first) {
  EXPECT_TRUE(blends_characters("EUC_JP"));
  EXPECT_FALSE(blends_characters("UTF8"));
  const Column blended = of(ColumnKind::blended_text);
  EXPECT_THAT(undecidable(blended, {.literals = {"live", "a\u00A6"}}).value(),
              HasSubstr("use that spelling in the condition"));
  EXPECT_EQ(undecidable(blended, {.literals = {"live", "a\uFFE4"}}), std::nullopt);
}

TEST(PostgresColumn, of_a_type_with_several_spellings_needs_the_placeholder_of_its_name) {
  const std::vector<std::pair<ColumnKind, ValueType>> types = {
      {ColumnKind::uuid, ValueType::uuid},
      {ColumnKind::numeric, ValueType::numeric},
      {ColumnKind::date, ValueType::date},
      {ColumnKind::bytea, ValueType::bytea}};
  for (const auto& [type, wanted] : types) {
    const Placeholder right{.name = "c", .type = wanted};
    for (const Placeholder& placeholder : {Placeholder{.name = "c", .rest = true},
                                           Placeholder{.name = "c", .type = ValueType::text_ci},
                                           Placeholder{.name = "c", .type = ValueType::int64}}) {
      EXPECT_THAT(ambiguous(of(type), placeholder).value(),
                  HasSubstr("several spellings of one value; instead of " + placeholder.text() +
                            " write " + right.text()));
    }
    for (const auto& [other, unused] : types) {
      EXPECT_EQ(ambiguous(of(other), right).has_value(), other != type);
    }
    EXPECT_THAT(ambiguous(of(ColumnKind::text), right).value(),
                HasSubstr("instead of " + right.text() + " write {c}"));
    EXPECT_THAT(ambiguous(of(ColumnKind::integer), right).value(),
                HasSubstr("write {c:uint64}, or {c:int64} if it has negative values"));
    EXPECT_THAT(ambiguous(of(ColumnKind::padded_text), right).value(), HasSubstr("write {c|ci}"));
    EXPECT_THAT(undecidable(of(type), {.literals = {"a"}}).value(), HasSubstr("IS NOT NULL"));
  }
}

TEST(PostgresColumn, of_a_nondeterministic_collation_is_of_no_use) {
  for (const ColumnKind type :
       {ColumnKind::text, ColumnKind::padded_text, ColumnKind::folded_text}) {
    Column column = of(type);
    column.is_deterministic = false;
    const Placeholder folded{.name = "c", .type = ValueType::text_ci};
    EXPECT_THAT(ambiguous(column, folded).value(), HasSubstr("nondeterministic collation"));
  }
  Column column = of(ColumnKind::text);
  column.is_deterministic = false;
  EXPECT_THAT(undecidable(column, {.literals = {"a"}}).value(), HasSubstr("nondeterministic"));
  EXPECT_EQ(undecidable(column, {.only_excludes = true, .literals = {"a"}}), std::nullopt);
}

TEST(PostgresColumn, is_compared_in_a_condition_only_as_sql_does) {
  const ColumnUse word{.literals = {"true"}};
  const ColumnUse number{.has_integers = true, .literals = {"7"}};
  const ColumnUse odd_number{.literals = {"007"}};
  EXPECT_EQ(undecidable(of(ColumnKind::text), word), std::nullopt);
  EXPECT_THAT(undecidable(of(ColumnKind::text), number).value(), HasSubstr("quote the value"));
  EXPECT_EQ(undecidable(of(ColumnKind::integer), number), std::nullopt);
  EXPECT_THAT(undecidable(of(ColumnKind::integer), odd_number).value(),
              HasSubstr("as the server prints numbers"));
  EXPECT_THAT(undecidable(of(ColumnKind::boolean), word).value(), HasSubstr("write 't' or 'f'"));
  EXPECT_EQ(undecidable(of(ColumnKind::boolean), {.literals = {"t", "f"}}), std::nullopt);
  for (const ColumnKind type : {ColumnKind::padded_text, ColumnKind::folded_text}) {
    EXPECT_THAT(undecidable(of(type), word).value(), HasSubstr("ALTER it to text"));
  }
  EXPECT_THAT(undecidable(of(ColumnKind::other), word).value(), HasSubstr("IS NOT NULL"));
}

TEST(PostgresColumn, can_be_asked_whether_it_is_null_but_for_what_is_made_of_several) {
  const ColumnUse is_null{.asks_is_null = true};
  EXPECT_EQ(undecidable(of(ColumnKind::other), is_null), std::nullopt);
  EXPECT_THAT(undecidable(of(ColumnKind::composite), {}).value(), HasSubstr("a composite type"));
  Column column = of(ColumnKind::other);
  column.nullable = false;
  EXPECT_THAT(undecidable(column, is_null).value(), HasSubstr("never matches"));
}

}  // namespace
}  // namespace cuckooguard::source::postgres
