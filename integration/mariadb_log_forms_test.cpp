// The forms a MariaDB's log can have, over a guard that follows it: compressed, with partial rows,
// of partitioned tables, with transactions whose verdict comes later. The guard must end up with
// exactly the rows that SQL finds.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

constexpr int kLargest = 1200;  // of the ids that are compared

class MariaDbLogForms : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_IF_MISSING(MariaDbServer::missing());
    redis_.emplace();
  }

  void start_server(const std::vector<std::string>& arguments, const std::string& table_options) {
    server_.emplace(arguments);
    session_.emplace(server_->session());
    run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(400), n INT DEFAULT 7) " +
        table_options);
    run("INSERT INTO user SELECT seq, REPEAT('n', 300), seq FROM seq_1_to_1000");
    create_guard_user(*server_);
  }
  std::string yaml(const std::string& table, const std::string& filter_settings = "") const {
    return Configuration{
        .upstream = redis_->address(),
        .source = mysql_source(unix_address(*server_)),
        .namespaces = Guarded{.table = table,
                              .filter = "{ false_positive_rate: 0.0001%" + filter_settings + " }"}
                          .yaml(),
        .more = "log: { level: debug }\n"}  // tells of every load
        .yaml();
  }
  void start_guard(const std::string& filter_settings = "") {
    guard_.emplace(GuardProcess::on_port(yaml("user", filter_settings)));
    client_.emplace(guard_->client());
    expect_what_sql_finds();
  }

  void run(const std::string& sql) { session_->run(sql); }

  std::set<int> found_by_sql() {
    std::set<int> ids;
    for (const auto& row : session_->run("SELECT id FROM user")) {
      ids.insert(std::stoi(row[0].value_or("0")));
    }
    return ids;
  }
  std::set<int> not_absent() {
    std::string questions;
    for (int id = 0; id <= kLargest; ++id) {
      questions += command({"GET", "user:" + std::to_string(id)});
    }
    client_->send(questions);
    std::set<int> ids;
    for (int id = 0; id <= kLargest; ++id) {
      if (client_->read_reply() != kAnswer) {
        ids.insert(id);
      }
    }
    return ids;
  }
  void expect_what_sql_finds() {
    const std::set<int> rows = found_by_sql();
    EXPECT_TRUE(eventually([&] { return not_absent() == rows; }, milliseconds(20'000)))
        << guard_->log();
  }
  // Followed, not read again.
  void expect_one_load() const {
    const std::string log = guard_->log();
    EXPECT_EQ(log.find("event=loaded"), log.rfind("event=loaded")) << log;
  }

  // Its verdict is still to be given, from whatever session. Ids are greater by `offset`.
  void prepare_xa(const std::string& offset) {
    run("XA START 'x'; INSERT INTO user (id) VALUES (1110 + " + offset +
        "); DELETE FROM user WHERE id = 21 + " + offset + "; UPDATE user SET id = 1111 + " +
        offset + " WHERE id = 22 + " + offset + "; XA END 'x'; XA PREPARE 'x'");
  }

  // Rows of all kinds of events.
  void write_rows() {
    run("INSERT INTO user (id, name) VALUES (1001, 'a'), (1002, REPEAT('b', 400)), (1003, NULL)");
    run("UPDATE user SET id = id + 100 WHERE id BETWEEN 1001 AND 1003");
    run("DELETE FROM user WHERE id % 7 = 0");
    run("BEGIN; INSERT INTO user (id) VALUES (1150); UPDATE user SET id = 1151 WHERE id = 1150; "
        "UPDATE user SET name = 'c' WHERE id = 1151; DELETE FROM user WHERE id = 1; COMMIT");
    run("BEGIN; DELETE FROM user; ROLLBACK");
    run("REPLACE INTO user (id, name) VALUES (2, REPEAT('d', 300)), (7, 'e')");
    run("INSERT INTO user (id) VALUES (3), (1160) ON DUPLICATE KEY UPDATE id = 1161");
    run("UPDATE user SET n = n + 1");
  }

  std::optional<MariaDbServer> server_;
  std::optional<SqlSession> session_;
  std::optional<RedisServer> redis_;
  std::optional<GuardProcess> guard_;
  std::optional<RawClient> client_;
};

TEST_F(MariaDbLogForms, compressed_transactions_are_followed) {
  start_server({"--log-bin-compress=ON", "--log-bin-compress-min-len=10"}, "");
  start_guard();
  write_rows();
  expect_what_sql_finds();
  std::string events;
  for (const auto& event : session_->run("SHOW BINLOG EVENTS")) {
    events += event[2].value_or("") + "\n";
  }
  for (const char* const kind : {"Write", "Update", "Delete"}) {
    EXPECT_NE(events.find(kind + std::string("_rows_compressed")), std::string::npos) << events;
  }
  run("SET GLOBAL log_bin_compress = OFF");
  run("INSERT INTO user (id) VALUES (1190)");
  expect_what_sql_finds();
  expect_one_load();
}

TEST_F(MariaDbLogForms, rows_without_unchanged_columns_are_followed_where_keys_are_primary_keys) {
  for (const char* const image : {"MINIMAL", "NOBLOB"}) {
    SCOPED_TRACE(image);
    client_.reset();
    guard_.reset();
    session_.reset();
    start_server({"--binlog-row-image=" + std::string(image)}, "");
    start_guard();
    write_rows();
    expect_what_sql_finds();
    expect_one_load();
  }
}

TEST_F(MariaDbLogForms, rows_without_unchanged_columns_are_refused_where_other_columns_matter) {
  start_server({"--binlog-row-image=MINIMAL"}, "");
  guard_.emplace(GuardProcess::on_port(yaml("user, where: \"n <> 9\"")));
  ASSERT_TRUE(eventually([this] {
    return guard_->log().find("state=refused") != std::string::npos;
  })) << guard_->log();
  EXPECT_NE(guard_->log().find("SET GLOBAL binlog_row_image = FULL"), std::string::npos)
      << guard_->log();
  EXPECT_NE(guard_->call({"GET", "user:1000000"}), kAnswer);
}

TEST_F(MariaDbLogForms, partitioned_tables_are_followed) {
  start_server({},
               "PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (400), PARTITION b VALUES "
               "LESS THAN (800), PARTITION c VALUES LESS THAN MAXVALUE)");
  start_guard();
  write_rows();
  run("UPDATE user SET id = 1170 WHERE id = 5");  // from one partition to another
  expect_what_sql_finds();
  expect_one_load();
  run("ALTER TABLE user TRUNCATE PARTITION a");
  expect_what_sql_finds();
  run("ALTER TABLE user DROP PARTITION b");
  run("INSERT INTO user (id) VALUES (10), (500)");
  expect_what_sql_finds();
  run("CREATE TABLE other (id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(400), n INT DEFAULT 7)");
  run("INSERT INTO other (id) VALUES (20), (21)");
  run("ALTER TABLE user EXCHANGE PARTITION a WITH TABLE other");
  expect_what_sql_finds();
}

// A definition that changes without a word in the log: the rows behind it have another column in
// the key's place.
TEST_F(MariaDbLogForms, columns_that_are_not_those_that_were_read_hide_no_row) {
  start_server({}, "");
  start_guard();
  run("SET sql_log_bin = 0; ALTER TABLE user MODIFY n INT DEFAULT 7 FIRST; SET sql_log_bin = 1");
  run("INSERT INTO user (id, n) VALUES (1100, 3), (1101, 4)");
  expect_what_sql_finds();
  EXPECT_NE(
      guard_->log().find("column `id` is bigint(20) unsigned in the schema and INT in the log"),
      std::string::npos)
      << guard_->log();
  run("UPDATE user SET id = 1102 WHERE id = 1100");
  expect_what_sql_finds();
}

// As tables of events are mostly made; with a key over a text, of which MariaDB keeps a hash in a
// column of its own.
TEST_F(MariaDbLogForms, keys_with_a_time_and_columns_that_nobody_sees_are_followed) {
  start_server({}, "");
  run("CREATE OR REPLACE TABLE user (id BIGINT UNSIGNED, at DATETIME(3) DEFAULT '2026-02-03', name "
      "VARCHAR(400), n INT DEFAULT 7, note TEXT, PRIMARY KEY (id, at), UNIQUE (note, id, at)) "
      "PARTITION BY RANGE COLUMNS (at) (PARTITION a VALUES LESS THAN ('2026-01-01'), PARTITION b "
      "VALUES LESS THAN MAXVALUE)");
  run("INSERT INTO user (id, note) SELECT seq, seq FROM seq_1_to_1000");
  start_guard(", deletes: exact");
  write_rows();
  run("UPDATE user SET at = '2025-02-03 04:05:06.789', id = 1180 WHERE id = 5");
  expect_what_sql_finds();
  expect_one_load();
}

TEST_F(MariaDbLogForms, xa_transactions_count_when_their_verdict_is_given) {
  start_server({}, "");
  run("XA START 'before'; INSERT INTO user (id) VALUES (1100); DELETE FROM user WHERE id = 11; XA "
      "END 'before'; XA PREPARE 'before'");
  session_.reset();  // in another session can end what another has left
  session_.emplace(server_->session());
  start_guard();
  run("XA COMMIT 'before'");
  expect_what_sql_finds();
  for (const std::string verdict : {"COMMIT", "ROLLBACK"}) {
    SCOPED_TRACE(verdict);
    const std::string offset = verdict == "COMMIT" ? "0" : "10";
    prepare_xa(offset);
    session_.reset();
    session_.emplace(server_->session());
    run("INSERT INTO user (id) VALUES (1130 + " + offset + ")");
    expect_what_sql_finds();
    run("XA " + verdict + " 'x'");
    expect_what_sql_finds();
  }
  run("XA START 'one'; INSERT INTO user (id) VALUES (1180); XA END 'one'; XA COMMIT 'one' ONE "
      "PHASE");
  expect_what_sql_finds();
}

// MariaDB logs XA COMMIT before its engine has done it. How that takes long: there is another one
// of the name, in no log.
TEST_F(MariaDbLogForms,
       no_table_is_read_while_an_xa_transaction_is_not_done_that_the_log_has_ended) {
  start_server({}, "");
  run("CREATE TABLE other (id INT PRIMARY KEY)");
  const auto prepare = [this](const std::string& name, const std::string& id) {
    run("SET sql_log_bin = 0; XA START '" + name + "'; INSERT INTO other VALUES (" + id +
        "); XA END '" + name + "'; XA PREPARE '" + name + "'");
    session_.emplace(server_->session());
  };
  prepare("left by somebody", "1");
  start_guard();
  run("XA START 'late'; INSERT INTO other VALUES (2); XA END 'late'; XA PREPARE 'late'; XA COMMIT "
      "'late'");
  prepare("late", "3");
  run("ALTER TABLE user ADD COLUMN more INT");
  EXPECT_TRUE(eventually([this] {
    return guard_->log().find(
               "an XA transaction that has ended in the log is not finished on the server yet") !=
           std::string::npos;
  })) << guard_->log();
  EXPECT_EQ(not_absent().size(), kLargest + 1U) << "all pass meanwhile";
  run("SET sql_log_bin = 0; XA ROLLBACK 'late'");
  expect_what_sql_finds();
}

}  // namespace
}  // namespace cuckooguard::harness
