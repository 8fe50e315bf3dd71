// What is refused at the start, asked of a real MariaDB with the documented grants alone: each
// check sees what it is to refuse.

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/parse.h"
#include "filter/epochs.h"
#include "fixtures/guarded_mariadb.h"
#include "harness/configuration.h"
#include "harness/deadline.h"
#include "harness/mariadb_server.h"
#include "mysql/log_follower.h"
#include "mysql/table.h"

namespace cuckooguard::harness {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// One namespace as the YAML says, `t: { keys: ..., source: { from: shop, ... } }`.
class Wanted {
 public:
  explicit Wanted(const std::string& yaml)
      : config_(config::testing::config_of(
            Configuration{.namespaces = "  t: { " + yaml + " }\n"}.yaml())) {}

  source::Target target() { return {keyspace_, 0, config_.namespaces.front(), parts_}; }

 private:
  config::Config config_;
  keyspace::Keyspace keyspace_ =
      keyspace::Keyspace::build({{"t", config_.namespaces.front().keys, false}}).value();
  filter::Epochs epochs_{1};
  filter::LiveParts parts_{epochs_, filter::random_secret()};
};

class MariaDbStartChecks : public testing::Test {
 protected:
  void SetUp() override { SKIP_IF_MISSING(MariaDbServer::missing()); }
  void start(const std::vector<std::string>& arguments = {}) {
    server_.emplace(arguments);
    session_.emplace(server_->session());
    create_guard_user(*server_);
  }
  void run(const std::string& sql) { session_->run(sql); }

  source::mysql::Login login() const {
    return {.unix_path = server_->unix_path(),
            .user = "guard",
            .password = "word",
            .database = MariaDbServer::kDatabase,
            .timeout = std::chrono::seconds(30)};
  }
  std::vector<std::string> refusals(const std::string& yaml) const {
    Wanted wanted(yaml);
    const std::vector<source::Target> targets{wanted.target()};
    const std::vector<source::mysql::Login> logins{login()};
    std::vector<std::string> all;
    for (const source::Refusal& refusal : source::mysql::LogFollower::check(logins, targets)) {
      all.push_back(refusal.what);
    }
    return all;
  }

  std::optional<MariaDbServer> server_;
  std::optional<SqlSession> session_;
};

struct Case {
  const char* name;
  const char* sql;    // makes it; the table is `t`
  const char* yaml;   // empty: keys of `id`
  const char* words;  // empty: not refused
};

constexpr const char* kById = "keys: \"t:{id:uint64}\", source: { from: shop, table: t }";

// --- tables, columns and keys, of which information_schema tells ---

constexpr Case kDefinitions[] = {
    {"good", "CREATE TABLE t (id INT PRIMARY KEY)", "", ""},
    {"no table", "CREATE TABLE other (id INT PRIMARY KEY)", "", "table `t` does not exist"},
    {"view",
     "CREATE TABLE other (id INT PRIMARY KEY); CREATE VIEW t AS SELECT id FROM other",
     "",
     "is not a table but a view"},
    {"view of nothing",
     "CREATE TABLE other (id INT PRIMARY KEY); CREATE VIEW t AS SELECT id FROM other; DROP TABLE "
     "other",
     "",
     "is not a table but a view"},
    {"sequence", "CREATE SEQUENCE t", "", "is not a table but a sequence"},
    {"engine", "CREATE TABLE t (id INT PRIMARY KEY) ENGINE=MyISAM", "", "uses the engine MyISAM"},
    {"no primary key", "CREATE TABLE t (id INT)", "", "`t` has no primary key"},
    {"no column", "CREATE TABLE t (other INT PRIMARY KEY)", "", "has no column `id`"},
    {"type", "CREATE TABLE t (id FLOAT PRIMARY KEY)", "", "`id` (float) has a type"},
    {"zerofill", "CREATE TABLE t (id INT ZEROFILL PRIMARY KEY)", "", "is ZEROFILL"},
    {"charset",
     "CREATE TABLE t (id VARCHAR(9) CHARACTER SET latin1 PRIMARY KEY)",
     "keys: \"t:{id|ci}\", source: { from: shop, table: t }",
     "has the character set latin1"},
    {"collation",
     "CREATE TABLE t (id VARCHAR(9) CHARACTER SET utf8mb4 PRIMARY KEY)",
     "keys: \"t:{id}\", source: { from: shop, table: t }",
     "in which different bytes can be equal"},
    {"never null",
     "CREATE TABLE t (id INT PRIMARY KEY, gone INT NOT NULL)",
     "keys: \"t:{id:uint64}\", source: { from: shop, table: t, where: \"gone IS NULL\" }",
     "IS NULL never matches"},
    {"not unique",
     "CREATE TABLE t (row INT PRIMARY KEY, id INT NOT NULL, KEY (id))",
     "keys: \"t:{id:uint64}\", source: { from: shop, table: t }, filter: { deletes: trusted }",
     "deletes: trusted requires that no two rows"},
    {"half of a unique key",
     "CREATE TABLE t (row INT PRIMARY KEY, id INT NOT NULL, more INT NOT NULL, UNIQUE (id, more))",
     "keys: \"t:{id:uint64}\", source: { from: shop, table: t }, filter: { deletes: trusted }",
     "deletes: trusted requires that no two rows"},
    {"halves of unique keys whose names begin alike",
     "CREATE TABLE t (row INT PRIMARY KEY, id INT NOT NULL, more INT NOT NULL, UNIQUE "
     "a_name_so_long_that_who_sorts_by_its_beginning_mixes_them_all_1 (id, more), UNIQUE "
     "a_name_so_long_that_who_sorts_by_its_beginning_mixes_them_all_2 (more, id)); SET GLOBAL "
     "max_sort_length = 64",
     "keys: \"t:{id:uint64}\", source: { from: shop, table: t }, filter: { deletes: trusted }",
     "deletes: trusted requires that no two rows"},
    {"unique but for NULL",
     "CREATE TABLE t (row INT PRIMARY KEY, id INT, UNIQUE (id))",
     "keys: \"t:{id:uint64}\", source: { from: shop, table: t }, filter: { deletes: trusted }",
     "deletes: trusted requires that no two rows"},
    {"row image",
     "CREATE TABLE t (row INT PRIMARY KEY, id INT); SET GLOBAL binlog_row_image = MINIMAL",
     "",
     "binlog_row_image = MINIMAL"},
    {"a part of the table",
     "CREATE TABLE t (id INT, half INT, PRIMARY KEY (id, half)); REVOKE SELECT ON shop.* FROM "
     "guard@localhost; GRANT SELECT (id) ON shop.t TO guard@localhost",
     "",
     "GRANT SELECT ON `shop`.`t` TO 'guard'@'localhost'"},
    {"nothing of the table",
     "CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE other (id INT); REVOKE SELECT ON shop.* "
     "FROM guard@localhost; GRANT SELECT ON shop.other TO guard@localhost",
     "",
     "no SELECT grant on it"},
    {"a pattern without a right to all",
     "CREATE TABLE t (id INT PRIMARY KEY); REVOKE SELECT ON shop.* FROM guard@localhost; GRANT "
     "SELECT ON shop.t TO guard@localhost",
     "keys: \"t:{id:uint64}\", source: { from: shop, table: \"t*\" }",
     "GRANT SELECT ON `shop`.* TO 'guard'@'localhost'"},
};

// --- rows that change with those of another table, without a word in the log ---

constexpr const char* kOfOther = "keys: \"t:{other:uint64}\", source: { from: shop, table: t }";
constexpr const char* kWhereOther =
    "keys: \"t:{id:uint64}\", source: { from: shop, table: t, where: \"other IS NULL\" }";
constexpr const char* kTwo =
    "keys: \"t:{id:uint64}:{other:uint64}\", source: { from: shop, table: t }";

constexpr const char* kParents =
    "CREATE TABLE parent (a INT PRIMARY KEY, b INT UNIQUE, UNIQUE (a, b)); CREATE DATABASE far; "
    "CREATE TABLE far.parent (a INT PRIMARY KEY)";

constexpr Case kForeignKeys[] = {
    {"none acts", "CREATE TABLE t (id INT PRIMARY KEY REFERENCES parent (a))", "", ""},
    {"restrict",
     "CREATE TABLE t (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES parent (a) ON DELETE "
     "RESTRICT ON UPDATE NO ACTION)",
     "",
     ""},
    {"key is updated",
     "CREATE TABLE t (id INT PRIMARY KEY, CONSTRAINT moves FOREIGN KEY (id) REFERENCES "
     "parent (a) ON UPDATE CASCADE)",
     "",
     "`moves`"},
    {"key is updated, by another spelling",
     "CREATE TABLE t (id INT PRIMARY KEY, CONSTRAINT moves FOREIGN KEY (ID) REFERENCES parent (A) "
     "ON UPDATE CASCADE)",
     "",
     "`moves`"},
    {"row is deleted",
     "CREATE TABLE t (id INT PRIMARY KEY, other INT, CONSTRAINT goes FOREIGN KEY (other) "
     "REFERENCES parent (a) ON DELETE CASCADE)",
     "",
     "`goes`"},
    {"key is set to NULL",
     "CREATE TABLE t (id INT PRIMARY KEY, other INT, CONSTRAINT loses FOREIGN KEY (other) "
     "REFERENCES parent (a) ON DELETE SET NULL)",
     kOfOther,
     "`loses`"},
    {"key is set to NULL by an update",
     "CREATE TABLE t (id INT PRIMARY KEY, other INT, CONSTRAINT loses FOREIGN KEY (other) "
     "REFERENCES parent (a) ON UPDATE SET NULL)",
     kOfOther,
     "`loses`"},
    {"condition is set to NULL",
     "CREATE TABLE t (id INT PRIMARY KEY, other INT, CONSTRAINT loses FOREIGN KEY (other) "
     "REFERENCES parent (a) ON DELETE SET NULL)",
     kWhereOther,
     "`loses`"},
    {"nothing that is read changes",
     "CREATE TABLE t (id INT PRIMARY KEY, other INT, FOREIGN KEY (other) REFERENCES parent "
     "(a) ON DELETE SET NULL ON UPDATE CASCADE)",
     "",
     ""},
    {"a generated column may change",
     "CREATE TABLE t (row INT PRIMARY KEY, other INT, id INT AS (other + 1) VIRTUAL, "
     "CONSTRAINT shifts FOREIGN KEY (other) REFERENCES parent (a) ON UPDATE CASCADE)",
     "",
     "`shifts`"},
    {"one of several",
     "CREATE TABLE t (id INT PRIMARY KEY REFERENCES parent (a), other INT REFERENCES "
     "far.parent (a) ON UPDATE CASCADE, third INT, CONSTRAINT last FOREIGN KEY (third) "
     "REFERENCES parent (b) ON DELETE CASCADE)",
     "",
     "`last`"},
    {"behind one of several columns",
     "CREATE TABLE t (id INT PRIMARY KEY, other INT, third INT, FOREIGN KEY (other, third) "
     "REFERENCES parent (a, b), CONSTRAINT moves FOREIGN KEY (id) REFERENCES parent (a) ON UPDATE "
     "CASCADE, CHECK (third > (1 + 1)))",
     "",
     "`moves`"},
    {"of several columns",
     "CREATE TABLE t (row INT PRIMARY KEY, id INT, other INT, CONSTRAINT `both` FOREIGN KEY "
     "(id, other) REFERENCES parent (a, b) ON UPDATE CASCADE)",
     kTwo,
     "`both`"},
    {"another database",
     "CREATE TABLE t (id INT PRIMARY KEY, CONSTRAINT abroad FOREIGN KEY (id) REFERENCES "
     "far.parent (a) ON UPDATE CASCADE)",
     "",
     "`abroad`"},
    {"the table itself",
     "CREATE TABLE t (id INT PRIMARY KEY, other INT, CONSTRAINT tree FOREIGN KEY (other) "
     "REFERENCES t "
     "(id) ON DELETE CASCADE)",
     "",
     "`tree`"},
    {"odd names",
     "CREATE TABLE t (id INT PRIMARY KEY, `o``(\n'\"r` INT, CONSTRAINT `d)\n,``\"'` FOREIGN "
     "KEY (`o``(\n'\"r`) REFERENCES parent (a) ON DELETE CASCADE)",
     "",
     "`d)\n,`\"'`"},
    {"words in texts",
     "CREATE TABLE t (id INT PRIMARY KEY COMMENT 'it\\'s, \\n CONSTRAINT `c` FOREIGN KEY "
     "(`id`) REFERENCES `p` (`a`) ON UPDATE CASCADE', other VARCHAR(99) DEFAULT ') ON DELETE "
     "CASCADE', CHECK (other <> 'FOREIGN KEY (`id`) ON DELETE CASCADE'), FOREIGN KEY (id) "
     "REFERENCES parent (a)) COMMENT 'FOREIGN KEY (`id`) ON DELETE CASCADE'",
     "",
     ""},
    {"behind odd texts",
     "CREATE TABLE t (id INT PRIMARY KEY COMMENT 'it''s \\\\', other TIMESTAMP DEFAULT "
     "CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, CHECK (other <> ''), CONSTRAINT moves "
     "FOREIGN KEY (id) REFERENCES parent (a) ON UPDATE CASCADE)",
     "",
     "`moves`"},
    {"the parent is not to be seen",
     "CREATE TABLE t (id INT PRIMARY KEY, CONSTRAINT moves FOREIGN KEY (id) REFERENCES parent "
     "(a) ON UPDATE CASCADE); REVOKE SELECT ON shop.* FROM guard@localhost; GRANT SELECT ON "
     "shop.t TO guard@localhost",
     "",
     "`moves`"},
};

class OneCaseOf : public MariaDbStartChecks {
 protected:
  void holds(const Case& each) {
    SCOPED_TRACE(each.name);
    const std::string yaml = *each.yaml == '\0' ? kById : each.yaml;
    if (*each.words == '\0') {
      EXPECT_THAT(refusals(yaml), IsEmpty());
    } else {
      EXPECT_THAT(refusals(yaml), ElementsAre(HasSubstr(each.words)));
    }
  }
  // All on one server, each in a database of its own.
  template <std::size_t kCount>
  void each_of(const Case (&cases)[kCount], const char* before = "DO 0") {
    start();
    for (const Case& each : cases) {
      run("DROP DATABASE shop; CREATE DATABASE shop; DROP DATABASE IF EXISTS far; USE shop; DROP "
          "USER guard@localhost; SET GLOBAL binlog_row_image = FULL, max_sort_length = 1024");
      create_guard_user(*server_);
      run(before);
      run(each.sql);
      holds(each);
    }
  }
};

TEST_F(OneCaseOf, definitions_that_cannot_be_followed_is_seen_with_the_documented_grants) {
  each_of(kDefinitions);
}

TEST_F(OneCaseOf, foreign_keys_that_change_rows_unlogged_is_seen_with_the_documented_grants) {
  each_of(kForeignKeys, kParents);
}

// --- the server ---

TEST_F(MariaDbStartChecks, see_how_the_server_logs) {
  start();
  run("CREATE TABLE t (id INT PRIMARY KEY)");
  run("SET GLOBAL binlog_format = MIXED");
  EXPECT_THAT(refusals(kById), ElementsAre(HasSubstr("binlog_format = MIXED")));
  run("SET GLOBAL binlog_format = ROW");
  EXPECT_THAT(refusals(kById), IsEmpty());
}

TEST_F(MariaDbStartChecks, see_that_there_is_no_log) {
  start({"--skip-log-bin"});
  run("CREATE TABLE t (id INT PRIMARY KEY)");
  EXPECT_THAT(refusals(kById), ElementsAre(HasSubstr("has no binary log")));
}

TEST_F(MariaDbStartChecks, see_that_databases_are_left_out_of_the_log) {
  start({"--binlog-ignore-db=shop"});
  run("CREATE TABLE t (id INT PRIMARY KEY)");
  EXPECT_THAT(refusals(kById), ElementsAre(HasSubstr("binlog-ignore-db: shop")));
}

TEST_F(MariaDbStartChecks, see_a_replica_that_does_not_log) {
  start();
  run("CREATE TABLE t (id INT PRIMARY KEY)");
  run("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_USER = 'nobody'");
  EXPECT_THAT(refusals(kById), ElementsAre(HasSubstr("does not log replicated changes")));
}

TEST_F(MariaDbStartChecks, miss_each_grant) {
  start();
  run("CREATE TABLE t (id INT PRIMARY KEY)");
  for (const char* const grant : {"BINLOG MONITOR", "SLAVE MONITOR"}) {
    run("REVOKE " + std::string(grant) + " ON *.* FROM guard@localhost");
    EXPECT_THAT(refusals(kById),
                ElementsAre("a grant is missing: GRANT " + std::string(grant) +
                            " ON *.* TO 'guard'@'localhost'"));
    run("GRANT " + std::string(grant) + " ON *.* TO guard@localhost");
  }
}

// --- answers that were cut short ---

// A table that cannot be looked at for now is none without a primary key. MariaDB leaves its rows
// out of the answer, and says so in a warning: of what was stopped by somebody, or by a limit, just
// as well.
TEST_F(MariaDbStartChecks, do_not_take_half_an_answer_for_a_whole_one) {
  start();
  run("CREATE TABLE t (id INT PRIMARY KEY); SELECT GET_LOCK('held', 10)");
  SqlSession other = server_->session();
  const std::jthread holds_the_table([&other] {
    other.run(
        "CREATE OR REPLACE TABLE t (id INT PRIMARY KEY) AS SELECT GET_LOCK('held', 60) AS id");
  });
  auto connection = source::mysql::Connection::open(login());
  ASSERT_TRUE(connection) << connection.error().what;
  ASSERT_TRUE(connection->run("SET lock_wait_timeout = 1"));
  Wanted wanted(kById);
  EXPECT_TRUE(eventually([&] {
    const auto keys = connection->ask(
        "SELECT index_name FROM information_schema.statistics WHERE table_schema = 'shop' AND "
        "table_name = 't'");
    return !keys && keys.error().what.contains("Lock wait timeout");
  }));
  const auto plan = source::mysql::plan_table(*connection, wanted.target(), "t");
  run("SELECT RELEASE_LOCK('held')");
  ASSERT_FALSE(plan);
  const auto* const error = std::get_if<source::mysql::Error>(&plan.error());
  ASSERT_NE(error, nullptr) << std::get<std::string>(plan.error());
  EXPECT_THAT(error->what, HasSubstr("Lock wait timeout"));
}

}  // namespace
}  // namespace cuckooguard::harness
