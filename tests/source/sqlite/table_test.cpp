#include "sqlite/table.h"

#include <string>

#include <gmock/gmock.h>

#include "harness/temporary_directory.h"
#include "source/bench.h"
#include "source/sqlite/writer.h"
#include "sqlite/origin.h"

namespace cuckooguard::source::sqlite {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SqliteTable : public testing::Test {
 protected:
  // What the start-up check says; empty: it may start.
  std::string refusal(const std::string& schema, const Wanted& wanted) {
    Bench bench({wanted});
    const harness::TemporaryDirectory directory;
    Writer(directory.file("app.db")).run(schema);
    const auto targets = bench.targets();
    const auto refusals = DatabaseOrigin(directory.file("app.db")).check(targets);
    return refusals.empty() ? "" : refusals.front().what;
  }
  std::string refusal(const std::string& schema, const std::string& key) {
    return refusal(schema, Wanted{.keys = {key}});
  }
  std::expected<TablePlan, TableTrouble> plan(const std::string& schema, const std::string& key) {
    Bench bench({Wanted{.keys = {key}}});
    const harness::TemporaryDirectory directory;
    Writer(directory.file("app.db")).run(schema);
    return plan_table(Database::open_read_only(directory.file("app.db")).value(),
                      bench.targets().front(),
                      "users");
  }
};

TEST_F(SqliteTable, a_missing_table_or_column_is_refused_with_the_nearest_name) {
  EXPECT_THAT(refusal("CREATE TABLE usres(id INTEGER PRIMARY KEY)", "user:{id:uint64}"),
              AllOf(HasSubstr("no such table: \"users\""), HasSubstr("did you mean \"usres\"?")));
  EXPECT_THAT(refusal("CREATE TABLE users(user_id INTEGER PRIMARY KEY, name)",
                      {.columns = {{"id", "userid"}}}),
              AllOf(HasSubstr("table \"users\" has no column \"userid\""),
                    HasSubstr("did you mean \"user_id\"?")));
}

TEST_F(SqliteTable, names_are_found_as_sql_finds_them) {
  EXPECT_EQ(refusal("CREATE TABLE Users(ID INTEGER PRIMARY KEY)", "user:{id:uint64}"), "");
  EXPECT_EQ(refusal("CREATE TABLE \"odd \"\"name\"(\"a \"\"b\" INTEGER PRIMARY KEY)",
                    {.table = "odd \"name", .columns = {{"id", "a \"b"}}}),
            "");
}

TEST_F(SqliteTable, a_view_is_refused) {
  EXPECT_THAT(refusal("CREATE TABLE t(id INTEGER); CREATE VIEW users AS SELECT id FROM t",
                      "user:{id:uint64}"),
              HasSubstr("is a view"));
}

TEST_F(SqliteTable, a_virtual_table_is_refused) {
  EXPECT_THAT(refusal("CREATE VIRTUAL TABLE users USING fts5(id)", "user:{id}"),
              HasSubstr("is a virtual table"));
}

TEST_F(SqliteTable, a_floating_point_column_is_refused) {
  for (const char* type : {"REAL", "DOUBLE PRECISION", "FLOAT"}) {
    EXPECT_THAT(refusal("CREATE TABLE users(id " + std::string(type) + ")", "user:{id:uint64}"),
                HasSubstr("floating point"));
  }
}

TEST_F(SqliteTable, a_generated_column_is_read_like_any_other) {
  EXPECT_EQ(refusal("CREATE TABLE users(a INTEGER, id INTEGER AS (a * 2))", "user:{id:uint64}"),
            "");
}

TEST_F(SqliteTable, text_with_a_collation_needs_ci) {
  const std::string schema = "CREATE TABLE users(name TEXT COLLATE ";
  EXPECT_THAT(refusal(schema + "NOCASE)", "user:{name}"),
              AllOf(HasSubstr("collation NOCASE"), HasSubstr("write {name|ci}")));
  EXPECT_THAT(refusal(schema + "RTRIM)", "user:{name:rest}"), HasSubstr("write {name:rest|ci}"));
  EXPECT_EQ(refusal(schema + "NOCASE)", "user:{name|ci}"), "");
  EXPECT_EQ(refusal(schema + "RTRIM)", "user:{name|ci}"), "");
  EXPECT_EQ(refusal(schema + "BINARY)", "user:{name}"), "");
  EXPECT_EQ(refusal(schema + "NOCASE)", "user:{name:uint64}"), "");
}

TEST_F(SqliteTable, an_integer_column_needs_an_integer_placeholder) {
  EXPECT_THAT(refusal("CREATE TABLE users(id INTEGER PRIMARY KEY)", "user:{id}"),
              AllOf(HasSubstr("007"), HasSubstr("write {id:uint64}")));
  EXPECT_THAT(refusal("CREATE TABLE users(id BIGINT)", "user:{id|ci}"), HasSubstr("{id:int64}"));
}

TEST_F(SqliteTable, only_a_rowid_alias_grows) {
  const auto grows = [this](const std::string& schema) {
    const auto found = plan(schema, "user:{id:uint64}");
    return found.has_value() && found->grows;
  };
  EXPECT_TRUE(grows("CREATE TABLE users(id INTEGER PRIMARY KEY)"));
  EXPECT_TRUE(grows("CREATE TABLE users(id integer, PRIMARY KEY(id))"));
  EXPECT_TRUE(grows("CREATE TABLE users(id INTEGER PRIMARY KEY AUTOINCREMENT)"));
  EXPECT_FALSE(grows("CREATE TABLE users(id INTEGER)"));
  EXPECT_FALSE(grows("CREATE TABLE users(id INT PRIMARY KEY)"));
  EXPECT_FALSE(grows("CREATE TABLE users(id INTEGER PRIMARY KEY DESC)"));
  EXPECT_FALSE(grows("CREATE TABLE users(id INTEGER PRIMARY KEY) WITHOUT ROWID"));
  EXPECT_FALSE(grows("CREATE TABLE users(id INTEGER, b, PRIMARY KEY(id, b))"));
}

TEST_F(SqliteTable, only_autoincrement_never_gives_a_number_twice) {
  EXPECT_TRUE(plan("CREATE TABLE users(id INTEGER PRIMARY KEY AUTOINCREMENT)", "user:{id:uint64}")
                  ->is_autoincrement);
  EXPECT_FALSE(
      plan("CREATE TABLE users(id INTEGER PRIMARY KEY)", "user:{id:uint64}")->is_autoincrement);
}

TEST_F(SqliteTable, every_refusal_comes_at_once) {
  Bench bench({{.name = "a", .keys = {"a:{id:uint64}"}, .table = "nothing"},
               {.name = "b", .keys = {"b:{id:uint64}"}},
               {.name = "c", .keys = {"c:{id:uint64}"}, .table = "nought"}});
  const harness::TemporaryDirectory directory;
  Writer(directory.file("app.db")).run(create_users(1));
  const auto targets = bench.targets();
  const auto refusals = DatabaseOrigin(directory.file("app.db")).check(targets);
  ASSERT_EQ(refusals.size(), 2U);
  EXPECT_EQ(refusals[0].ns, "a");
  EXPECT_EQ(refusals[1].ns, "c");
}

}  // namespace
}  // namespace cuckooguard::source::sqlite
