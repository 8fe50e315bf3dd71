// A guard that follows a real MariaDB: what the database has is never hidden, what it has not is
// answered.

#include <csignal>
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

class MariaDbSource : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40))");
    run("INSERT INTO user (name) SELECT seq FROM seq_1_to_1000");
    run("CREATE TABLE orders (id INT PRIMARY KEY, user_id BIGINT UNSIGNED NOT NULL)");
    run("INSERT INTO orders SELECT seq, 7 FROM seq_1_to_500");
  }

  std::string yaml(const std::string& more = "") const {
    return configuration(
        Guarded().yaml() +
        Guarded{
            .name = "orders", .keys = "orders:{user_id:uint64}", .table = "orders", .fresh_ids = ""}
            .yaml() +
        more);
  }
  void start(const std::string& more = "") { GuardedMariaDb::start(yaml(more)); }
};

TEST_F(MariaDbSource, answers_what_is_absent_and_passes_what_is_there) {
  start();
  ASSERT_TRUE(becomes_absent("user:1001")) << guard_->log();
  for (const char* const id : {"1", "500", "1000"}) {
    EXPECT_FALSE(is_absent("user:" + std::string(id)));
  }
  EXPECT_TRUE(becomes_absent("orders:8"));
  EXPECT_FALSE(is_absent("orders:7"));
}

TEST_F(MariaDbSource, follows_inserts_deletes_and_changes_of_keys) {
  start();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  run("INSERT INTO user VALUES (5000, 'new')");
  EXPECT_TRUE(becomes_present("user:5000"));
  run("UPDATE user SET id = 6000 WHERE id = 5000");
  EXPECT_TRUE(becomes_present("user:6000"));
  EXPECT_TRUE(becomes_absent("user:5000"));
  run("DELETE FROM user WHERE id IN (6000, 17)");
  EXPECT_TRUE(becomes_absent("user:6000"));
  EXPECT_TRUE(becomes_absent("user:17"));
  EXPECT_FALSE(is_absent("user:18"));
}

TEST_F(MariaDbSource, keeps_an_identity_that_other_rows_still_have) {
  start();
  ASSERT_TRUE(becomes_absent("orders:8")) << guard_->log();
  run("DELETE FROM orders WHERE id = 1");
  run("INSERT INTO orders VALUES (1000, 9)");
  ASSERT_TRUE(becomes_present("orders:9"));
  EXPECT_FALSE(is_absent("orders:7"));
}

class MariaDbUuids : public MariaDbSource {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BINARY(16) PRIMARY KEY, name VARCHAR(40), gone BIT(1))");
    insert(kRead);
  }
  void insert(const std::string& hex) { run("INSERT INTO user (id) VALUES (X'" + hex + "')"); }
  void start(const std::string& more) {
    Guarded guarded;
    guarded.keys = "user:{id:uuid}";
    guarded.table = "user" + more;
    guarded.fresh_ids = "";
    GuardedMariaDb::start(configuration(guarded.yaml()));
    ASSERT_TRUE(becomes_absent(kNobody)) << guard_->log();
  }

  static constexpr const char* kRead = "66774455001122338899aabbccddeeff";
  static constexpr const char* kLogged = "66774455001122338899aabbcc000000";
  static constexpr const char* kNobody = "user:00000000-0000-4000-8000-000000000000";
};

// A log leaves out zeros at the end of BINARY.
TEST_F(MariaDbUuids, of_16_bytes_are_those_of_their_texts) {
  start("");
  insert(kLogged);
  EXPECT_TRUE(becomes_present("user:66774455-0011-2233-8899-aabbcc000000"));
  EXPECT_FALSE(is_absent("user:66774455-0011-2233-8899-aabbccddeeff"));
  EXPECT_TRUE(becomes_absent("user:00112233-4455-6677-8899-aabbccddeeff")) << "swapped";
  run(std::string("DELETE FROM user WHERE id = X'") + kLogged + "'");
  EXPECT_TRUE(becomes_absent("user:66774455-0011-2233-8899-aabbcc000000"));
  run("UPDATE user SET id = X'00'");
  EXPECT_TRUE(becomes_present("user:00000000-0000-0000-0000-000000000000"));
  EXPECT_TRUE(becomes_absent("user:66774455-0011-2233-8899-aabbccddeeff"));
}

TEST_F(MariaDbUuids, may_be_swapped) {
  start(", uuids: swapped");
  insert(kLogged);
  EXPECT_TRUE(becomes_present("user:00112233-4455-6677-8899-aabbcc000000"));
  EXPECT_FALSE(is_absent("user:00112233-4455-6677-8899-aabbccddeeff"));
  EXPECT_TRUE(becomes_absent("user:66774455-0011-2233-8899-aabbccddeeff"));
}

// Tables of dates, and of uuids in texts of several collations.
class MariaDbSpellings : public MariaDbSource {
 protected:
  MariaDbSpellings() {
    for (const std::string collation :
         {"utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_bin"}) {
      columns_["in_" + collation] = "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE " + collation;
    }
  }

  void insert() {
    for (const auto& [table, type] : columns_) {
      run("INSERT INTO " + table + " VALUES " +
          (table == "day" ? "('2024-02-29'), ('0000-00-00'), ('0001-01-01'), ('9999-12-31')"
                          : "('" + begin_ + "5'), ('" + capital_ + "A'), ('" + begin_ +
                                "\xC3\xA9'), ('nobody'), ('{" + capital_ + "B}')"));
    }
  }
  // MariaDB itself says which spellings find a row.
  void expect_none_hidden() {
    int found = 0;
    for (const auto& [table, type] : columns_) {
      for (const std::string& value : values_) {
        const bool is_found =
            session_->value("SELECT COUNT(*) FROM " + table + " WHERE v = '" + value + "'") != "0";
        found += is_found ? 1 : 0;
        EXPECT_FALSE(is_found && is_absent(table + ":" + value)) << table << ' ' << value;
      }
    }
    EXPECT_GT(found, 20);
  }
  void expect_missing(const std::string& uuid) {
    for (const auto& [table, type] : columns_) {
      const std::string key = table + ":" + (table == "day" ? "2024-02-28" : uuid);
      EXPECT_TRUE(becomes_absent(key)) << key << guard_->log();
    }
  }

  const std::string begin_ = "0189fe5c-09af-7000-8000-abcdef01234";
  const std::string capital_ = "0189FE5C-09AF-7000-8000-ABCDEF01234";
  const std::vector<std::string> values_{begin_ + "5",
                                         capital_ + "5",
                                         capital_ + "A",
                                         begin_ + "a",
                                         begin_ + "A",
                                         begin_ + "e",
                                         begin_ + "\xC3\xA9",
                                         begin_ + "E",
                                         "nobody",
                                         "{" + begin_ + "b}",
                                         begin_ + "b",
                                         "2024-02-29",
                                         "20240229",
                                         "2024-2-29",
                                         "0000-00-00",
                                         "9999-12-31"};
  std::map<std::string, std::string> columns_{{"day", "DATE"}};
};

TEST_F(MariaDbSpellings, none_of_them_hides_a_row) {
  std::string namespaces;
  for (const auto& [table, type] : columns_) {
    run("CREATE TABLE " + table + " (v " + type + " PRIMARY KEY)");
    namespaces += Guarded{.name = table,
                          .keys = table + (table == "day" ? ":{v:date}" : ":{v:uuid}"),
                          .table = table,
                          .fresh_ids = ""}
                      .yaml();
  }
  insert();
  GuardedMariaDb::start(configuration(namespaces));
  const std::string other = "1" + begin_.substr(1) + "5";
  expect_missing(other);
  expect_none_hidden();
  for (const auto& [table, type] : columns_) {
    run("DELETE FROM " + table);
  }
  expect_missing(begin_ + "5");
  EXPECT_TRUE(becomes_absent("day:2024-02-29"));
  EXPECT_TRUE(becomes_absent("in_utf8mb4_general_ci:" + begin_ + "a"));
  insert();
  EXPECT_TRUE(becomes_present("in_utf8mb4_bin:" + begin_ + "5"));
  EXPECT_TRUE(becomes_present("in_utf8mb4_unicode_ci:" + begin_ + "5"));
  expect_none_hidden();
  expect_missing(other);
}

// Soft deletes: the column is of a type whose text the log does not tell, only whether it is NULL.
TEST_F(MariaDbSource, takes_rows_for_which_the_condition_does_not_hold_for_absent) {
  run("ALTER TABLE user ADD deleted_at TIMESTAMP NULL, ADD kind INT NOT NULL DEFAULT 0");
  run("UPDATE user SET deleted_at = NOW() WHERE id = 2");
  start(Guarded{.name = "live",
                .keys = "live:{id:uint64}",
                .table = R"(user, where: "deleted_at IS NULL AND kind <> 9")"}
            .yaml());
  ASSERT_TRUE(becomes_absent("live:2")) << guard_->log();
  EXPECT_FALSE(is_absent("user:2"));
  run("UPDATE user SET deleted_at = NULL WHERE id = 2");
  EXPECT_TRUE(becomes_present("live:2"));
  run("UPDATE user SET deleted_at = NOW() WHERE id = 3");
  EXPECT_TRUE(becomes_absent("live:3"));
  EXPECT_FALSE(is_absent("user:3"));
  run("BEGIN; UPDATE user SET id = 5000 WHERE id = 4; UPDATE user SET kind = 9 WHERE id = 5000; "
      "UPDATE user SET id = 5001, deleted_at = NULL WHERE id = 3; COMMIT");
  EXPECT_TRUE(becomes_present("live:5001"));
  EXPECT_TRUE(is_absent("live:5000"));
  EXPECT_TRUE(becomes_absent("live:4"));
  EXPECT_FALSE(is_absent("user:5000"));
  EXPECT_FALSE(is_absent("live:5"));
}

// 500 orders of one user: the key goes with the last of them.
TEST_F(MariaDbSource, counts_the_rows_of_one_identity_if_deletes_are_exact) {
  run("INSERT INTO orders SELECT seq + 1000, 8 FROM seq_1_to_500");
  start(Guarded{.name = "buyers",
                .keys = "buyer:{user_id:uint64}",
                .table = "orders",
                .fresh_ids = "",
                .filter = "{ deletes: exact, false_positive_rate: 0.0001% }"}
            .yaml());
  ASSERT_TRUE(becomes_absent("buyer:9")) << guard_->log();
  EXPECT_FALSE(is_absent("buyer:7"));
  run("DELETE FROM orders WHERE id = 1");
  run("DELETE FROM orders WHERE user_id = 8");
  EXPECT_TRUE(becomes_absent("buyer:8"));
  EXPECT_FALSE(is_absent("buyer:7"));
  run("DELETE FROM orders WHERE user_id = 7 LIMIT 498");
  run("INSERT INTO orders VALUES (3000, 9)");
  EXPECT_TRUE(becomes_present("buyer:9"));
  EXPECT_FALSE(is_absent("buyer:7"));
  run("DELETE FROM orders WHERE user_id = 7");
  EXPECT_TRUE(becomes_absent("buyer:7"));
  run("UPDATE orders SET user_id = 10 WHERE user_id = 9");
  EXPECT_TRUE(becomes_present("buyer:10"));
  EXPECT_TRUE(becomes_absent("buyer:9"));
}

// What has gone passes, until so much has gone that the table is read again beside the log.
TEST_F(MariaDbSource, forgets_rows_with_the_next_rebuild_if_deletes_are_deferred) {
  run("INSERT INTO user (name) SELECT seq FROM seq_1_to_2000");
  start(Guarded{.name = "kept",
                .keys = "kept:{id:uint64}",
                .filter = "{ deletes: deferred, false_positive_rate: 0.0001% }"}
            .yaml());
  ASSERT_TRUE(becomes_absent("kept:5000")) << guard_->log();
  ASSERT_TRUE(becomes_absent("user:5000"));
  run("DELETE FROM user WHERE id <= 1500");
  ASSERT_TRUE(becomes_absent("user:1500"));
  EXPECT_FALSE(is_absent("kept:1500"));
  EXPECT_TRUE(becomes_absent("kept:1500"));
  EXPECT_TRUE(is_absent("kept:1"));
  EXPECT_FALSE(is_absent("kept:1501"));
}

TEST_F(MariaDbSource, reads_a_table_again_whose_definition_has_changed) {
  start();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  run("TRUNCATE TABLE user");
  EXPECT_TRUE(becomes_absent("user:1"));
  run("ALTER TABLE user ADD COLUMN note TEXT FIRST");
  run("INSERT INTO user (id) VALUES (5000)");
  EXPECT_TRUE(becomes_present("user:5000"));
  EXPECT_TRUE(becomes_absent("user:5001"));
  EXPECT_FALSE(is_absent("user:5000"));
}

TEST_F(MariaDbSource, passes_within_max_lag_when_the_server_says_nothing_more) {
  start();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  server_->send_signal(SIGSTOP);
  EXPECT_TRUE(becomes_present("user:5000"));
  server_->send_signal(SIGCONT);
  EXPECT_TRUE(becomes_absent("user:5000"));
}

TEST_F(MariaDbSource, comes_back_after_a_restart_of_the_server) {
  start();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  session_.reset();
  server_->kill();
  EXPECT_TRUE(becomes_present("user:5000"));
  server_->start_again();
  server_->session().run("INSERT INTO user VALUES (6000, 'new'); DELETE FROM user WHERE id = 3");
  EXPECT_TRUE(becomes_absent("user:5000"));
  EXPECT_TRUE(becomes_present("user:6000"));
  EXPECT_TRUE(becomes_absent("user:3"));
}

// What is committed is found in time: no key that was inserted longer than max_lag ago is answered
// absent.
TEST_F(MariaDbSource, hides_no_row_for_longer_than_max_lag) {
  start();
  ASSERT_TRUE(becomes_absent("user:100000")) << guard_->log();
  RawClient client = guard_->client();
  milliseconds longest{0};
  std::size_t hidden = 0;
  for (int i = 0; i < 500; ++i) {
    const std::string id = std::to_string(100'000 + i);
    run("INSERT INTO user VALUES (" + id + ", NULL)");
    const auto committed = SteadyClock::now();
    auto sent = committed;  // the verdict comes after that, however late the reply is read
    while (client.call({"GET", "user:" + id}) == kAnswer) {
      ++hidden;
      longest = std::max(longest, std::chrono::duration_cast<milliseconds>(sent - committed));
      sent = SteadyClock::now();
    }
  }
  EXPECT_LT(longest, kMaxLag);
  RecordProperty("hidden_in_window", static_cast<int>(hidden));
}

// Without --strict-start: refused_test.cpp.
TEST_F(MariaDbSource, strict_start_says_all_that_is_refused_with_the_sql_that_helps) {
  run("CREATE TABLE loose (id INT)");
  run("CREATE TABLE odd (name VARCHAR(9) COLLATE utf8mb4_lithuanian_ci PRIMARY KEY)");
  run("CREATE USER nobody@localhost IDENTIFIED BY 'word'");
  run("GRANT SELECT ON shop.* TO nobody@localhost");
  std::string text = yaml(
      "  loose: { keys: \"loose:{id:uint64}\", source: { from: shop, table: loose } }\n"
      "  odd: { keys: \"odd:{name|ci}\", source: { from: shop, table: odd } }\n"
      "  named: { keys: \"name:{id:uint64}\", source: { from: shop, table: user, where: "
      "\"name = 'a'\" } }\n"
      "  twice: { keys: \"twice:{id:uint64}:{again:uint64}\", source: { from: shop, table: "
      "user, columns: { again: id } } }\n"
      "  buyers: { keys: \"buyer:{user_id:uint64}\", source: { from: shop, table: orders }, "
      "filter: { deletes: trusted } }\n");
  text.replace(text.find("user: guard"), 11, "user: nobody");
  const TemporaryDirectory folder;
  write_whole_file(folder / "guard.yaml",
                   "listen: unix:" + (folder / "guard.sock").string() + "\n" + text);
  const Ended ended = run_guard({"--config", (folder / "guard.yaml").string(), "--strict-start"});
  EXPECT_EQ(ended.exit_code, 78) << ended.standard_error;
  for (const char* const words : {"GRANT BINLOG MONITOR ON *.* TO 'nobody'@'localhost'",
                                  "`loose` has no primary key",
                                  ("column `name` (varchar(9)) has the collation "
                                   "utf8mb4_lithuanian_ci, in which different letters"),
                                  "column `id` is used for two placeholders",
                                  "where: column `name` (varchar(40)) has the character set latin1",
                                  "deletes: trusted requires that no two rows have the same key"}) {
    EXPECT_NE(ended.standard_error.find(words), std::string::npos)
        << words << " in " << ended.standard_error;
  }
}

}  // namespace
}  // namespace cuckooguard::harness
