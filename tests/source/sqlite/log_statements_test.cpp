// Every way in which SQL changes rows, against a follower of the trigger log: after each the filter
// is the table again, copy for copy, and the log alone has told.
#include <string>
#include <tuple>
#include <vector>

#include "source/sqlite/logged_database.h"

namespace cuckooguard::source::sqlite {
namespace {

struct Shape {
  const char* name;
  const char* schema;  // table t; columns id, mail (both unique), note
  const char* key_template;
  const char* where = "";
  const char* keys_sql = "SELECT 't:' || id FROM t WHERE id IS NOT NULL";
  config::Deletes deletes = config::Deletes::automatic;
};

const Shape kShapes[] = {
    {"integer_primary_key",
     "CREATE TABLE t(id INTEGER PRIMARY KEY, mail TEXT UNIQUE, note TEXT)",
     "t:{id:uint64}"},
    {"autoincrement",
     "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, mail TEXT UNIQUE, note TEXT)",
     "t:{id:uint64}"},
    {"integer_key_with_an_index_of_its_own",
     "CREATE TABLE t(note TEXT, id INT UNIQUE NOT NULL, mail TEXT UNIQUE)",
     "t:{id:uint64}"},
    {"without_rowid",
     "CREATE TABLE t(id INTEGER PRIMARY KEY, mail TEXT UNIQUE, note TEXT) WITHOUT ROWID",
     "t:{id:uint64}"},
    {"text_without_case",
     "CREATE TABLE t(id TEXT COLLATE NOCASE PRIMARY KEY, mail TEXT UNIQUE, note TEXT)",
     "t:{id|ci}"},
    {"columns_of_any_type", "CREATE TABLE t(id PRIMARY KEY, mail UNIQUE, note)", "t:{id}"},
    {"key_of_two_columns",
     "CREATE TABLE t(id INT, mail TEXT, note TEXT, UNIQUE(id), UNIQUE(mail))",
     "t:{id:uint64}:{mail}",
     "",
     "SELECT 't:' || id || ':' || mail FROM t WHERE id IS NOT NULL AND mail IS NOT NULL"},
    {"rows_under_a_condition",
     "CREATE TABLE t(id INTEGER PRIMARY KEY, mail TEXT UNIQUE, note TEXT)",
     "t:{id:uint64}",
     "note IS NULL AND mail <> 'm2'",
     "SELECT 't:' || id FROM t WHERE note IS NULL AND mail <> 'm2'"},
    {"several_rows_with_one_key",
     "CREATE TABLE t(id INT, mail TEXT UNIQUE, note TEXT)",
     "t:{id:uint64}",
     "",
     "SELECT 't:' || id FROM t WHERE id IS NOT NULL",
     config::Deletes::exact},
    {"replaced_by_the_schema_s_own_word",
     "CREATE TABLE t(id INTEGER PRIMARY KEY ON CONFLICT REPLACE, mail TEXT UNIQUE ON CONFLICT "
     "REPLACE, note TEXT)",
     "t:{id:uint64}"},
    {"unique_over_an_expression",
     "CREATE TABLE t(id INTEGER PRIMARY KEY, mail TEXT, note TEXT);"
     "CREATE UNIQUE INDEX i ON t(lower(mail))",
     "t:{id:uint64}"},
    {"unique_under_a_condition",
     "CREATE TABLE t(id INT UNIQUE NOT NULL, mail TEXT, note TEXT);"
     "CREATE UNIQUE INDEX i ON t(mail) WHERE note IS NULL",
     "t:{id:uint64}"},
    {"unique_over_an_index_that_is_hard_to_read",
     "CREATE TABLE [t](id INTEGER PRIMARY KEY, mail TEXT, note TEXT, \"a,(\"\"b\" AS (mail || "
     "'x'));"
     "CREATE UNIQUE INDEX \"i(\" ON t /* ( */ (coalesce(substr([mail], 1), ',)') || ',' -- (,\n , "
     "`mail` COLLATE NOCASE DESC, (\"a,(\"\"b\") asc) where id > -1 AND \"mail\" <> ')' --",
     "t:{id:uint64}"},
};

constexpr const char* kNineRows =
    "DELETE FROM t; WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 9) "
    "INSERT INTO t(id, mail) SELECT x, 'm' || x FROM n";

// Each with the nine rows.
const char* const kStatements[] = {
    "INSERT INTO t(id, mail) VALUES (20, 'm20')",
    "INSERT INTO t(id, mail) VALUES (20, 'm20'), (21, 'm21'), (22, NULL)",
    "INSERT INTO t(id, mail) SELECT id + 30, 'x' || mail FROM t",
    "INSERT OR IGNORE INTO t(id, mail) VALUES (1, 'new'), (20, 'm1'), (21, 'm21')",
    "REPLACE INTO t(id, mail) VALUES (1, 'm1')",
    "REPLACE INTO t(id, mail) VALUES (1, 'new')",
    "REPLACE INTO t(id, mail) VALUES (1, 'm2')",
    "REPLACE INTO t(id, mail) VALUES (20, 'm2'), (20, 'm3'), (20, 'm4')",
    "REPLACE INTO t(id, mail) SELECT id + 1, mail FROM t ORDER BY id",
    "REPLACE INTO t(id, mail) SELECT 10 - id, mail FROM t",
    "INSERT OR ROLLBACK INTO t(id, mail) VALUES (20, 'm20'), (1, 'new')",
    "INSERT OR FAIL INTO t(id, mail) VALUES (20, 'm20'), (1, 'new'), (21, 'm21')",
    "INSERT OR ABORT INTO t(id, mail) VALUES (20, 'm20'), (1, 'new')",
    "INSERT INTO t(id, mail) VALUES (1, 'new') ON CONFLICT DO NOTHING",
    "INSERT INTO t(id, mail) VALUES (1, 'new') ON CONFLICT(id) DO UPDATE SET mail = excluded.mail",
    "INSERT INTO t(id, mail) VALUES (1, 'new') ON CONFLICT(id) DO UPDATE SET id = 40",
    "INSERT INTO t(id, mail) VALUES (40, 'm1') ON CONFLICT(mail) DO UPDATE SET id = excluded.id",
    "UPDATE t SET note = 'changed'",
    "UPDATE t SET note = 'changed' WHERE id > 5; UPDATE t SET note = NULL WHERE id > 7",
    "INSERT INTO t(id, mail, note) VALUES (20, 'm20', 'x'); UPDATE t SET note = NULL",
    "UPDATE t SET mail = 'm2x' WHERE mail = 'm2'; UPDATE t SET mail = 'm2' WHERE mail = 'm1'",
    "UPDATE t SET id = id",
    "UPDATE t SET id = id + 100",
    "UPDATE t SET id = 50 WHERE id = 5",
    "UPDATE t SET mail = 'new' WHERE id = 5",
    "UPDATE OR REPLACE t SET id = 1 WHERE id = 5",
    "UPDATE OR REPLACE t SET mail = 'm1' WHERE id = 5",
    "UPDATE OR REPLACE t SET id = 1, mail = 'm2' WHERE id = 5",
    "UPDATE OR REPLACE t SET id = id + 1",
    "UPDATE OR IGNORE t SET id = 1",
    "UPDATE t SET id = NULL WHERE id = 5",
    "UPDATE t SET rowid = rowid + 200",
    "UPDATE OR REPLACE t SET rowid = 1 WHERE id = 5",
    "INSERT OR REPLACE INTO t(rowid, mail) VALUES (5, 'm6')",
    "DELETE FROM t WHERE id = 5",
    "DELETE FROM t WHERE id > 3",
    "DELETE FROM t",
    "BEGIN; INSERT INTO t(id) VALUES (20); DELETE FROM t WHERE id = 20; COMMIT",
    "BEGIN; DELETE FROM t WHERE id = 5; INSERT INTO t(id) VALUES (5); COMMIT",
    ("BEGIN; DELETE FROM t WHERE id = 5; REPLACE INTO t(id) VALUES (5); REPLACE INTO t(id, mail) "
     "VALUES (5, 'm6'); DELETE FROM t WHERE id = 5; COMMIT"),
    ("BEGIN; UPDATE t SET id = 90 WHERE id = 1; UPDATE t SET id = 1 WHERE id = 2; UPDATE t SET id "
     "= 2 WHERE id = 90; COMMIT"),
    "BEGIN; DELETE FROM t; INSERT INTO t(id) VALUES (20); ROLLBACK",
    ("BEGIN; INSERT INTO t(id) VALUES (20); SAVEPOINT s; DELETE FROM t; REPLACE INTO t(id) VALUES "
     "(20); ROLLBACK TO s; DELETE FROM t WHERE id = 1; COMMIT"),
    "ALTER TABLE t ADD COLUMN more TEXT",
    "VACUUM",
};

class EachStatement : public testing::TestWithParam<std::tuple<Shape, bool>> {};
// NOLINTNEXTLINE(readability-identifier-naming): the macro's own name
INSTANTIATE_TEST_SUITE_P(Tables,
                         EachStatement,
                         testing::Combine(testing::ValuesIn(kShapes), testing::Bool()),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param).name) +
                                  (std::get<1>(each.param) ? "_recursive" : "");
                         });

// As in an application: what fails in a transaction ends it.
void run_or_fail(Writer& writer, const std::string& sql) {
  try_to(writer, sql);
  try_to(writer, "ROLLBACK");
}

TEST_P(EachStatement, leaves_the_filter_as_the_table_is) {
  const auto& [shape, is_recursive] = GetParam();
  const std::string keys_sql = shape.keys_sql;
  LoggedDatabase database(shape.schema,
                          {{.name = "t",
                            .keys = {shape.key_template},
                            .table = "t",
                            .where = shape.where,
                            .filter = {.deletes = shape.deletes}}});
  database.writer.run("PRAGMA recursive_triggers = " + std::to_string(is_recursive));
  for (const std::string statement : kStatements) {
    SCOPED_TRACE(statement);
    database.writer.run(kNineRows);
    database.settle();
    const auto loads = database.loads();
    run_or_fail(database.writer, statement);
    database.settle();
    database.expect_exact(keys_sql);
    const bool changes_schema = statement.starts_with("ALTER") || statement == "VACUUM";
    EXPECT_EQ(database.loads(), loads + (changes_schema ? 1 : 0)) << "read as a whole again";
    // And the log goes on from there.
    run_or_fail(database.writer, "INSERT INTO t(id, mail) VALUES (77, 'm77')");
    run_or_fail(database.writer, "DELETE FROM t WHERE id = 3");
    database.settle();
    database.expect_exact(keys_sql);
  }
}

TEST(SqliteLogStatements, cascades_of_foreign_keys_are_followed) {
  LoggedDatabase database(
      "CREATE TABLE p(id INTEGER PRIMARY KEY, mail TEXT UNIQUE);"
      "CREATE TABLE c(id INTEGER PRIMARY KEY, p INT REFERENCES p(id) ON DELETE CASCADE ON UPDATE "
      "CASCADE, UNIQUE(p, id));"
      "CREATE TABLE n(id INTEGER PRIMARY KEY, up INT REFERENCES n(id) ON DELETE CASCADE);"
      "INSERT INTO p VALUES (1, 'a'), (2, 'b'), (3, 'c'); INSERT INTO c VALUES (10, 1), (11, 1), "
      "(12, 2), (13, 3);"
      "INSERT INTO n VALUES (1, NULL), (2, 1), (3, 2), (4, 3), (5, NULL)",
      {{.name = "c", .keys = {"c:{p:uint64}:{id:uint64}"}, .table = "c"},
       {.name = "n", .keys = {"n:{id:uint64}"}, .table = "n"}});
  const std::string rows = "SELECT 'c:' || p || ':' || id FROM c";
  database.settle();
  for (const char* const statement : {"UPDATE p SET id = 7 WHERE id = 2",
                                      "DELETE FROM p WHERE id = 1",
                                      "REPLACE INTO p VALUES (9, 'c')",
                                      "DELETE FROM n WHERE id = 1"}) {
    database.writer.run(statement);
    database.settle();
    SCOPED_TRACE(statement);
    database.expect_exact(rows, 0);
    database.expect_exact("SELECT 'n:' || id FROM n", 1);
  }
  EXPECT_EQ(database.texts(rows), std::vector<std::string>{"c:7:12"});
  EXPECT_EQ(database.texts("SELECT id FROM n"), std::vector<std::string>{"5"});
  EXPECT_EQ(database.loads(), 2);  // one each
}

// A trigger of the application's own. Made after ours, so that SQLite runs it before them.
struct OwnTrigger {
  std::string when;
  std::string body;
  bool is_recursive;

  void create(Writer& writer) const {
    writer.run("CREATE TRIGGER own " + when +
               " INSERT ON t WHEN NEW.id < 1000 AND NEW.note IS NULL BEGIN " + body +
               "; END; PRAGMA recursive_triggers = " + std::to_string(is_recursive));
  }
  // Until SQLite ends it.
  bool calls_itself() const { return is_recursive && body.starts_with("REPLACE"); }
};

void expect_nothing_hidden_with(const OwnTrigger& own) {
  SCOPED_TRACE(own.when + " " + own.body);
  LoggedDatabase database(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, mail TEXT UNIQUE, note TEXT);"
      "INSERT INTO t(id, mail) VALUES (1, 'm1'), (2, 'm2'), (5000, 'm3')",
      {{.name = "t", .keys = {"t:{id:int64}"}, .table = "t"}});
  own.create(database.writer);
  database.settle();
  for (const char* const statement :
       {"INSERT INTO t(mail, note) VALUES ('m4', 'x')",
        "INSERT INTO t(mail) VALUES ('m5')",
        "INSERT INTO t(id, mail) VALUES (6, 'm6')",
        "INSERT INTO t(id, mail, note) VALUES (6, 'm6', 'x')",
        "REPLACE INTO t(id, mail) VALUES (6, 'm1')",
        "BEGIN; INSERT INTO t(id) VALUES (8); INSERT OR IGNORE INTO t(id, note) VALUES (8, 'x'); "
        "COMMIT",
        "BEGIN; INSERT INTO t(id) VALUES (8); DELETE FROM t WHERE id = 8; INSERT OR IGNORE INTO "
        "t(id, note) VALUES (8, 'x'); COMMIT"}) {
    SCOPED_TRACE(statement);
    run_or_fail(database.writer, statement);
    database.settle();
    if (database.bench.is_fresh()) {
      database.expect_exact("SELECT 't:' || id FROM t");
    }
    database.bench.clock.advance(seconds(40));  // over any pause
    database.settle();
    database.expect_exact("SELECT 't:' || id FROM t");
  }
}

// The application's own triggers run in the middle of an insert, before ours or after them, and can
// turn the order of what is logged around. Whatever it reads, the guard must not erase what the
// filter does not have.
TEST(SqliteLogStatements, triggers_of_the_application_hide_nothing) {
  for (const char* const body :
       {"DELETE FROM t WHERE id = NEW.id",
        "UPDATE t SET id = id + 1000 WHERE id = NEW.id",
        "REPLACE INTO t(id, mail) VALUES (NEW.id, 'again')",
        "DELETE FROM t WHERE id = NEW.id; INSERT INTO t(id) VALUES (NEW.id)",
        "DELETE FROM t WHERE id < NEW.id - 3"}) {
    for (const char* const when : {"AFTER", "BEFORE"}) {
      for (const bool is_recursive : {false, true}) {
        const OwnTrigger own{.when = when, .body = body, .is_recursive = is_recursive};
        if (!own.calls_itself()) {
          expect_nothing_hidden_with(own);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cuckooguard::source::sqlite
