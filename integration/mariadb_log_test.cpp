// The log of a real MariaDB, followed from a snapshot: at every quiet point the filter's contents
// are the rows.
//
// The filter is a multiset here, so that a row that is counted twice, or one too many that is left,
// is seen; the guard's own would hide both behind its false positives.

#include <atomic>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/on_sql_server.h"
#include "harness/deadline.h"
#include "harness/seed.h"
#include "mysql/log_applier.h"
#include "mysql/log_follower.h"
#include "mysql/read_view.h"

namespace cuckooguard::harness {
namespace {

using source::Transaction;
using source::mysql::Connection;
using source::mysql::FollowedTable;
using source::mysql::LogApplier;
using source::mysql::LogPosition;
using source::mysql::LogStream;

// Identities as they are, by a hash that is a number.
class Contents final : public source::RowTarget<source::mysql::Log> {
 public:
  std::expected<Transaction::Image, std::string> image(source::RowValues values) override {
    if (!values[0]) {
      return std::nullopt;
    }
    return std::hash<std::string_view>{}(*values[0]);
  }
  std::expected<void, std::string> insert(const source::mysql::CommitMark&,
                                          const Transaction& transaction) override {
    transaction.for_each_insert([this](std::uint64_t hash) { hashes_.insert(hash); });
    return {};
  }
  std::expected<void, std::string> erase(const source::mysql::CommitMark&,
                                         const Transaction& transaction) override {
    bool is_good = true;
    transaction.for_each_erase([&](std::uint64_t hash) {
      const auto found = hashes_.find(hash);
      is_good = is_good && found != hashes_.end();
      if (found != hashes_.end()) {
        hashes_.erase(found);
      }
    });
    return is_good ? std::expected<void, std::string>()
                   : std::unexpected("a row went that was never there");
  }
  void add(source::RowValues values) {
    if (const auto hash = *image(values)) {
      hashes_.insert(*hash);
    }
  }
  const std::multiset<std::uint64_t>& hashes() const { return hashes_; }

 private:
  std::multiset<std::uint64_t> hashes_;
};

// user (id, name, note): the name is the identity.
source::mysql::TablePlan user_table() {
  const source::mysql::Column text{.name = "",
                                   .data_type = "varchar",
                                   .column_type = "varchar(40)",
                                   .charset = "utf8mb4",
                                   .collation = "utf8mb4_bin"};
  source::mysql::TablePlan table;
  table.schema = MariaDbServer::kDatabase;
  table.name = "user";
  table.columns = {{.name = "id",
                    .data_type = "bigint",
                    .column_type = "bigint(20) unsigned",
                    .nullable = false},
                   text,
                   {.name = "note", .data_type = "text", .column_type = "text"}};
  table.columns[1].name = "name";
  table.identity = {1};
  table.primary_key = {0};
  return table;
}

// What applications do to a table, one statement or transaction at a time.
class Writer {
 public:
  Writer(SqlSession session, unsigned seed) : session_(std::move(session)), random_(seed) {}

  void write() {
    const std::string id = std::to_string(pick(200));
    const std::string other = std::to_string(pick(200));
    const std::string name = "'" + std::string(1, static_cast<char>('a' + pick(20))) + id + "'";
    switch (pick(10)) {
      case 0:
      case 1:
        return run("INSERT IGNORE INTO user VALUES (" + id + ", " + name + ", 'x'), (" + other +
                   ", CONCAT(" + name + ", '-'), NULL)");
      case 2:
        return run("DELETE FROM user WHERE id = " + id);
      case 3:
        return run("UPDATE IGNORE user SET id = " + other + " WHERE id = " + id);
      case 4:
        return run("REPLACE INTO user VALUES (" + id + ", " + name + ", NULL)");
      case 5:
        return run("INSERT INTO user VALUES (" + id + ", " + name +
                   ", 'y') ON DUPLICATE KEY UPDATE name = CONCAT(" + name + ", '+')");
      case 6:
        return run("UPDATE user SET note = UUID() WHERE id < " + other);
      case 7:
        return run("UPDATE IGNORE user SET name = NULL WHERE id = " + id);
      case 8:
        return run("BEGIN; DELETE FROM user WHERE id = " + id +
                   "; INSERT IGNORE INTO user VALUES (" + id + ", " + name +
                   ", 'again'); SAVEPOINT a; DELETE FROM user WHERE id < " + other +
                   "; ROLLBACK TO a; COMMIT");
      default:
        return run("BEGIN; INSERT IGNORE INTO user VALUES (" + id + ", " + name +
                   ", 'never'); DELETE FROM user WHERE id > " + other + "; ROLLBACK");
    }
  }

 private:
  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }
  // A deadlock or a name that is taken is an application's everyday life.
  void run(const std::string& sql) {
    if (session_.try_run(sql) != 0) {
      session_.try_run("ROLLBACK");
    }
  }

  SqlSession session_;
  std::mt19937 random_;
};

class MariaDbLog : public OnMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(40), note TEXT, UNIQUE "
        "(name))");
  }

  Connection connect() const {
    auto connection = Connection::open({.unix_path = server_->unix_path(),
                                        .user = "root",
                                        .database = MariaDbServer::kDatabase,
                                        .timeout = std::chrono::seconds(30)});
    EXPECT_TRUE(connection) << connection.error().what;
    return std::move(*connection);
  }

  // A snapshot and the place in the log behind it.
  LogPosition load(Connection& connection, Contents& contents) {
    auto view = source::mysql::open_view(connection);
    EXPECT_TRUE(view) << view.error().what;
    read_rows(connection, contents);
    return view->covered;
  }
  static void read_rows(Connection& connection, Contents& contents) {
    auto rows = connection.stream("SELECT name FROM user");
    ASSERT_TRUE(rows) << rows.error().what;
    for (;;) {
      const auto row = rows->next();
      ASSERT_TRUE(row) << row.error().what;
      if (!*row) {
        return;
      }
      contents.add(**row);
    }
  }

  // Applies the log from `position` to its end.
  void follow(const LogPosition& position, Contents& contents) {
    const source::mysql::TablePlan plan = user_table();
    FollowedTable table(plan, contents);
    LogApplier applier(position, {.on_out_of_step = [this](FollowedTable&, std::string_view why) {
                         out_of_step_ = why;
                       }});
    applier.join(table);
    auto stream = LogStream::begin(connect(), position, {.server_id = 77, .ends_at_last = true});
    ASSERT_TRUE(stream) << stream.error().what;
    applier.reconnected({.checksum = stream->checksum()}, 1);
    for (;;) {
      const auto event = stream->next();
      ASSERT_TRUE(event) << event.error().what;
      if (!*event) {
        break;
      }
      const auto applied = applier.apply(**event);
      ASSERT_TRUE(applied) << applied.error();
    }
    EXPECT_EQ(applier.position().text(), server_->session().value("SELECT @@gtid_binlog_pos"));
  }

  std::multiset<std::uint64_t> rows_now() {
    Contents contents;
    Connection connection = connect();
    read_rows(connection, contents);
    return contents.hashes();
  }

  std::string out_of_step_;
};

TEST_F(MariaDbLog, brings_a_snapshot_to_exactly_the_rows_whatever_was_written_meanwhile) {
  const std::uint32_t seed = seed_of_this_run();
  constexpr int kWrites = 1500;
  for (std::uint32_t round = 0; round < 3; ++round) {
    std::atomic<int> written = 0;
    std::vector<std::jthread> writers;
    writers.reserve(3);
    for (std::uint32_t i = 0; i < 3; ++i) {
      writers.emplace_back([&, i] {
        Writer writer(server_->session(), seed + 10 * round + i);
        for (int n = 0; n < kWrites; ++n, ++written) {
          writer.write();
        }
      });
    }
    ASSERT_TRUE(eventually([&written] { return written > kWrites; }));
    Contents contents;
    Connection connection = connect();
    const LogPosition position = load(connection, contents);
    EXPECT_LT(written, 3 * kWrites) << "there was nothing left to follow";
    writers.clear();
    follow(position, contents);
    EXPECT_EQ(out_of_step_, "");
    EXPECT_EQ(contents.hashes(), rows_now());
    EXPECT_FALSE(contents.hashes().empty());
  }
}

// What makes the position above right. Read a moment before the view, it counts a row twice; after
// it, loses one.
TEST_F(MariaDbLog, from_a_position_that_was_read_beside_the_view_is_caught) {
  SqlSession writer = server_->session();
  for (const bool before : {true, false}) {
    Contents contents;
    Connection connection = connect();
    std::string beside;
    if (before) {
      beside = writer.value("SELECT @@gtid_binlog_pos");
      writer.run("INSERT INTO user VALUES (1, 'between', NULL)");
      load(connection, contents);
    } else {
      ASSERT_TRUE(source::mysql::open_view(connection));
      writer.run("INSERT INTO user VALUES (2, 'behind', NULL)");
      beside = writer.value("SELECT @@gtid_binlog_pos");
      read_rows(connection, contents);
    }
    const auto position = LogPosition::parse(beside, true);
    ASSERT_TRUE(position);
    follow(*position, contents);
    EXPECT_NE(contents.hashes(), rows_now());
  }
}

}  // namespace
}  // namespace cuckooguard::harness
