#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/temporary_directory.h"
#include "source/sqlite/writer.h"
#include "sqlite/table.h"

namespace cuckooguard::source::sqlite {
namespace {

TEST(KeyedTables, have_the_placeholders_by_which_sql_finds_nothing_else) {
  const harness::TemporaryDirectory directory;
  Writer(directory.file("app.db"))
      .run(
          "CREATE TABLE plain(id INTEGER PRIMARY KEY);"
          "CREATE TABLE both(b TEXT, a BIGINT, c, PRIMARY KEY (a, b));"
          "CREATE TABLE folded(name TEXT COLLATE NOCASE PRIMARY KEY) WITHOUT ROWID;"
          "CREATE TABLE none(id INTEGER);"
          "CREATE TABLE broken(a INTEGER, b REAL, PRIMARY KEY (a, b));"
          "CREATE TABLE odd(\"a b\" INTEGER PRIMARY KEY);"
          "CREATE VIEW seen AS SELECT id FROM plain;");
  const auto tables = list_keyed_tables(Database::open_read_only(directory.file("app.db")).value());
  ASSERT_TRUE(tables);
  std::map<std::string, std::string> keys;
  for (const KeyedTable& table : *tables) {
    keys.emplace(table.name, table.placeholders());
  }
  EXPECT_EQ(keys,
            (std::map<std::string, std::string>{{"plain", "{id:int64}"},
                                                {"both", "{a:int64}:{b}"},
                                                {"folded", "{name|ci}"},
                                                {"none", ""},
                                                {"broken", ""},
                                                {"odd", ""}}));
}

}  // namespace
}  // namespace cuckooguard::source::sqlite
