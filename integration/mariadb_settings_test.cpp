// A server whose settings for every new session are hostile: the guard's sessions have their own,
// and read all rows as they are. Against a real MariaDB, or MySQL (CUCKOOGUARD_MYSQL_ROOT).

#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exactness/shop_follower.h"
#include "exactness/shop_tables.h"
#include "fixtures/on_sql_server.h"
#include "harness/deadline.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

enum class On : std::uint8_t { both, mariadb, mysql };

struct Setting {
  const char* name;
  const char* hostile;
  On on = On::both;
};

constexpr Setting kGlobals[] = {
    {"autocommit", "0"},
    {"completion_type", "2"},
    {"group_concat_max_len", "4"},
    {"lock_wait_timeout", "1"},
    {"max_join_size", "1"},
    {"max_sort_length", "64"},
    {"net_read_timeout", "1"},
    {"net_write_timeout", "1"},
    {"sql_auto_is_null", "1"},
    {"sql_big_selects", "0"},
    {"sql_buffer_result", "1"},
    {"sql_mode",
     "'PAD_CHAR_TO_FULL_LENGTH,ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,IGNORE_SPACE,HIGH_"
     "NOT_PRECEDENCE'"},
    {"sql_quote_show_create", "0"},
    {"sql_select_limit", "1"},
    {"time_zone", "'+13:00'"},
    {"wait_timeout", "1"},
    {"idle_readonly_transaction_timeout", "1", On::mariadb},
    {"idle_transaction_timeout", "1", On::mariadb},
    {"idle_write_transaction_timeout", "1", On::mariadb},
    {"max_error_count", "0", On::mariadb},
    {"max_statement_time", "0.5", On::mariadb},
    {"query_cache_type", "1", On::mariadb},
    {"system_versioning_asof", "'2020-01-01 00:00:00'", On::mariadb},
    {"tx_isolation", "'SERIALIZABLE'", On::mariadb},
    {"information_schema_stats_expiry", "86400", On::mysql},
    {"max_execution_time", "1", On::mysql},
    {"transaction_isolation", "'SERIALIZABLE'", On::mysql},
};

// What a client says of itself when it connects, and a server that changes its mind.
constexpr const char* kByInitConnect[] = {"character_set_client",
                                          "character_set_connection",
                                          "character_set_results",
                                          "collation_connection"};
constexpr const char* kInitConnect =
    "SET NAMES latin1 COLLATE latin1_german2_ci; SET autocommit = 0; USE information_schema; BEGIN";

class MariaDbSettings : public OnSqlServer {
 protected:
  void prepare() override { create_tables(*server_); }

  bool has(const Setting& setting) const {
    return setting.on == On::both || (setting.on == On::mariadb) == server_->is_mariadb();
  }
  // From now on, for sessions that begin.
  void make_hostile() {
    for (const Setting& setting : kGlobals) {
      if (has(setting)) {
        run("SET GLOBAL " + std::string(setting.name) + " = " + setting.hostile);
      }
    }
    if (server_->is_mariadb()) {
      run("ALTER USER guard@localhost WITH MAX_STATEMENT_TIME 0.25");
    }
    run("SET GLOBAL init_connect = '" + std::string(kInitConnect) + "'");
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all(std::begin(kByInitConnect), std::end(kByInitConnect));
    for (const Setting& setting : kGlobals) {
      if (has(setting)) {
        all.emplace_back(setting.name);
      }
    }
    return all;
  }
  source::mysql::Connection connect() const {
    auto connection = source::mysql::Connection::open({.unix_path = server_->unix_path(),
                                                       .user = "guard",
                                                       .password = "word",
                                                       .database = SqlServer::kDatabase,
                                                       .timeout = std::chrono::seconds(30)});
    return connection ? std::move(*connection) : throw std::runtime_error(connection.error().what);
  }

  void becomes_exact(const ShopFollower& follower) {
    const auto now = std::chrono::steady_clock::now();
    ASSERT_TRUE(eventually([&] { return follower.is_proven_since(now); })) << follower.reports();
    // What was deleted goes when the server has been asked whether it has committed that.
    static_cast<void>(eventually([&] { return guarded_.differences(*session_).empty(); }));
    EXPECT_THAT(guarded_.differences(*session_), IsEmpty()) << follower.reports();
  }
  void change_rows() {
    rounds_ = 4 * rounds_ + 1;
    const std::string round = std::to_string(rounds_);
    run("INSERT INTO user (id, name) SELECT id + " + round + "000000, CONCAT('late', id, '-', " +
        round + ") FROM user");
    run("UPDATE user SET id = id + " + round +
        "00000000, name = CONCAT(id, 'moved') WHERE id % 7 = 0");
    run("DELETE FROM user WHERE id % 5 = 0");
    run("INSERT IGNORE INTO orders SELECT id, id % 60 FROM user");
    run("DELETE FROM orders WHERE id % 2 = 0");
    run("INSERT IGNORE INTO item SELECT id % 100, CONCAT(id % 1000, ' '), 1 FROM user");
    run("DELETE FROM item WHERE shop % 3 = 0");
  }

  int rounds_ = 0;
  ShopFilters guarded_;
};

TEST_F(MariaDbSettings, of_the_guards_sessions_are_its_own) {
  std::map<std::string, std::optional<std::string>> own;
  {
    auto connection = connect();
    for (const std::string& name : names()) {
      own[name] = connection.value("SELECT @@session." + name).value();
    }
  }
  make_hostile();
  auto connection = connect();
  SqlSession other = server_->session();
  for (const std::string& name : names()) {
    EXPECT_EQ(connection.value("SELECT @@session." + name).value(), own[name]) << name;
  }
  EXPECT_EQ(connection.value("SELECT DATABASE()").value(), "shop");
  EXPECT_TRUE(connection.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")) << "one is open";
  for (const Setting& setting : kGlobals) {
    if (has(setting)) {
      EXPECT_NE(other.value("SELECT @@session." + std::string(setting.name)),
                own[setting.name].value_or("NULL"))
          << setting.name << " is not hostile";
    }
  }
}

TEST_F(MariaDbSettings, that_are_hostile_leave_every_row_as_it_is) {
  run("ALTER TABLE user MODIFY name CHAR(40) CHARACTER SET utf8mb4 COLLATE " +
      std::string(server_->is_mariadb() ? "utf8mb4_nopad_bin" : "utf8mb4_0900_bin") + " NOT NULL");
  run("INSERT INTO tag VALUES ('a', 1), ('b\\0', 2), ('\\0', 3)");
  run("INSERT INTO orders SELECT id, id % 50 FROM user");
  make_hostile();
  const ShopFollower follower(*server_, guarded_, source::mysql::open_view);
  becomes_exact(follower);
  change_rows();
  becomes_exact(follower);
  for (const auto& row :
       session_->run("SELECT id FROM information_schema.processlist WHERE user = 'guard'")) {
    session_->try_run("KILL " + row[0].value());  // may have gone
  }
  change_rows();
  becomes_exact(follower);
  run("ALTER TABLE user ADD more INT FIRST");  // is read again
  change_rows();
  becomes_exact(follower);
}

// Whatever it is that a server leaves out.
std::expected<source::mysql::ReadView, source::mysql::Error> open_view_of_few_rows(
    source::mysql::Connection& connection) {
  auto view = source::mysql::open_view(connection);
  const auto limited = connection.run("SET sql_select_limit = 10");
  return limited ? std::move(view) : std::unexpected(limited.error());
}

TEST_F(MariaDbSettings, that_leave_rows_out_are_noticed_by_their_number) {
  const ShopFollower follower(*server_, guarded_, open_view_of_few_rows);
  EXPECT_TRUE(eventually([&] {
    return follower.reports().contains(
        "the server counts 2000 rows of table `user` but returned 10");
  })) << follower.reports();
  EXPECT_FALSE(guarded_.is_answered_absent(0, "100000"));
  EXPECT_FALSE(guarded_.is_answered_absent(0, "101999"));
}

}  // namespace
}  // namespace cuckooguard::harness
