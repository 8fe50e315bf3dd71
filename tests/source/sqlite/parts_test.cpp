// Namespaces of several tables of a SQLite database: by a list, and by patterns that tables come to
// match.
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/temporary_directory.h"
#include "source/bench.h"
#include "source/source_kind.h"
#include "source/sqlite/writer.h"
#include "sqlite/origin.h"
#include "sqlite/table.h"

namespace cuckooguard::source::sqlite {
namespace {

using filter::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Names = std::vector<std::string>;

std::string table(const std::string& name, int first, int last) {
  return "CREATE TABLE " + name + "(id INTEGER PRIMARY KEY);" + "WITH RECURSIVE n(x) AS (SELECT " +
         std::to_string(first) + " UNION ALL SELECT x + 1 FROM n WHERE x < " +
         std::to_string(last) + ") INSERT INTO " + name + " SELECT x FROM n;";
}

// A followed database of user_1 (1 … 100) and user_2 (201 … 300), in WAL mode.
class SqliteParts : public testing::Test {
 protected:
  explicit SqliteParts(Names tables = {"user_*"})
      : bench_(
            {{.tables = std::move(tables), .fresh_ids = {.kind = config::FreshIds::Kind::off}}}) {
    writer_.run("PRAGMA journal_mode=WAL;" + table("user_1", 1, 100) + table("user_2", 201, 300));
  }

  Snapshot take(Feeds& feeds) { return DatabaseOrigin(path_).take(feeds, bench_.never); }
  std::vector<std::string> refusals() {
    std::vector<std::string> all;
    for (const Refusal& refusal : DatabaseOrigin(path_).check(bench_.targets())) {
      all.push_back(refusal.what);
    }
    return all;
  }
  Names list(const Names& wanted) {
    return list_tables(Database::open_read_only(path_).value(), wanted).value();
  }
  filter::Finding find(std::uint64_t id) {
    const filter::EpochScope inside(bench_.epochs.reader(0));
    const std::string identity = std::to_string(id);
    return bench_.parts[0].find({bench_.parts[0].hash(identity), id, identity}, bench_.clock.now());
  }

  harness::TemporaryDirectory directory_;
  std::string path_ = directory_.file("app.db");
  Writer writer_{path_};
  Bench bench_;
};

TEST_F(SqliteParts, tables_are_listed_by_names_and_patterns_as_the_schema_spells_them) {
  writer_.run(
      "CREATE TABLE Archive(id); CREATE VIEW user_view AS SELECT 1 AS id;"
      "CREATE VIRTUAL TABLE user_text USING fts5(body); CREATE INDEX user_i ON Archive(id);"
      "CREATE TABLE autoinc(id INTEGER PRIMARY KEY AUTOINCREMENT)");
  EXPECT_THAT(list({"user_?"}), ElementsAre("user_1", "user_2"));
  EXPECT_THAT(list({"USER_1", "archive"}), ElementsAre("Archive", "user_1"));
  EXPECT_THAT(list({"user_1", "user_*"}), ElementsAre("user_1", "user_2", "user_text", "user_view"))
      << "what could have rows, and nothing of SQLite's own";
  EXPECT_THAT(list({"nothing_*"}), IsEmpty());
  EXPECT_THAT(list({"nothing", "user_1"}), ElementsAre("user_1", "nothing"));
  EXPECT_THAT(list({"sqlite_*"}), IsEmpty());
}

TEST_F(SqliteParts, a_row_of_any_matching_table_is_found) {
  Feeds feeds = bench_.feeds();
  ASSERT_EQ(take(feeds).kind, Snapshot::Kind::taken);
  for (Feed& feed : feeds) {
    feed.prove(bench_.clock.now());
  }
  for (const std::uint64_t id : {1, 100, 201, 300}) {
    EXPECT_EQ(find(id), filter::Finding::may_exist) << id;
  }
  int absent = 0;
  for (std::uint64_t id = 1000; id < 2000; ++id) {
    absent += find(id) == filter::Finding::absent ? 1 : 0;
  }
  EXPECT_GT(absent, 980);
}

TEST_F(SqliteParts, a_pattern_that_matches_nothing_is_no_reason_not_to_start) {
  writer_.run("DROP TABLE user_1; DROP TABLE user_2");
  EXPECT_THAT(refusals(), IsEmpty());
  Feeds feeds = bench_.feeds();
  ASSERT_EQ(take(feeds).kind, Snapshot::Kind::taken);
  EXPECT_EQ(find(1), filter::Finding::not_fresh);
  EXPECT_THAT(bench_.witness.last().why, HasSubstr("no table matches"));
}

TEST_F(SqliteParts, every_matching_table_must_have_the_columns) {
  writer_.run("CREATE TABLE user_3(name TEXT); CREATE VIEW user_4 AS SELECT 1 AS id");
  EXPECT_THAT(refusals(),
              ElementsAre(HasSubstr("table \"user_3\" has no column \"id\""),
                          HasSubstr("\"user_4\" is a view")));
  Feeds feeds = bench_.feeds();
  ASSERT_EQ(take(feeds).kind, Snapshot::Kind::taken);
  for (Feed& feed : feeds) {
    feed.prove(bench_.clock.now());
  }
  EXPECT_EQ(find(5000), filter::Finding::not_fresh) << "its rows are not known";
  EXPECT_EQ(bench_.witness.last_of("users/user_3").state, State::refused);
  EXPECT_THAT(bench_.witness.last_of("users/user_3").why, HasSubstr("user_3"));
  EXPECT_EQ(bench_.witness.last_of("users/user_1").state, State::ready);
}

class SqliteList : public SqliteParts {
 protected:
  SqliteList() : SqliteParts({"user_1", "USER_2", "user_9"}) {}
};

TEST_F(SqliteList, a_table_that_is_named_must_be_there) {
  EXPECT_THAT(refusals(), ElementsAre(HasSubstr("no such table: \"user_9\"")));
  writer_.run(table("user_9", 900, 900));
  EXPECT_THAT(refusals(), IsEmpty());
  Feeds feeds = bench_.feeds();
  ASSERT_EQ(take(feeds).kind, Snapshot::Kind::taken);
  for (Feed& feed : feeds) {
    feed.prove(bench_.clock.now());
  }
  EXPECT_EQ(find(5000), filter::Finding::absent);
  EXPECT_EQ(find(900), filter::Finding::may_exist);
  EXPECT_EQ(find(250), filter::Finding::may_exist);
}

TEST_F(SqliteList, a_named_table_that_is_dropped_makes_everything_pass) {
  Feeds feeds = bench_.feeds();
  ASSERT_EQ(take(feeds).kind, Snapshot::Kind::taken);
  for (Feed& feed : feeds) {
    feed.prove(bench_.clock.now());
  }
  EXPECT_EQ(find(5000), filter::Finding::not_fresh);
  EXPECT_EQ(bench_.witness.last_of("users/user_9").state, State::refused);
}

// Creates a table at the n-th time a snapshot passes a point. Whatever happens: if look() calls the
// snapshot current, the table's row is found.
TEST_F(SqliteParts, no_table_is_missed_wherever_in_a_snapshot_it_is_created) {
  std::set<SnapshotPoint> created_at;
  for (int chosen = 0; chosen < 5; ++chosen) {
    const std::string name = "user_new_" + std::to_string(chosen);
    Feeds feeds = bench_.feeds();
    int passed = 0;
    DatabaseOrigin origin(path_, [&](SnapshotPoint point) {
      if (passed++ == chosen) {
        writer_.run("BEGIN;" + table(name, 7000 + chosen, 7000 + chosen) + "COMMIT");
        created_at.insert(point);
      }
    });
    ASSERT_EQ(origin.look().kind, Sighting::Kind::seen);
    const Snapshot snapshot = origin.take(feeds, bench_.never);
    ASSERT_EQ(snapshot.kind, Snapshot::Kind::taken) << snapshot.why;
    const bool is_current = origin.look().version == snapshot.version;
    const std::string key = "user:" + std::to_string(7000 + chosen);
    EXPECT_TRUE(!is_current || bench_.has(key)) << "chosen " << chosen;
  }
  EXPECT_THAT(created_at, SizeIs(5)) << "each point but that of rows, of which there are few";
}

class FollowedParts : public SqliteParts {
 protected:
  // Until the namespace is fresh, or for so many steps.
  bool settle() {
    for (int i = 0; i < 1000; ++i) {
      bench_.clock.advance(rescan_.step(bench_.never));
      if (bench_.is_fresh()) {
        return true;
      }
    }
    return false;
  }
  // Looks once: nothing may be answered on what was known before.
  void look() { bench_.clock.advance(rescan_.step(bench_.never)); }

  Rescan rescan_{std::make_unique<DatabaseOrigin>(path_),
                 bench_.feeds(),
                 bench_.clock.clock(),
                 {.max_lag = seconds(1), .poll_every = milliseconds(10)}};
};

TEST_F(FollowedParts, a_table_that_is_created_joins_with_its_rows) {
  ASSERT_TRUE(settle());
  EXPECT_EQ(find(400), filter::Finding::absent);
  writer_.run(table("user_3", 400, 410));
  look();
  EXPECT_EQ(find(9000), filter::Finding::not_fresh);
  ASSERT_TRUE(settle());
  EXPECT_EQ(find(400), filter::Finding::may_exist);
  EXPECT_EQ(find(1), filter::Finding::may_exist);
  writer_.run("CREATE TABLE orders(id INTEGER PRIMARY KEY)");  // matches nothing
  look();
  ASSERT_TRUE(settle());
  EXPECT_EQ(bench_.parts[0].size(), 3U);
}

TEST_F(FollowedParts, a_table_that_is_dropped_or_renamed_away_goes_with_its_rows) {
  ASSERT_TRUE(settle());
  writer_.run("DROP TABLE user_1");
  look();
  ASSERT_TRUE(settle());
  EXPECT_EQ(find(1), filter::Finding::absent);
  EXPECT_EQ(find(201), filter::Finding::may_exist);
  writer_.run("ALTER TABLE user_2 RENAME TO old_user_2");
  look();
  EXPECT_FALSE(settle()) << "there is none left";
  EXPECT_EQ(bench_.parts[0].size(), 0U);
  writer_.run("ALTER TABLE old_user_2 RENAME TO user_5");
  look();
  ASSERT_TRUE(settle());
  EXPECT_EQ(find(201), filter::Finding::may_exist);
  EXPECT_EQ(find(1), filter::Finding::absent);
}

TEST_F(FollowedParts, a_row_that_moves_to_another_table_stays_found) {
  ASSERT_TRUE(settle());
  writer_.run("BEGIN; DELETE FROM user_1 WHERE id = 50; INSERT INTO user_2 VALUES (50); COMMIT");
  for (int i = 0; i < 200; ++i) {
    look();
    ASSERT_NE(find(50), filter::Finding::absent) << i;
  }
  EXPECT_TRUE(bench_.is_fresh());
}

}  // namespace
}  // namespace cuckooguard::source::sqlite
