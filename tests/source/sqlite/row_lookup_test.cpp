// Asked of a SQLite database: the row with an identity, of whatever form the column keeps its
// values in.
#include <string>

#include <gtest/gtest.h>

#include "harness/temporary_directory.h"
#include "source/bench.h"
#include "source/sqlite/writer.h"
#include "sqlite/kind.h"

namespace cuckooguard::source::sqlite {
namespace {

class RowLookupTest : public testing::Test {
 protected:
  void want(Wanted wanted) {
    bench_.emplace(std::vector<Wanted>{std::move(wanted)});
    lookup_ = make_row_lookup(directory_.file("app.db"), bench_->targets());
  }
  RowAnswer ask(const std::string& key) {
    const auto found = bench_->keyspace.match(key, bench_->scratch);
    EXPECT_EQ(found.kind, keyspace::Lookup::Kind::guarded) << key;
    return lookup_->ask(found.ns, found.identity, {});
  }
  bool has(const std::string& key) { return ask(key).presence == RowPresence::present; }
  bool lacks(const std::string& key) { return ask(key).presence == RowPresence::absent; }

  harness::TemporaryDirectory directory_;
  Writer writer_{directory_.file("app.db")};
  std::optional<Bench> bench_;
  std::unique_ptr<RowLookup> lookup_;
};

TEST_F(RowLookupTest, a_row_is_there_from_its_commit_to_its_deletion) {
  writer_.run(create_users(10));
  want({});
  EXPECT_TRUE(has("user:10"));
  EXPECT_TRUE(lacks("user:11"));
  writer_.run("INSERT INTO users VALUES (11, 'new')");
  EXPECT_TRUE(has("user:11"));
  writer_.run("DELETE FROM users WHERE id = 11");
  EXPECT_TRUE(lacks("user:11"));
}

TEST_F(RowLookupTest, values_are_found_in_every_form_that_a_column_keeps_them_in) {
  writer_.run("CREATE TABLE users(id)");
  writer_.run("INSERT INTO users VALUES (42), ('text'), (CAST('blob' AS BLOB)), ('43')");
  want({.keys = {"user:{id}"}});
  for (const char* const key : {"user:42", "user:text", "user:blob", "user:43"}) {
    EXPECT_TRUE(has(key)) << key;
  }
  EXPECT_TRUE(lacks("user:4"));
  EXPECT_TRUE(lacks("user:x' OR '1'='1"));
}

TEST_F(RowLookupTest, uuids_of_16_bytes_are_found_by_their_texts) {
  writer_.run("CREATE TABLE users(id BLOB PRIMARY KEY)");
  writer_.run("INSERT INTO users VALUES (X'66774455001122338899aabbccddeeff')");
  want({.keys = {"user:{id:uuid}"}});
  EXPECT_TRUE(has("user:66774455-0011-2233-8899-aabbccddeeff"));
  EXPECT_TRUE(lacks("user:00112233-4455-6677-8899-aabbccddeeff"));
}

TEST_F(RowLookupTest, what_sql_alone_finds_equal_is_not_the_row) {
  writer_.run("CREATE TABLE users(id TEXT COLLATE NOCASE)");
  writer_.run("INSERT INTO users VALUES ('Bob')");
  want({.keys = {"user:{id|ci}"}});
  EXPECT_TRUE(has("user:BOB"));
  writer_.run("CREATE TABLE numbers(id NUMERIC)");
  writer_.run("INSERT INTO numbers VALUES (7)");
  want({.keys = {"user:{id:uint64}"}, .table = "numbers"});
  EXPECT_TRUE(has("user:7"));
}

TEST_F(RowLookupTest, a_row_that_does_not_count_is_not_there) {
  writer_.run("CREATE TABLE users(id INTEGER PRIMARY KEY, deleted_at TEXT)");
  writer_.run("INSERT INTO users VALUES (1, NULL), (2, 'yesterday')");
  want({.where = "deleted_at IS NULL"});
  EXPECT_TRUE(has("user:1"));
  EXPECT_TRUE(lacks("user:2"));
}

TEST_F(RowLookupTest, every_table_and_every_value_of_the_identity_counts) {
  writer_.run("CREATE TABLE one(a TEXT, b INTEGER); CREATE TABLE two(a TEXT, b INTEGER)");
  writer_.run("INSERT INTO one VALUES ('x', 1); INSERT INTO two VALUES ('y', 2)");
  want({.keys = {"k:{a}:{b:uint64}"}, .tables = {"one", "t*"}});
  EXPECT_TRUE(has("k:x:1"));
  EXPECT_TRUE(has("k:y:2"));
  EXPECT_TRUE(lacks("k:x:2"));
  EXPECT_TRUE(lacks("k:y:1"));
}

TEST_F(RowLookupTest, a_database_that_cannot_say_is_unknown_with_its_words) {
  writer_.run(create_users(1));
  want({});
  writer_.run("ALTER TABLE users RENAME COLUMN id TO number");
  const RowAnswer answer = ask("user:1");
  EXPECT_EQ(answer.presence, RowPresence::unknown);
  EXPECT_NE(answer.why.find("id"), std::string::npos) << answer.why;
}

}  // namespace
}  // namespace cuckooguard::source::sqlite
