#include "sqlite/rows.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/temporary_directory.h"
#include "source/sqlite/writer.h"

namespace cuckooguard::source::sqlite {
namespace {

using testing::HasSubstr;

struct Read {
  std::vector<std::optional<std::string>> values;
  std::string refusal;
};

// The first row of the query, of which the second column is for text only.
Read read(const std::string& schema,
          const std::string& query,
          const PlannedColumn& first = {.name = "a"},
          config::UuidOrder uuids = config::UuidOrder::plain) {
  const harness::TemporaryDirectory directory;
  const std::string path = directory.file("app.db");
  Writer(path).run(schema);
  const auto database = Database::open_read_only(path).value();
  auto statement = database.prepare(query).value();
  EXPECT_TRUE(statement.step().value());
  const TablePlan plan{
      .table = "t", .columns = {first, {.name = "b", .text_only = true}}, .uuid_order = uuids};
  Row row(plan);
  Read result;
  if (row.read(statement)) {
    for (const auto& value : row.values()) {
      result.values.emplace_back(value);
    }
  }
  result.refusal = row.refusal();
  return result;
}

using Values = std::vector<std::optional<std::string>>;

TEST(SqliteRow, integers_are_decimal_digits) {
  EXPECT_EQ(read("", "SELECT -9223372036854775808, 'x'").values,
            (Values{"-9223372036854775808", "x"}));
  EXPECT_EQ(read("", "SELECT 0, 'x'").values, (Values{"0", "x"}));
}

TEST(SqliteRow, text_and_blobs_are_their_bytes) {
  using namespace std::string_literals;
  EXPECT_EQ(read("", "SELECT 'a' || char(0) || 'é', x'00ff0d'").values,
            (Values{"a\0é"s, "\0\xff\x0d"s}));
  EXPECT_EQ(read("", "SELECT '', x''").values, (Values{"", ""}));
}

TEST(SqliteRow, of_16_bytes_has_the_text_of_a_uuid_or_none) {
  const std::string bytes = "SELECT x'66774455001122338899aabbccddeeff', 'x'";
  const PlannedColumn uuid{.name = "a", .is_uuid = true};
  EXPECT_EQ(read("", bytes, uuid).values, (Values{"66774455-0011-2233-8899-aabbccddeeff", "x"}));
  EXPECT_EQ(read("", bytes, uuid, config::UuidOrder::swapped).values,
            (Values{"00112233-4455-6677-8899-aabbccddeeff", "x"}));
  for (const char* const other : {"x'66'", "'66774455-0011-2233-8899-aabbccddeeff'", "7"}) {
    EXPECT_THAT(read("", std::string("SELECT ") + other + ", 'x'", uuid).refusal,
                HasSubstr("not a UUID of 16 bytes"))
        << other;
  }
  const PlannedColumn text{.name = "a", .is_key_text = true};
  EXPECT_THAT(read("", bytes, text).refusal, HasSubstr("write {…:uuid}"));
  EXPECT_EQ(read("", "SELECT CAST('sixteen letters!' AS BLOB), 'x'", text).refusal, "");
}

TEST(SqliteRow, text_of_a_utf16_database_is_utf8) {
  EXPECT_EQ(read("PRAGMA encoding='UTF-16'; CREATE TABLE t(a); INSERT INTO t VALUES('é')",
                 "SELECT a, a FROM t")
                .values,
            (Values{"é", "é"}));
}

TEST(SqliteRow, null_is_no_value) {
  EXPECT_EQ(read("", "SELECT NULL, NULL").values, (Values{std::nullopt, std::nullopt}));
}

TEST(SqliteRow, a_floating_point_number_is_refused_and_named) {
  EXPECT_THAT(read("", "SELECT 1.5, 'x'").refusal,
              testing::AllOf(HasSubstr("1.5"), HasSubstr("column \"a\"")));
}

TEST(SqliteRow, a_number_where_text_belongs_is_refused_and_named) {
  EXPECT_THAT(read("", "SELECT 1, 7").refusal,
              testing::AllOf(HasSubstr("7"), HasSubstr("column \"b\""), HasSubstr("uint64")));
}

}  // namespace
}  // namespace cuckooguard::source::sqlite
