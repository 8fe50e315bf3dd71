// Which tables a namespace has, asked of a real MariaDB, or MySQL (CUCKOOGUARD_MYSQL_ROOT): by
// names, by patterns, and never on half the truth.
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/on_sql_server.h"
#include "mysql/table.h"

namespace cuckooguard::harness {
namespace {

using source::mysql::find_tables;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Names = std::vector<std::string>;

class MariaDbTables : public OnSqlServer {
 protected:
  void prepare() override {
    run("CREATE TABLE user_1 (id INT PRIMARY KEY)");
    run("CREATE TABLE user_2 (id INT PRIMARY KEY)");
    run("CREATE TABLE orders (id INT PRIMARY KEY)");
    run("CREATE VIEW user_all AS SELECT id FROM user_1 UNION SELECT id FROM user_2");
    run("CREATE DATABASE other");
    run("CREATE TABLE other.user_9 (id INT PRIMARY KEY)");
    run("CREATE USER guard@localhost IDENTIFIED BY 'word'");
  }

  // A sentence instead of names: one element that begins with "refused: ".
  Names list(const Names& wanted) {
    auto connection = source::mysql::Connection::open({.unix_path = server_->unix_path().string(),
                                                       .user = "guard",
                                                       .password = "word",
                                                       .database = "shop"});
    if (!connection) {
      return {"refused: " + connection.error().what};
    }
    auto listed = find_tables(*connection, wanted);
    if (listed) {
      return *std::move(listed);
    }
    const auto* const why = std::get_if<std::string>(&listed.error());
    return {"refused: " +
            (why != nullptr ? *why : std::get<source::mysql::Error>(listed.error()).what)};
  }
};

TEST_F(MariaDbTables, are_found_by_names_and_patterns_in_the_sources_database_alone) {
  run("GRANT SELECT ON shop.* TO guard@localhost");
  run("GRANT SELECT ON other.* TO guard@localhost");
  EXPECT_THAT(list({"user_?"}), ElementsAre("user_1", "user_2"));
  EXPECT_THAT(list({"user_*"}), ElementsAre("user_1", "user_2", "user_all"));
  EXPECT_THAT(list({"orders", "user_1"}), ElementsAre("orders", "user_1"));
  EXPECT_THAT(list({"orders", "user_7"}), ElementsAre("orders", "user_7"));
  EXPECT_THAT(list({"User_1"}), ElementsAre("User_1")) << "another name, on this server";
  EXPECT_THAT(list({"nothing_*"}), IsEmpty());
  run("CREATE TABLE user_3 (id INT)");
  run("DROP TABLE user_1");
  EXPECT_THAT(list({"user_?"}), ElementsAre("user_2", "user_3"));
}

TEST_F(MariaDbTables, are_not_listed_by_pattern_for_who_may_not_see_them_all) {
  run("GRANT SELECT ON shop.user_1 TO guard@localhost");
  EXPECT_THAT(list({"user_1"}), ElementsAre("user_1"));
  EXPECT_THAT(list({"user_*"}),
              ElementsAre(HasSubstr("GRANT SELECT ON `shop`.* TO 'guard'@'localhost'")));
  run("GRANT INSERT ON shop.* TO guard@localhost");
  run("GRANT SELECT ON other.* TO guard@localhost");
  EXPECT_THAT(list({"user_*"}), ElementsAre(HasSubstr("refused: ")));
  run("GRANT SELECT ON `sho_`.* TO guard@localhost");
  EXPECT_THAT(list({"user_?"}), ElementsAre("user_1", "user_2"));
}

// One that sees the rights of all accounts must not take another's for its own.
TEST_F(MariaDbTables, count_rights_of_the_guards_own_account) {
  run("GRANT SELECT ON shop.user_1 TO guard@localhost");
  run("GRANT SELECT ON mysql.* TO guard@localhost");
  EXPECT_THAT(list({"user_*"}), ElementsAre(HasSubstr("refused: ")));
  run("GRANT SELECT ON *.* TO guard@localhost");
  EXPECT_THAT(list({"user_?"}), ElementsAre("user_1", "user_2"));
}

// MySQL's partial revokes, which leave the right to all in information_schema.
TEST_F(MariaDbTables, count_no_right_that_was_revoked_in_part) {
  run("GRANT SELECT ON *.* TO guard@localhost");
  EXPECT_THAT(list({"user_?"}), ElementsAre("user_1", "user_2"));
  if (server_->is_mariadb()) {
    EXPECT_NE(session_->try_run("REVOKE SELECT ON shop.* FROM guard@localhost"), 0);
    EXPECT_THAT(list({"user_?"}), ElementsAre("user_1", "user_2"));
    return;
  }
  run("SET GLOBAL partial_revokes = ON");
  run("REVOKE SELECT ON other.* FROM guard@localhost");
  EXPECT_THAT(list({"user_?"}), ElementsAre("user_1", "user_2"));
  run("REVOKE SELECT ON shop.* FROM guard@localhost");
  run("GRANT SELECT ON shop.user_1 TO guard@localhost");
  EXPECT_THAT(list({"user_1"}), ElementsAre("user_1"));
  EXPECT_THAT(list({"user_?"}), ElementsAre(HasSubstr("GRANT SELECT ON `shop`.*")));
}

}  // namespace
}  // namespace cuckooguard::harness
