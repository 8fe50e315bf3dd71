#include "sqlite/origin.h"

#include <filesystem>
#include <set>
#include <string>

#include "harness/temporary_directory.h"
#include "source/bench.h"
#include "source/sqlite/writer.h"

namespace cuckooguard::source::sqlite {
namespace {

constexpr int kRows = 3000;  // a few SnapshotPoint::row

struct Database {
  explicit Database(const std::string& mode) : writer(path()) {
    writer.run("PRAGMA journal_mode=" + mode + "; PRAGMA synchronous=OFF;" + create_users(kRows));
  }
  std::string path() const { return directory.file("app.db"); }

  harness::TemporaryDirectory directory;
  Writer writer;
};

std::string insert(int id) {
  return "INSERT INTO users VALUES(" + std::to_string(id) + ", 'new')";
}

class EachMode : public testing::TestWithParam<const char*> {};
// NOLINTNEXTLINE(readability-identifier-naming): the macro's own name
INSTANTIATE_TEST_SUITE_P(Journal,
                         EachMode,
                         testing::Values("WAL", "DELETE", "TRUNCATE", "PERSIST"));

TEST_P(EachMode, a_snapshot_holds_every_row_and_its_version_stands_still_without_commits) {
  Database database(GetParam());
  Bench bench;
  auto feeds = bench.feeds();
  DatabaseOrigin origin(database.path());
  const Snapshot snapshot = origin.take(feeds, bench.never);
  ASSERT_EQ(snapshot.kind, Snapshot::Kind::taken) << snapshot.why;
  for (int id = 1; id <= kRows; ++id) {
    EXPECT_TRUE(bench.has("user:" + std::to_string(id)));
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(origin.look().version, snapshot.version);
  }
}

TEST_P(EachMode, a_commit_after_the_snapshot_changes_the_version) {
  Database database(GetParam());
  Bench bench;
  auto feeds = bench.feeds();
  DatabaseOrigin origin(database.path());
  for (int i = 1; i <= 20; ++i) {
    const Snapshot snapshot = origin.take(feeds, bench.never);
    ASSERT_EQ(snapshot.kind, Snapshot::Kind::taken) << snapshot.why;
    database.writer.run(insert(kRows + i));
    const Sighting sighting = origin.look();
    EXPECT_EQ(sighting.kind, Sighting::Kind::seen) << sighting.why;
    EXPECT_NE(sighting.version, snapshot.version);
  }
}

// Commits once, at the n-th time a snapshot passes a point; in rollback mode a lock may forbid it,
// then it tries again at every later point. Whatever happens: if look() calls the snapshot current,
// every committed row is in it.
TEST_P(EachMode, no_commit_is_missed_wherever_in_a_snapshot_it_lands) {
  std::set<SnapshotPoint> committed_at;
  for (int chosen = 0; chosen < 12; ++chosen) {
    Database database(GetParam());
    Bench bench;
    auto feeds = bench.feeds();
    int passed = 0;
    bool is_committed = false;
    DatabaseOrigin origin(database.path(), [&](SnapshotPoint point) {
      if (passed++ >= chosen && !is_committed) {
        is_committed = database.writer.try_run(insert(kRows + 1));
        if (is_committed) {
          committed_at.insert(point);
        }
      }
    });
    // Has looked before, as it would have in service: the version must be the snapshot's, not the
    // last look's.
    ASSERT_EQ(origin.look().kind, Sighting::Kind::seen);
    const Snapshot snapshot = origin.take(feeds, bench.never);
    ASSERT_EQ(snapshot.kind, Snapshot::Kind::taken) << snapshot.why;
    const Sighting sighting = origin.look();
    ASSERT_EQ(sighting.kind, Sighting::Kind::seen) << sighting.why;
    if (is_committed && sighting.version == snapshot.version) {
      EXPECT_TRUE(bench.has("user:" + std::to_string(kRows + 1))) << "chosen " << chosen;
    }
    EXPECT_TRUE(bench.has("user:1"));
  }
  EXPECT_TRUE(committed_at.contains(SnapshotPoint::before_begin));
  EXPECT_TRUE(committed_at.contains(SnapshotPoint::begun));
  if (GetParam() ==
      std::string("WAL")) {  // else SHARED keeps writers out from the first read to the end
    EXPECT_TRUE(committed_at.contains(SnapshotPoint::versioned));
    EXPECT_TRUE(committed_at.contains(SnapshotPoint::row));
    EXPECT_TRUE(committed_at.contains(SnapshotPoint::read));
  }
}

TEST_P(EachMode, all_tables_of_a_source_are_of_one_moment) {
  Database database(GetParam());
  database.writer.run("CREATE TABLE orders(id INTEGER PRIMARY KEY)");
  Bench bench({{}, {.name = "orders", .keys = {"order:{id:uint64}"}, .table = "orders"}});
  auto feeds = bench.feeds();
  bool is_committed = false;
  DatabaseOrigin origin(database.path(), [&](SnapshotPoint point) {
    if (point == SnapshotPoint::row && !is_committed) {  // while the first table is read
      is_committed = database.writer.try_run("INSERT INTO orders VALUES(7)");
    }
  });
  ASSERT_EQ(origin.take(feeds, bench.never).kind, Snapshot::Kind::taken);
  ASSERT_NE(bench.lives[1].current(), nullptr);
  EXPECT_EQ(bench.lives[1].current()->stats().items, 0U);
}

TEST_P(EachMode, a_writer_in_the_middle_of_a_commit_is_unclear_or_not_yet_seen_never_missed) {
  Database database(GetParam());
  Bench bench;
  auto feeds = bench.feeds();
  DatabaseOrigin origin(database.path());
  const Snapshot snapshot = origin.take(feeds, bench.never);
  database.writer.run("BEGIN EXCLUSIVE;" + insert(kRows + 1));
  const Sighting during = origin.look();
  EXPECT_TRUE(during.kind == Sighting::Kind::unclear || during.version == snapshot.version);
  database.writer.run("COMMIT");
  EXPECT_NE(origin.look().version, snapshot.version);
}

TEST_P(EachMode, another_file_renamed_over_the_path_is_another_version) {
  Database database(GetParam());
  Bench bench;
  auto feeds = bench.feeds();
  DatabaseOrigin origin(database.path());
  const Snapshot snapshot = origin.take(feeds, bench.never);
  const std::string other = database.directory.file("other.db");
  Writer(other).run(create_users(kRows));  // the same number of commits and pages
  std::filesystem::rename(other, database.path());
  const Sighting sighting = origin.look();
  EXPECT_TRUE(sighting.kind == Sighting::Kind::lost || sighting.version != snapshot.version);
}

TEST(SqliteOrigin, a_symbolic_link_turned_to_another_file_is_another_version) {
  Database database("DELETE");
  const std::string other = database.directory.file("other.db");
  Writer(other).run(create_users(kRows) + insert(kRows + 7));
  const std::string link = database.directory.file("current.db");
  std::filesystem::create_symlink(database.path(), link);
  Bench bench;
  auto feeds = bench.feeds();
  DatabaseOrigin origin(link);
  const Snapshot snapshot = origin.take(feeds, bench.never);
  ASSERT_EQ(snapshot.kind, Snapshot::Kind::taken) << snapshot.why;
  std::filesystem::create_symlink(other, link + ".new");
  std::filesystem::rename(link + ".new", link);
  EXPECT_NE(origin.look().version, snapshot.version);
  ASSERT_EQ(origin.take(feeds, bench.never).kind, Snapshot::Kind::taken);
  EXPECT_TRUE(bench.has("user:" + std::to_string(kRows + 7)));
}

TEST(SqliteOrigin, a_copy_written_over_the_file_in_place_is_another_version) {
  Database database("DELETE");
  const std::string other = database.directory.file("other.db");
  {  // as much alike as two databases can be: the same commits and pages, one id is another
    Writer writer(other);
    writer.run("PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF;" + create_users(kRows) +
               insert(9000));
  }
  database.writer.run(insert(8000));
  Bench bench;
  auto feeds = bench.feeds();
  DatabaseOrigin origin(database.path());
  const Snapshot snapshot = origin.take(feeds, bench.never);
  ASSERT_EQ(std::filesystem::file_size(other), std::filesystem::file_size(database.path()));
  std::filesystem::copy_file(
      other, database.path(), std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(origin.look().version, snapshot.version);
  ASSERT_EQ(origin.take(feeds, bench.never).kind, Snapshot::Kind::taken);
  EXPECT_TRUE(bench.has("user:9000"));
}

TEST(SqliteOrigin, a_file_that_goes_away_is_lost_and_found_again) {
  Database database("DELETE");
  Bench bench;
  auto feeds = bench.feeds();
  DatabaseOrigin origin(database.path());
  const Snapshot before = origin.take(feeds, bench.never);
  std::filesystem::rename(database.path(), database.path() + ".away");
  const Sighting away = origin.look();
  EXPECT_EQ(away.kind, Sighting::Kind::lost);
  EXPECT_THAT(away.why, testing::HasSubstr("no such file: " + database.path()));
  std::filesystem::rename(database.path() + ".away", database.path());
  const Sighting back = origin.look();
  EXPECT_EQ(back.kind, Sighting::Kind::seen) << back.why;
  EXPECT_NE(back.version, before.version);
}

TEST(SqliteOrigin, a_file_that_is_no_database_is_lost_in_words) {
  harness::TemporaryDirectory directory;
  harness::write_whole_file(directory.file("app.db"), std::string(4096, 'x'));
  Bench bench;
  auto feeds = bench.feeds();
  DatabaseOrigin origin(directory.file("app.db"));
  EXPECT_THAT(origin.look().why, testing::HasSubstr("is not a SQLite database"));
  EXPECT_EQ(origin.take(feeds, bench.never).kind, Snapshot::Kind::lost);
}

// For a moment the journal of a writer that is about to write looks the same to a reader.
TEST(SqliteOrigin, a_journal_that_nobody_holds_is_unclear_until_a_writer_has_rolled_it_back) {
  Database database("DELETE");
  database.writer.run("PRAGMA cache_size=1; BEGIN IMMEDIATE; UPDATE users SET name='changed'");
  harness::TemporaryDirectory interrupted;
  const std::string copy = interrupted.file("app.db");
  std::filesystem::copy(database.path(), copy);
  std::filesystem::copy(database.path() + "-journal", copy + "-journal");
  Bench bench;
  auto feeds = bench.feeds();
  DatabaseOrigin origin(copy);
  const Snapshot snapshot = origin.take(feeds, bench.never);
  EXPECT_EQ(snapshot.kind, Snapshot::Kind::unclear);
  EXPECT_THAT(snapshot.why, testing::HasSubstr("is locked by a writer; if this persists"));
  Writer(copy).run("DELETE FROM users WHERE id = 1");
  EXPECT_EQ(origin.take(feeds, bench.never).kind, Snapshot::Kind::taken);
}

TEST(SqliteOrigin, a_dropped_table_makes_its_namespace_refused_and_the_other_goes_on) {
  Database database("WAL");
  database.writer.run("CREATE TABLE orders(id INTEGER PRIMARY KEY); INSERT INTO orders VALUES(5)");
  Bench bench({{}, {.name = "orders", .keys = {"order:{id:uint64}"}, .table = "orders"}});
  auto feeds = bench.feeds();
  DatabaseOrigin origin(database.path());
  const Snapshot before = origin.take(feeds, bench.never);
  database.writer.run("DROP TABLE users; INSERT INTO orders VALUES(6)");
  EXPECT_NE(origin.look().version, before.version);
  ASSERT_EQ(origin.take(feeds, bench.never).kind, Snapshot::Kind::taken);
  EXPECT_EQ(bench.witness.last_of("users").state, filter::State::refused);
  EXPECT_THAT(bench.witness.last_of("users").why, testing::HasSubstr("no such table: \"users\""));
  EXPECT_TRUE(bench.has("order:6"));
}

TEST(SqliteOrigin, a_row_that_no_key_can_name_makes_its_namespace_unsynced_and_is_named) {
  Database database("WAL");
  database.writer.run("CREATE TABLE tags(tag TEXT); INSERT INTO tags VALUES('a'), (NULL), ('b:c')");
  Bench bench({{.name = "tags", .keys = {"tag:{tag}:{_}"}, .table = "tags"}, {}});
  auto feeds = bench.feeds();
  DatabaseOrigin origin(database.path());
  ASSERT_EQ(origin.take(feeds, bench.never).kind, Snapshot::Kind::taken);
  EXPECT_EQ(bench.witness.last_of("tags").state, filter::State::unsynced);
  EXPECT_THAT(bench.witness.last_of("tags").why, testing::HasSubstr("b:c"));
  EXPECT_TRUE(bench.has("user:3000"));
}

TEST(SqliteOrigin, a_stop_ends_a_snapshot_in_its_middle) {
  Database database("WAL");
  Bench bench;
  auto feeds = bench.feeds();
  std::stop_source stop;
  int rows_seen = 0;
  DatabaseOrigin origin(database.path(), [&](SnapshotPoint point) {
    rows_seen += point == SnapshotPoint::row ? 1 : 0;
    if (point == SnapshotPoint::row) {
      stop.request_stop();
    }
  });
  EXPECT_EQ(origin.take(feeds, stop.get_token()).kind, Snapshot::Kind::stopped);
  EXPECT_EQ(rows_seen, 1);
}

TEST(SqliteOrigin,
     ids_above_the_largest_pass_and_numbers_once_given_by_autoincrement_count_as_seen) {
  Database database("WAL");
  database.writer.run(
      "CREATE TABLE accounts(id INTEGER PRIMARY KEY AUTOINCREMENT);"
      "INSERT INTO accounts VALUES(10), (500); DELETE FROM accounts WHERE id = 500");
  Bench bench({{}, {.name = "accounts", .keys = {"account:{id:uint64}"}, .table = "accounts"}});
  auto feeds = bench.feeds();
  DatabaseOrigin origin(database.path());
  ASSERT_EQ(origin.take(feeds, bench.never).kind, Snapshot::Kind::taken);
  EXPECT_FALSE(bench.lives[0].is_fresh_id(kRows));
  EXPECT_TRUE(bench.lives[0].is_fresh_id(kRows + 1));
  EXPECT_TRUE(bench.lives[0].is_fresh_id(kRows + 16));
  EXPECT_FALSE(bench.lives[0].is_fresh_id(kRows + 17));
  EXPECT_FALSE(bench.lives[1].is_fresh_id(11));
  EXPECT_FALSE(bench.lives[1].is_fresh_id(500));
  EXPECT_TRUE(bench.lives[1].is_fresh_id(501));
}

}  // namespace
}  // namespace cuckooguard::source::sqlite
