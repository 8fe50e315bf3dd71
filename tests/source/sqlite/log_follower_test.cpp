#include "sqlite/log_follower.h"

#include <filesystem>
#include <set>

#include <sqlite3.h>

#include "source/sqlite/logged_database.h"

namespace cuckooguard::source::sqlite {
namespace {

using filter::State;
using testing::HasSubstr;

const std::string kUsers =
    "CREATE TABLE users(id INTEGER PRIMARY KEY, mail TEXT UNIQUE, note TEXT);"
    "INSERT INTO users(id, mail) VALUES (1, 'm1'), (2, 'm2'), (3, 'm3')";
const std::string kKeys = "SELECT 'user:' || id FROM users";

std::string insert(int id) {
  return "INSERT INTO users(id) VALUES (" + std::to_string(id) + ")";
}

class Following : public testing::Test {
 protected:
  Following() { database_.settle(); }

  std::string why() const { return database_.bench.witness.last().why; }

  LoggedDatabase database_{kUsers, {Wanted{}}};
  Writer& writer_ = database_.writer;
};

// --- freshness

TEST_F(Following, a_database_that_is_always_written_to_is_answered_for_all_the_time) {
  for (int id = 10; id < 200; ++id) {
    writer_.run(insert(id));
    database_.step();
    ASSERT_TRUE(database_.bench.is_fresh());
    ASSERT_TRUE(database_.bench.has("user:" + std::to_string(id)));
  }
  EXPECT_EQ(database_.loads(), 1);
  EXPECT_EQ(database_.bench.lives[0].state(), State::ready);
}

TEST_F(Following, freshness_counts_from_before_the_look_not_from_after_it) {
  Bench& bench = database_.bench;
  database_.restart([&bench](SnapshotPoint point) {
    if (point == SnapshotPoint::begun) {
      bench.clock.advance(milliseconds(300));
    }
  });
  database_.settle();
  writer_.run(insert(10));
  const TimePoint before = bench.clock.now();
  database_.follower->step(bench.never);
  EXPECT_EQ(bench.lives[0].fresh_until(), before + seconds(1));
}

TEST_F(Following, a_reader_that_comes_while_the_time_of_a_look_is_read_has_another_look) {
  EXPECT_TRUE(database_.questions.serves_strict());
  for (const bool is_news : {false, true}) {
    database_.on_clock = {};
    database_.questions.want();
    const int told = database_.told;
    database_.step();
    EXPECT_FALSE(database_.questions.is_wanted());
    EXPECT_EQ(database_.told, told + 1);
    if (is_news) {
      writer_.run(insert(10));
    }
    database_.on_clock = [this] { database_.questions.want(); };
    database_.step();
    EXPECT_TRUE(database_.questions.is_wanted());
  }
}

TEST_F(Following, readers_cut_no_pause_short_while_the_database_is_gone) {
  EXPECT_EQ(database_.follower->question_pace(), milliseconds(1));
  std::filesystem::rename(database_.path(), database_.path() + ".away");
  database_.questions.want();
  database_.step();
  EXPECT_EQ(database_.follower->question_pace(), std::nullopt);
  EXPECT_TRUE(database_.questions.is_wanted());
}

// One commit at the n-th point that two read transactions pass, a load and a look at the news.
TEST_F(Following, no_commit_is_missed_or_counted_twice_wherever_it_lands) {
  writer_.run(
      "WITH RECURSIVE n(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM n WHERE x < 3000) "
      "INSERT INTO users(id) SELECT x FROM n");
  std::set<SnapshotPoint> committed_at;
  for (int chosen = 0; chosen < 12; ++chosen) {
    SCOPED_TRACE(chosen);
    int passed = 0;
    database_.restart([&](SnapshotPoint point) {
      if (passed++ == chosen) {
        committed_at.insert(point);
        writer_.run(insert(9000 + chosen) +
                    ";DELETE FROM users WHERE id = " + std::to_string(100 + chosen));
      }
    });
    database_.step();
    writer_.run(insert(8000 + chosen));
    database_.settle();
    ASSERT_GT(passed, chosen);
    database_.settle();
    database_.expect_exact(kKeys);
    EXPECT_EQ(database_.loads(), 2 + chosen);  // nothing had to be mended
  }
  EXPECT_EQ(committed_at.size(), 6U);
}

// --- the log is not what it was

TEST_F(Following, a_dropped_trigger_makes_everything_pass_until_it_is_back) {
  const std::string made =
      database_
          .texts("SELECT sql FROM sqlite_schema WHERE name = 'cuckooguard users(id) after insert'")
          .at(0);
  writer_.run("DROP TRIGGER \"cuckooguard users(id) after insert\"");
  database_.settle();
  EXPECT_FALSE(database_.bench.is_fresh());
  EXPECT_EQ(database_.bench.lives[0].state(), State::refused);
  EXPECT_THAT(why(), HasSubstr("cuckooguard triggers"));
  writer_.run(insert(10) + ";" + made);
  database_.settle();
  database_.expect_exact(kKeys);
}

TEST_F(Following, a_trigger_that_was_gone_for_a_moment_between_two_looks_is_noticed) {
  const std::string made =
      database_
          .texts("SELECT sql FROM sqlite_schema WHERE name = 'cuckooguard users(id) after insert'")
          .at(0);
  writer_.run("DROP TRIGGER \"cuckooguard users(id) after insert\";" + insert(10) + ";" + made);
  database_.settle();
  database_.expect_exact(kKeys);
  EXPECT_EQ(database_.loads(), 2);
}

TEST_F(Following,
       a_table_made_anew_by_a_migration_gets_its_triggers_back_if_the_guard_may_install_them) {
  database_.restart({}, true);
  database_.settle();
  writer_.run(
      "CREATE TABLE next(id INTEGER PRIMARY KEY, mail TEXT UNIQUE, note TEXT);"
      "INSERT INTO next SELECT * FROM users; DROP TABLE users; ALTER TABLE next RENAME TO users");
  database_.settle();
  database_.settle();
  writer_.run(insert(10));
  database_.settle();
  database_.expect_exact(kKeys);
}

TEST_F(Following, a_log_that_was_emptied_or_cut_is_noticed) {
  for (const std::string loss :
       {"DELETE FROM cuckooguard_log",
        "DELETE FROM cuckooguard_log WHERE seq < (SELECT max(seq) FROM cuckooguard_log)",
        "DROP TABLE cuckooguard_log; CREATE TABLE cuckooguard_log(a)"}) {
    SCOPED_TRACE(loss);
    LoggedDatabase other(kUsers, {Wanted{}});
    other.settle();
    try_to(other.writer, insert(10) + ";" + insert(11) + ";" + loss);
    other.settle();
    if (other.bench.is_fresh()) {
      other.expect_exact(kKeys);
    }
    try_to(other.writer, insert(12));
    other.settle();
    if (!loss.starts_with("DROP")) {
      other.expect_exact(kKeys);
    } else {
      EXPECT_FALSE(other.bench.is_fresh());
    }
  }
}

// As `.restore` and backup tools do it: into the file that is open, past triggers and log.
TEST_F(Following, an_older_state_restored_in_place_is_noticed_even_if_its_log_has_grown_past_ours) {
  const std::string saved = database_.directory.file("saved.db");
  writer_.run("VACUUM INTO '" + saved + "'");
  for (int id = 10; id < 15; ++id) {
    writer_.run(insert(id));
  }
  database_.settle();
  sqlite3* from = nullptr;
  sqlite3* to = nullptr;
  ASSERT_EQ(sqlite3_open(saved.c_str(), &from), SQLITE_OK);
  ASSERT_EQ(sqlite3_open(database_.path().c_str(), &to), SQLITE_OK);
  sqlite3_backup* backup = sqlite3_backup_init(to, "main", from, "main");
  ASSERT_NE(backup, nullptr);
  ASSERT_EQ(sqlite3_backup_step(backup, -1), SQLITE_DONE);
  sqlite3_backup_finish(backup);
  sqlite3_close(from);
  sqlite3_close(to);
  for (int id = 20; id < 30; ++id) {
    writer_.run(insert(id));
  }
  database_.settle();
  database_.expect_exact(kKeys);
}

TEST(SqliteLogFollower, a_copy_written_over_the_file_is_noticed_by_the_marks_of_its_log) {
  LoggedDatabase database(kUsers, {Wanted{}}, "DELETE");
  const std::string saved = database.directory.file("saved.db");
  std::filesystem::copy_file(database.path(), saved);
  for (int id = 10; id < 15; ++id) {
    database.writer.run(insert(id));
  }
  database.settle();
  std::filesystem::copy_file(
      saved, database.path(), std::filesystem::copy_options::overwrite_existing);
  Writer again(database.path());
  for (int id = 20; id < 30; ++id) {
    again.run(insert(id));
  }
  database.settle();
  database.expect_exact(kKeys);
}

TEST_F(Following, a_guard_that_has_fallen_behind_the_log_reads_all_rows_and_the_log_stays_short) {
  writer_.run(
      "WITH RECURSIVE n(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM n WHERE x < 100500) "
      "INSERT INTO users(id) SELECT x FROM n");
  database_.settle();
  EXPECT_EQ(database_.loads(), 2);
  database_.expect_exact(kKeys);
  EXPECT_LE(std::stoi(database_.texts("SELECT count(*) FROM cuckooguard_log").at(0)),
            kLogRowsMax + 100);
  writer_.run("DELETE FROM users WHERE id > 50");
  database_.settle();
  database_.bench.clock.advance(seconds(40));  // soon again: after a pause
  database_.settle();
  database_.expect_exact(kKeys);
}

TEST_F(Following, another_file_in_its_place_is_read_as_a_whole) {
  const std::string other = database_.directory.file("other.db");
  writer_.run(insert(10) + "; VACUUM INTO '" + other + "'");
  Writer(other).run("DELETE FROM users WHERE id = 1");
  for (const char* const companion : {"-wal", "-shm"}) {
    std::filesystem::remove(database_.path() + companion);
  }
  std::filesystem::rename(other, database_.path());
  database_.settle();
  database_.expect_exact(kKeys);
  EXPECT_EQ(database_.loads(), 2);
}

// --- the filter and the rows

TEST_F(Following, a_filter_that_gets_full_is_built_again) {
  int id = 10;
  for (int batch = 0; batch < 50; ++batch, id += 100) {
    writer_.run("WITH RECURSIVE n(x) AS (SELECT " + std::to_string(id) +
                " UNION ALL SELECT x + 1 FROM n WHERE x < " + std::to_string(id + 99) +
                ") INSERT INTO users(id) SELECT x FROM n");
    database_.settle();
    database_.bench.clock.advance(seconds(40));
    database_.settle();
  }
  database_.expect_exact(kKeys);
}

// Its keys may be read in several ways.
TEST(SqliteLogFollower,
     a_row_that_cannot_be_guarded_makes_the_namespace_unsynced_until_it_is_gone) {
  LoggedDatabase database("CREATE TABLE users(name TEXT); INSERT INTO users VALUES ('bob')",
                          {{.keys = {"user:{name}:{_}"}}});
  database.settle();
  EXPECT_TRUE(database.bench.is_fresh());
  database.writer.run("INSERT INTO users VALUES ('a:b')");
  database.settle();
  EXPECT_FALSE(database.bench.is_fresh());
  EXPECT_EQ(database.bench.lives[0].state(), State::unsynced);
  EXPECT_THAT(database.bench.witness.last_of("users").why, HasSubstr("a:b"));
  const auto loads = database.loads();
  database.bench.clock.advance(seconds(100));
  database.settle();
  EXPECT_EQ(database.loads(), loads);  // it would be refused again
  database.writer.run("UPDATE users SET name = 'ada' WHERE name = 'a:b'");
  database.settle();
  EXPECT_TRUE(database.bench.is_fresh());
  EXPECT_TRUE(database.bench.has("user:ada:x"));
  EXPECT_FALSE(database.bench.has("user:alan:x"));
}

TEST(SqliteLogFollower, isolated_rows_come_and_go) {
  LoggedDatabase database(
      "CREATE TABLE users(name TEXT COLLATE NOCASE); INSERT INTO users VALUES ('bob')",
      {{.keys = {"user:{name|ci}"}, .filter = {.deletes = config::Deletes::exact}}});
  database.settle();
  EXPECT_FALSE(database.bench.has("user:zoe"));
  database.writer.run("INSERT INTO users VALUES ('Zo\u00eb'), ('a:b')");
  database.settle();
  EXPECT_TRUE(database.bench.has("user:zoe"));
  EXPECT_FALSE(database.bench.has("user:bert"));
  EXPECT_EQ(database.bench.lives[0].writable_isolated().size(), 1U);
  database.writer.run("DELETE FROM users WHERE name <> 'bob'");
  database.settle();
  EXPECT_FALSE(database.bench.has("user:zoe"));
  EXPECT_EQ(database.bench.lives[0].writable_isolated().size(), 0U);
}

TEST(SqliteLogFollower, rows_that_share_an_identity_pass_as_long_as_one_is_there) {
  LoggedDatabase database(
      "CREATE TABLE orders(id INTEGER PRIMARY KEY, user INT);"
      "INSERT INTO orders(user) VALUES (1), (1), (2)",
      {{.name = "orders", .keys = {"orders:{user:uint64}"}, .table = "orders"}});
  database.settle();
  database.writer.run(
      "INSERT INTO orders(user) VALUES (7), (7); UPDATE orders SET user = 8 WHERE id = 3;"
      "REPLACE INTO orders VALUES (1, 9); DELETE FROM orders WHERE id = 4");
  database.settle();
  EXPECT_TRUE(database.bench.is_fresh());
  for (const std::string& key : database.texts("SELECT 'orders:' || user FROM orders")) {
    EXPECT_TRUE(database.bench.has(key)) << key;
  }
  EXPECT_EQ(database.loads(), 1);
}

TEST(SqliteLogFollower, text_and_blob_of_the_same_bytes_are_two_rows) {
  LoggedDatabase database("CREATE TABLE t(name PRIMARY KEY)",
                          {{.name = "t", .keys = {"t:{name}"}, .table = "t"}});
  database.settle();
  database.writer.run("INSERT INTO t VALUES ('7'), (x'37'); DELETE FROM t WHERE name = '7'");
  database.settle();
  EXPECT_TRUE(database.bench.has("t:7"));
  EXPECT_EQ(database.items(), 1U);
}

// --- before the start

TEST(SqliteLogFollower,
     a_database_without_the_log_is_refused_with_what_to_do_and_installed_if_it_may_be) {
  harness::TemporaryDirectory directory;
  LogFollowerSettings settings{
      .path = directory.file("app.db"), .install_triggers = false, .poll_every = milliseconds(1)};
  Writer writer(settings.path);
  writer.run(kUsers);
  Bench bench;
  const auto targets = bench.targets();
  const auto refusals = LogFollower::check(settings, targets);
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_THAT(refusals[0].what, HasSubstr("cuckooguard triggers --config"));
  EXPECT_THAT(refusals[0].what, HasSubstr("install_triggers: true"));
  settings.install_triggers = true;
  EXPECT_TRUE(LogFollower::check(settings, targets).empty());
  settings.install_triggers = false;
  EXPECT_TRUE(LogFollower::check(settings, targets).empty());
}

TEST(SqliteLogFollower, a_stop_in_the_middle_of_a_load_is_prompt_and_leaves_everything_passing) {
  LoggedDatabase database(kUsers, {Wanted{}});
  database.writer.run(
      "WITH RECURSIVE n(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM n WHERE x < 50000) "
      "INSERT INTO users(id) SELECT x FROM n");
  std::stop_source stop;
  database.restart([&stop](SnapshotPoint point) {
    if (point == SnapshotPoint::row) {
      stop.request_stop();
    }
  });
  database.follower->step(stop.get_token());
  database.follower->finish();
  EXPECT_EQ(database.loads(), 0);
  EXPECT_FALSE(database.bench.is_fresh());
}

}  // namespace
}  // namespace cuckooguard::source::sqlite
