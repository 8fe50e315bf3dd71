#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "postgres/table.h"

namespace cuckooguard::source {
namespace {

using keyspace::ColumnUse;
using keyspace::Placeholder;
using keyspace::ValueType;
using testing::HasSubstr;

PostgresColumn of(PostgresType type) {
  return {.name = "c", .type_name = "t", .type = type};
}

TEST(PostgresColumn, has_the_type_of_what_it_is_made_of) {
  EXPECT_EQ(postgres_type(20, 'b', "int8"), PostgresType::integer);
  EXPECT_EQ(postgres_type(1043, 'b', "varchar"), PostgresType::text);
  EXPECT_EQ(postgres_type(1042, 'b', "bpchar"), PostgresType::padded_text);
  EXPECT_EQ(postgres_type(16, 'b', "bool"), PostgresType::boolean);
  EXPECT_EQ(postgres_type(70000, 'e', "mood"), PostgresType::text);
  EXPECT_EQ(postgres_type(70001, 'b', "citext"), PostgresType::folded_text);
  EXPECT_EQ(postgres_type(70002, 'c', "address"), PostgresType::composite);
  EXPECT_EQ(postgres_type(2950, 'b', "uuid"), PostgresType::uuid);
  EXPECT_EQ(postgres_type(1700, 'b', "numeric"), PostgresType::numeric);
  EXPECT_EQ(postgres_type(1082, 'b', "date"), PostgresType::date);
  EXPECT_EQ(postgres_type(17, 'b', "bytea"), PostgresType::bytea);
  EXPECT_EQ(postgres_type(1114, 'b', "timestamp"), PostgresType::other);
}

TEST(PostgresColumn, needs_a_placeholder_that_finds_what_sql_finds) {
  const Placeholder bytes{.name = "c"};
  const Placeholder number{.name = "c", .type = ValueType::int64};
  const Placeholder folded{.name = "c", .type = ValueType::text_ci, .rest = true};
  EXPECT_THAT(ambiguous(of(PostgresType::integer), bytes).value(), HasSubstr("{c:int64}"));
  EXPECT_EQ(ambiguous(of(PostgresType::integer), number), std::nullopt);
  EXPECT_EQ(ambiguous(of(PostgresType::text), bytes), std::nullopt);
  for (const PostgresType type :
       {PostgresType::blended_text, PostgresType::padded_text, PostgresType::folded_text}) {
    EXPECT_THAT(ambiguous(of(type), bytes).value(), HasSubstr("in place of {c} write {c|ci}"));
    EXPECT_THAT(ambiguous(of(type), number).value(), HasSubstr("write {c|ci}"));
    EXPECT_EQ(ambiguous(of(type), folded), std::nullopt);
  }
  for (const PostgresType type :
       {PostgresType::boolean, PostgresType::composite, PostgresType::other}) {
    EXPECT_THAT(ambiguous(of(type), bytes).value(), HasSubstr("several spellings"));
  }
}

TEST(PostgresColumn, of_text_in_which_two_characters_are_one_is_not_compared_with_the_first) {
  EXPECT_TRUE(blends_characters("EUC_JP"));
  EXPECT_FALSE(blends_characters("UTF8"));
  const PostgresColumn blended = of(PostgresType::blended_text);
  EXPECT_THAT(undecidable(blended, {.literals = {"live", "a\u00A6"}}).value(),
              HasSubstr("write that in the condition"));
  EXPECT_EQ(undecidable(blended, {.literals = {"live", "a\uFFE4"}}), std::nullopt);
}

TEST(PostgresColumn, of_a_type_with_several_spellings_needs_the_placeholder_of_its_name) {
  const std::vector<std::pair<PostgresType, ValueType>> types = {
      {PostgresType::uuid, ValueType::uuid},
      {PostgresType::numeric, ValueType::numeric},
      {PostgresType::date, ValueType::date},
      {PostgresType::bytea, ValueType::bytea}};
  for (const auto& [type, wanted] : types) {
    const Placeholder right{.name = "c", .type = wanted};
    for (const Placeholder& placeholder : {Placeholder{.name = "c", .rest = true},
                                           Placeholder{.name = "c", .type = ValueType::text_ci},
                                           Placeholder{.name = "c", .type = ValueType::int64}}) {
      EXPECT_THAT(ambiguous(of(type), placeholder).value(),
                  HasSubstr("several spellings of one value; in place of " + placeholder.text() +
                            " write " + right.text()));
    }
    for (const auto& [other, unused] : types) {
      EXPECT_EQ(ambiguous(of(other), right).has_value(), other != type);
    }
    EXPECT_THAT(ambiguous(of(PostgresType::text), right).value(),
                HasSubstr("in place of " + right.text() + " write {c}"));
    EXPECT_THAT(ambiguous(of(PostgresType::integer), right).value(),
                HasSubstr("write {c:uint64} or {c:int64}"));
    EXPECT_THAT(ambiguous(of(PostgresType::padded_text), right).value(), HasSubstr("write {c|ci}"));
    EXPECT_THAT(undecidable(of(type), {.literals = {"a"}}).value(), HasSubstr("IS NOT NULL"));
  }
}

TEST(PostgresColumn, of_a_nondeterministic_collation_is_of_no_use) {
  for (const PostgresType type :
       {PostgresType::text, PostgresType::padded_text, PostgresType::folded_text}) {
    PostgresColumn column = of(type);
    column.is_deterministic = false;
    const Placeholder folded{.name = "c", .type = ValueType::text_ci};
    EXPECT_THAT(ambiguous(column, folded).value(), HasSubstr("nondeterministic collation"));
  }
  PostgresColumn column = of(PostgresType::text);
  column.is_deterministic = false;
  EXPECT_THAT(undecidable(column, {.literals = {"a"}}).value(), HasSubstr("nondeterministic"));
  EXPECT_EQ(undecidable(column, {.only_excludes = true, .literals = {"a"}}), std::nullopt);
}

TEST(PostgresColumn, is_compared_in_a_condition_only_as_sql_does) {
  const ColumnUse word{.literals = {"true"}};
  const ColumnUse number{.has_integers = true, .literals = {"7"}};
  const ColumnUse odd_number{.literals = {"007"}};
  EXPECT_EQ(undecidable(of(PostgresType::text), word), std::nullopt);
  EXPECT_THAT(undecidable(of(PostgresType::text), number).value(), HasSubstr("put quotes"));
  EXPECT_EQ(undecidable(of(PostgresType::integer), number), std::nullopt);
  EXPECT_THAT(undecidable(of(PostgresType::integer), odd_number).value(),
              HasSubstr("as the server prints it"));
  EXPECT_THAT(undecidable(of(PostgresType::boolean), word).value(), HasSubstr("write 't' or 'f'"));
  EXPECT_EQ(undecidable(of(PostgresType::boolean), {.literals = {"t", "f"}}), std::nullopt);
  for (const PostgresType type : {PostgresType::padded_text, PostgresType::folded_text}) {
    EXPECT_THAT(undecidable(of(type), word).value(), HasSubstr("ALTER it to text"));
  }
  EXPECT_THAT(undecidable(of(PostgresType::other), word).value(), HasSubstr("IS NOT NULL"));
}

TEST(PostgresColumn, can_be_asked_whether_it_is_null_but_for_what_is_made_of_several) {
  const ColumnUse is_null{.asks_is_null = true};
  EXPECT_EQ(undecidable(of(PostgresType::other), is_null), std::nullopt);
  EXPECT_THAT(undecidable(of(PostgresType::composite), {}).value(), HasSubstr("made of several"));
  PostgresColumn column = of(PostgresType::other);
  column.nullable = false;
  EXPECT_THAT(undecidable(column, is_null).value(), HasSubstr("never holds"));
}

}  // namespace
}  // namespace cuckooguard::source
