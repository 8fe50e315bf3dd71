// What a PostgreSQL's probe asks, and when: on demand, and no less of the catalog than a proof
// needs.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/on_postgres.h"
#include "fixtures/skip.h"
#include "harness/deadline.h"
#include "postgres/log_follower.h"
#include "source/bench.h"
#include "source/source_kind.h"

namespace cuckooguard::harness {
namespace {

using namespace std::chrono_literals;
using source::Asking;
using source::postgres::Connection;
using source::postgres::LogPosition;
using source::postgres::ServerProbe;

source::TimePoint real_now() {
  return std::chrono::steady_clock::now();
}

class PostgresQuestions : public OnPostgres {
 protected:
  // What a session commits without waiting is not flushed for others' sake.
  PostgresOptions options() const override {
    return {.settings = {"wal_writer_delay=10s", "autovacuum=off", "checkpoint_timeout=1h"}};
  }
  void prepare() override {
    run("CREATE TYPE mood AS ENUM ('well', 'ill'); CREATE DOMAIN state AS mood;"
        "CREATE TABLE \"user\" (id BIGINT PRIMARY KEY, name TEXT, how state);"
        "CREATE TABLE parted (id BIGINT PRIMARY KEY) PARTITION BY RANGE (id);"
        "CREATE TABLE part_1 PARTITION OF parted FOR VALUES FROM (0) TO (1000) PARTITION BY RANGE "
        "(id);"
        "CREATE TABLE leaf (id BIGINT PRIMARY KEY);"
        "CREATE TABLE log_1 (id BIGINT PRIMARY KEY)");
    create_guard_role(*server_);
  }
  source::postgres::Login login() const {
    return {.addresses = {{.host = {},
                           .port = server_->port(),
                           .unix_path = server_->socket_directory()}},
            .user = "guard",
            .password = "word",
            .database = PostgresServer::kDatabase,
            .timeout = 30s};
  }
  // So rarely that none but readers' questions are asked.
  void begin() {
    session_->run("SELECT pg_create_logical_replication_slot('questions', 'pgoutput')");
    auto connection = Connection::open(login()).value();
    ServerProbe::Settings settings{
        .login = login(),
        .identity = source::postgres::server_identity(connection).value(),
        .place = place_,
        .tables = names_,
        .slot = "questions",
        .clock =
            [this] {
              const std::scoped_lock lock(mutex_);
              if (on_clock_) {
                on_clock_();
              }
              return now_;
            },
        .max_lag = 4h,
        .asking = Asking(&questions_, 0ms)};
    probe_ = std::make_unique<ServerProbe>(
        std::move(settings),
        [this](const auto& word) {
          const std::scoped_lock lock(mutex_);
          words_.push_back(word);
          was_wanted_ = questions_.is_wanted();
          times_read_ = 0;
          transactions_ += word.transactions;
          heard_.notify_all();
        },
        [this](const LogPosition&) { return is_applied_.load(); });
    ASSERT_TRUE(word());
    ASSERT_TRUE(ask());  // the first one has learned what is to be watched
  }
  std::optional<ServerProbe::Word> word() {
    std::unique_lock lock(mutex_);
    if (!heard_.wait_for(lock, 30s, [this] { return !words_.empty(); })) {
      return std::nullopt;
    }
    ServerProbe::Word first = words_.front();
    words_.pop_front();
    return first;
  }
  // Of a question that began after this did: one that is under way may come before it.
  std::optional<ServerProbe::Word> ask() {
    {
      const std::scoped_lock lock(mutex_);
      words_.clear();
    }
    questions_.want();
    if (!word()) {
      return std::nullopt;
    }
    questions_.want();
    return word();
  }
  source::postgres::TableFingerprints fingerprints() {
    auto connection = Connection::open(login()).value();
    return source::postgres::ask_fingerprints(connection, place_.schema, place_.publication, names_)
        .value();
  }

  const source::postgres::Place place_{.schema = "public", .publication = "cuckooguard"};
  std::vector<std::string> names_{"user", "parted", "leaf", "log_*"};
  filter::Questions questions_;
  std::atomic<bool> is_applied_{true};
  std::mutex mutex_;
  std::condition_variable heard_;
  std::deque<ServerProbe::Word> words_;
  std::function<void()> on_clock_;
  int times_read_ = 0;       // since the last word
  bool was_wanted_ = false;  // when the last word came
  std::uint64_t transactions_ = 0;
  source::TimePoint now_ = real_now();  // stands still: nothing is due
  std::unique_ptr<ServerProbe> probe_;  // last: it uses the others
};

TEST_F(PostgresQuestions, have_the_commit_that_a_reader_may_have_seen_flushed_or_not) {
  begin();
  EXPECT_TRUE(questions_.serves_strict());
  session_->run("SET synchronous_commit = off");
  for (int id = 1; id <= 20; ++id) {
    run("INSERT INTO \"user\" VALUES (" + std::to_string(id) + ")");
    const std::string xid =
        session_->value("SELECT xmin FROM \"user\" WHERE id = " + std::to_string(id));
    const auto end = pgoutput::parse_lsn(session_->value("SELECT pg_current_wal_insert_lsn()"));
    const auto answer = ask();
    ASSERT_TRUE(answer && end);
    EXPECT_TRUE(answer->position.covers(LogPosition(*end)));
    EXPECT_TRUE(answer->committed.snapshot.shows(std::stoull(xid)));
  }
}

TEST_F(PostgresQuestions, of_a_reader_who_comes_as_their_time_is_read_have_another_one) {
  begin();
  {
    const std::scoped_lock lock(mutex_);
    on_clock_ = [this] {
      if (++times_read_ == 2) {  // the first is for the pause before the question
        questions_.want();
      }
    };
  }
  ASSERT_TRUE(ask());
  const std::scoped_lock lock(mutex_);
  EXPECT_TRUE(was_wanted_) << "the question that was about to be asked is not this reader's";
}

// All that a fingerprint tells, so that no table is believed to be what it was.
TEST_F(PostgresQuestions, see_every_change_of_the_catalog_that_fingerprints_see) {
  begin();
  for (const char* const sql : {
           "ALTER TABLE \"user\" ADD COLUMN more INT",
           "ALTER TABLE \"user\" RENAME COLUMN more TO less",
           "ALTER TABLE \"user\" ALTER COLUMN less SET NOT NULL",
           "ALTER TABLE \"user\" ALTER COLUMN less TYPE BIGINT",
           "ALTER TABLE \"user\" DROP COLUMN less",
           "CREATE UNIQUE INDEX named ON \"user\" (name)",
           "ALTER TABLE \"user\" REPLICA IDENTITY FULL",
           "ALTER TYPE mood RENAME VALUE 'ill' TO 'unwell'",
           "ALTER TYPE mood ADD VALUE 'so so'",
           "TRUNCATE \"user\"",
           "ALTER TABLE \"user\" ENABLE ROW LEVEL SECURITY",
           "ALTER ROLE guard BYPASSRLS",
           "BEGIN; ALTER TABLE \"user\" RENAME TO old_user; CREATE TABLE \"user\" (id BIGINT "
           "PRIMARY "
           "KEY); COMMIT",
           "CREATE TABLE child () INHERITS (\"user\")",
           "CREATE TABLE grandchild () INHERITS (child)",
           "ALTER TABLE grandchild NO INHERIT child",
           "ALTER TABLE part_1 ATTACH PARTITION leaf FOR VALUES FROM (0) TO (100)",
           "ALTER TABLE parted DETACH PARTITION part_1",
           "ALTER TABLE parted ATTACH PARTITION part_1 FOR VALUES FROM (0) TO (2000)",
           "CREATE TABLE log_2 (id BIGINT PRIMARY KEY)",
           "DROP TABLE log_1",
           "ALTER TABLE log_2 SET UNLOGGED",
           "ALTER PUBLICATION cuckooguard SET (publish = 'insert')",
           "DROP PUBLICATION cuckooguard; CREATE PUBLICATION cuckooguard FOR TABLE \"user\", "
           "parted",
           "ALTER PUBLICATION cuckooguard DROP TABLE \"user\"",
           "ALTER PUBLICATION cuckooguard ADD TABLE \"user\"",
           "ALTER PUBLICATION cuckooguard SET TABLE parted, \"user\" (id)",
           "BEGIN; ALTER PUBLICATION cuckooguard SET TABLE parted, \"user\"; ALTER PUBLICATION "
           "cuckooguard SET TABLE parted, \"user\" (id); COMMIT",
           "ALTER PUBLICATION cuckooguard SET TABLE parted, \"user\"",
           "ALTER PUBLICATION cuckooguard DROP TABLE parted",
           "ALTER PUBLICATION cuckooguard ADD TABLES IN SCHEMA public",
           "ALTER SCHEMA public RENAME TO other",
       }) {
    const auto before = fingerprints();
    run(sql);
    const auto after = fingerprints();
    EXPECT_NE(before, after) << sql;
    const auto answer = ask();
    ASSERT_TRUE(answer) << sql << ": " << probe_->why();
    EXPECT_EQ(*answer->committed.fingerprints, after) << sql;
  }
}

TEST_F(PostgresQuestions, believe_fingerprints_for_as_long_as_the_catalog_is_what_it_was) {
  begin();
  const auto first = ask();
  for (const char* const sql : {"INSERT INTO \"user\" VALUES (1)",
                                "VACUUM \"user\"",
                                "ANALYZE \"user\"",
                                "CREATE TABLE of_others (id INT)"}) {
    run(sql);
  }
  const auto second = ask();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(second->is_whole);
  EXPECT_EQ(first->committed.fingerprints, second->committed.fingerprints);  // nothing was asked
  {
    const std::scoped_lock lock(mutex_);
    now_ += ServerProbe::kReportEveryMax;
  }
  questions_.want();
  EXPECT_TRUE(eventually([this] {
    const auto next = word();
    return next && next->is_whole;
  }));
}

TEST_F(PostgresQuestions, have_what_is_not_flushed_sent_on_but_not_for_each_of_them) {
  SKIP_IF_MISSING(std::stoi(session_->value("SHOW server_version_num")) >= 170000
                      ? std::optional<std::string>("PostgreSQL before 17")
                      : std::nullopt);
  begin();
  is_applied_ = false;
  session_->run("SET synchronous_commit = off");
  for (int id = 1; id <= 20; ++id) {
    run("INSERT INTO \"user\" VALUES (" + std::to_string(id) + ")");
    ASSERT_TRUE(ask());
  }
  const std::scoped_lock lock(mutex_);
  EXPECT_EQ(transactions_, 1U);  // the clock stands still
}

TEST_F(PostgresQuestions, of_a_role_that_may_not_have_the_log_flushed_say_so_and_go_on) {
  const std::string function = session_->value(
      "SELECT oid::regprocedure FROM pg_proc WHERE proname = 'pg_logical_emit_message' "
      "AND proargtypes[1] = 'text'::regtype AND proargtypes[2] = 'text'::regtype");
  run("REVOKE EXECUTE ON FUNCTION " + function + " FROM PUBLIC");
  begin();
  is_applied_ = false;
  run("SET synchronous_commit = off; INSERT INTO \"user\" VALUES (1)");
  const auto refused = ask();
  ASSERT_TRUE(refused);
  EXPECT_THAT(refused->why_not_flushed,
              testing::AllOf(testing::HasSubstr("permission denied"),
                             testing::HasSubstr("GRANT EXECUTE ON FUNCTION pg_catalog.")));
  EXPECT_EQ(ask()->why_not_flushed, refused->why_not_flushed)
      << "not asked for again, and not forgotten";
  EXPECT_FALSE(probe_->has_ended());
  run(refused->why_not_flushed.substr(refused->why_not_flushed.find("GRANT")));
  {
    const std::scoped_lock lock(mutex_);
    now_ += 1min;
  }
  EXPECT_EQ(ask()->why_not_flushed, "");
}

// --- the whole of it ---

TEST_F(PostgresQuestions, of_a_guard_show_it_each_row_that_was_committed_before_a_read) {
  source::Bench bench{{{.name = "users", .keys = {"user:{id:uint64}"}, .table = "user"}}};
  bench.namespaces[0].consistency = config::Consistency::strict;
  source::SourceThread source(
      std::make_unique<source::postgres::LogFollower>(
          source::postgres::LogFollowerSettings{.name = "db",
                                                .login = login(),
                                                .place = place_,
                                                .max_lag = 4h,
                                                .asking = Asking(&questions_, 1ms)},
          source::Feeds(bench.targets(), bench.witness, real_now, 4h),
          real_now),
      nullptr,
      &questions_);
  source.start();
  questions_.want();
  ASSERT_TRUE(bench.witness.wait_for("users", filter::State::ready)) << bench.witness.last().why;
  for (const char* const mode : {"on", "off"}) {
    session_->run("SET synchronous_commit = " + std::string(mode));
    for (int read = 0; read < 100; ++read) {
      const std::string id = session_->value(
          "INSERT INTO \"user\" SELECT coalesce(max(id), 0) + 1 FROM \"user\" RETURNING id");
      const auto read_at = real_now();
      questions_.want();  // once: nobody else comes
      ASSERT_TRUE(eventually([&] { return bench.lives[0].is_proven_since(read_at); })) << mode;
      ASSERT_TRUE(bench.has("user:" + id)) << mode;
    }
  }
  source.stop();
}

}  // namespace
}  // namespace cuckooguard::harness
