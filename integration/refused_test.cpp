// One meaning of *refused*: what a database does not let the guard do makes its namespaces pass, is
// said loudly, and is tried again. It takes nobody's Redis away; and behind it nothing is believed
// that was known before.

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/admin_client.h"
#include "harness/guard_process.h"
#include "harness/ports.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kFailure = 1;
constexpr int kConfiguration = 78;
constexpr const char* kDenied = "Access denied for user 'guard'@'localhost'";

class Refused : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(40))");
    run("INSERT INTO user SELECT seq, NULL FROM seq_1_to_1000");
    run("CREATE TABLE loose (id BIGINT UNSIGNED NOT NULL, name VARCHAR(40))");
    run("INSERT INTO loose SELECT seq, NULL FROM seq_1_to_1000");
  }

  static std::string ns(const std::string& name, const std::string& tables) {
    return Guarded{.name = name, .keys = name + ":{id:uint64}", .table = tables}.yaml();
  }
  std::string yaml(const std::string& more = "", const std::string& top = "") const {
    return configuration(ns("user", "user") + more,
                         std::string(kAdmin) + "log: { level: debug }\n" + top);
  }
  std::string kept_yaml() const { return yaml("", storage(folder_ / "kept")); }
  std::filesystem::path file() const { return folder_ / "kept" / "shop.user.user.filter"; }

  void start_and_answer(const std::string& text) {
    start(text);
    ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  }
  // As a supervisor would: it is to end by itself, on a port that it cannot have.
  Ended start_in_vain(const std::string& text, const std::vector<std::string>& more = {}) const {
    const TemporaryDirectory folder;
    const TakenPort taken;
    write_whole_file(folder / "guard.yaml",
                     "listen: 127.0.0.1:" + std::to_string(taken.port()) + "\n" + text);
    std::vector<std::string> arguments{"--config", (folder / "guard.yaml").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_guard(std::move(arguments));
  }

  std::string state_of(const std::string& name) const { return info_field(*guard_, name, "state"); }
  bool becomes(const std::string& name, const std::string& state) const {
    return eventually([&] { return state_of(name) == state; });
  }
  bool has_logged(const std::string& words) const {
    return guard_->log().find(words) != std::string::npos;
  }
  // How often its table was read.
  std::size_t loads_of(const std::string& name) const {
    const std::string log = guard_->log();
    const std::string words = "event=loaded namespace=" + name + " ";
    std::size_t loads = 0;
    for (std::size_t at = 0; (at = log.find(words, at)) != std::string::npos; ++at) {
      ++loads;
    }
    return loads;
  }

  void rotate_password(const std::string& to) {
    run("ALTER USER guard@localhost IDENTIFIED BY '" + to + "'");
  }
  // All that guard@localhost has, so that it must log in again.
  void cut_connections() { run("KILL USER guard@localhost"); }

  void restart_server(const std::vector<std::string>& more = {}) {
    session_.reset();
    server_->stop();
    server_->start_again(more);
    session_.emplace(server_->session());
  }
  void restart_without_log() {
    restart_server({"--skip-log-bin"});
    ASSERT_TRUE(eventually([this] { return has_logged("has no binary log"); })) << guard_->log();
    EXPECT_EQ(state_of("user"), "refused");
  }
};

// --- the start ---

TEST_F(Refused, a_rotated_password_takes_no_redis_away_and_is_ready_when_it_is_right_again) {
  rotate_password("another");
  start(yaml());
  EXPECT_EQ(guard_->call({"SET", "user:5000", "theirs"}), "+OK\r\n");
  EXPECT_EQ(guard_->call({"GET", "user:5000"}), "$6\r\ntheirs\r\n");
  EXPECT_EQ(guard_->call({"DEL", "user:5000"}), ":1\r\n");
  ASSERT_TRUE(becomes("user", "refused")) << guard_->log();
  EXPECT_FALSE(is_absent("user:6000"));
  // Said loudly, in the server's words.
  EXPECT_THAT(
      guard_->log(),
      AllOf(HasSubstr("event=state namespace=user state=refused why=\""), HasSubstr(kDenied)));
  EXPECT_THAT(guard_->call({"GUARD.INFO"}),
              AllOf(HasSubstr("state:refused\r\nwhy:"), HasSubstr(kDenied)));
  const AdminClient admin(*guard_);
  EXPECT_THAT(admin.get("/status").body,
              AllOf(HasSubstr("\"state\":\"refused\""), HasSubstr(kDenied)));
  EXPECT_THAT(admin.get("/metrics").body,
              AllOf(HasSubstr("cuckooguard_filter_state{namespace=\"user\",state=\"refused\"} 1\n"),
                    HasSubstr("cuckooguard_source_state{source=\"shop\",state=\"refused\"} 1\n"),
                    HasSubstr("cuckooguard_source_state{source=\"shop\",state=\"down\"} 0\n")));
  EXPECT_EQ(admin.get("/readyz").status, 200);

  rotate_password("word");
  ASSERT_TRUE(becomes_absent("user:6000")) << guard_->log();
  EXPECT_EQ(state_of("user"), "ready");
  EXPECT_TRUE(has_logged("event=state namespace=user state=ready")) << guard_->log();
  for (const char* const key : {"user:1", "user:500", "user:1000"}) {
    EXPECT_FALSE(is_absent(key)) << key;
  }
}

TEST_F(Refused, a_password_file_that_cannot_be_read_is_told_until_it_can_be) {
  const std::string file = (folder_ / "database.password").string();
  std::string text = yaml();
  const std::string word = "password: word";
  ASSERT_NE(text.find(word), std::string::npos) << text;
  text.replace(text.find(word), word.size(), "password_file: " + file);
  start(text);
  ASSERT_TRUE(becomes("user", "refused")) << guard_->log();
  EXPECT_THAT(guard_->log(), AllOf(HasSubstr(kDenied), HasSubstr(file + " is empty or un")));
  write_whole_file(file, "word\n");
  ASSERT_TRUE(becomes_absent("user:6000")) << guard_->log();
}

TEST_F(Refused, a_table_without_a_key_passes_beside_others_until_it_has_one) {
  start(yaml(ns("loose", "loose")));
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  ASSERT_TRUE(becomes("loose", "refused")) << guard_->log();
  EXPECT_THAT(guard_->log(),
              AllOf(HasSubstr("event=state namespace=loose state=refused why=\""),
                    HasSubstr("`loose` has no primary key")));
  EXPECT_FALSE(is_absent("loose:5000"));
  run("ALTER TABLE loose ADD PRIMARY KEY (id)");
  ASSERT_TRUE(becomes_absent("loose:5000")) << guard_->log();
  EXPECT_FALSE(is_absent("loose:1000"));
  EXPECT_EQ(state_of("loose"), "ready");
}

TEST_F(Refused, a_pattern_whose_tables_nobody_may_list_says_so) {
  rotate_password("another");
  start(yaml(ns("all", "\"us*\"")));
  ASSERT_TRUE(becomes("all", "refused")) << guard_->log();
  rotate_password("word");
  ASSERT_TRUE(becomes_absent("all:5000")) << guard_->log();
  EXPECT_FALSE(is_absent("all:1000"));
}

TEST_F(Refused, strict_start_ends_with_78_and_the_same_words) {
  run("CREATE TABLE loose_2 LIKE loose");
  const std::string loose = yaml(ns("loose", "\"loose*\"") + ns("other", "loose"));
  const Ended without_key = start_in_vain(loose, {"--strict-start"});
  EXPECT_EQ(without_key.exit_code, kConfiguration);
  EXPECT_THAT(without_key.standard_error,
              HasSubstr("source shop, namespaces loose, other, tables loose, loose_2: table "
                        "`loose` has no primary key"));
  EXPECT_FALSE(without_key.standard_error.contains("`loose_2`")) << "one cause, once";
  // Without the flag it gets as far as the port.
  EXPECT_EQ(start_in_vain(loose).exit_code, kFailure);
  EXPECT_EQ(start_in_vain(yaml(), {"--strict-start"}).exit_code, kFailure)
      << "there is nothing to refuse";
  rotate_password("another");
  const Ended denied = start_in_vain(yaml(), {"--strict-start"});
  EXPECT_EQ(denied.exit_code, kConfiguration);
  EXPECT_THAT(denied.standard_error, AllOf(HasSubstr("source shop: "), HasSubstr(kDenied)));
  EXPECT_EQ(start_in_vain(yaml()).exit_code, kFailure);
}

TEST_F(Refused, a_wrong_configuration_still_ends_with_78) {
  const Ended ended = start_in_vain(
      yaml("  wrong: { keys: \"wrong:{id\", source: { from: shop, table: user } }\n"));
  EXPECT_EQ(ended.exit_code, kConfiguration);
  EXPECT_THAT(ended.standard_error, HasSubstr("guard.yaml:"));
}

// --- grants ---

TEST_F(Refused, who_may_not_read_the_log_reads_no_table_and_says_which_grant_is_missing) {
  run("REVOKE REPLICATION SLAVE ON *.* FROM guard@localhost");
  start(yaml());
  ASSERT_TRUE(becomes("user", "refused")) << guard_->log();
  EXPECT_TRUE(has_logged("REPLICATION SLAVE")) << guard_->log();
  EXPECT_FALSE(has_logged("event=loaded")) << guard_->log();
  run("GRANT REPLICATION SLAVE ON *.* TO guard@localhost");
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_FALSE(is_absent("user:1000"));
}

// --- while it is followed: after a refusal the position is gone ---

// Such a server passes no positions: it is where it was when it keeps its log again.
TEST_F(Refused, a_server_that_kept_no_log_for_a_while_is_read_anew) {
  start_and_answer(yaml());
  restart_without_log();
  EXPECT_FALSE(is_absent("user:5000"));
  run("INSERT INTO user VALUES (7000, 'in no log')");
  restart_server();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_FALSE(is_absent("user:7000")) << guard_->log();
  EXPECT_FALSE(is_absent("user:1000"));
}

TEST_F(Refused, what_was_kept_of_before_is_no_use_to_the_next_guard_either) {
  start_and_answer(kept_yaml());
  ASSERT_TRUE(eventually([this] { return std::filesystem::exists(file()); })) << guard_->log();
  restart_without_log();
  EXPECT_TRUE(eventually([this] { return !std::filesystem::exists(file()); })) << guard_->log();
  guard_->send_signal(SIGKILL);
  guard_->exit_code();
  guard_.reset();
  run("INSERT INTO user VALUES (7000, 'in no log')");
  restart_server();
  start_and_answer(kept_yaml());
  EXPECT_FALSE(is_absent("user:7000")) << guard_->log();
  EXPECT_TRUE(has_logged("event=loaded")) << guard_->log();
}

TEST_F(Refused, a_guard_that_is_refused_at_its_start_takes_nothing_up_later) {
  start_and_answer(kept_yaml());
  ASSERT_TRUE(eventually([this] { return std::filesystem::exists(file()); })) << guard_->log();
  guard_.reset();
  restart_server({"--skip-log-bin"});
  start(kept_yaml());
  ASSERT_TRUE(becomes("user", "refused")) << guard_->log();
  EXPECT_FALSE(std::filesystem::exists(file()));
  run("INSERT INTO user VALUES (7000, 'in no log')");
  restart_server();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_FALSE(is_absent("user:7000")) << guard_->log();
}

TEST_F(Refused, a_log_of_statements_is_read_anew_when_it_has_rows_again) {
  start_and_answer(yaml());
  run("SET GLOBAL binlog_format = STATEMENT");
  cut_connections();
  ASSERT_TRUE(becomes("user", "refused")) << guard_->log();
  EXPECT_TRUE(has_logged("SET GLOBAL binlog_format = ROW")) << guard_->log();
  EXPECT_FALSE(is_absent("user:5000"));
  run("SET GLOBAL binlog_format = ROW");
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_EQ(loads_of("user"), 2U) << guard_->log();
}

TEST_F(Refused, a_password_that_is_rotated_while_it_is_followed_is_waited_for) {
  start_and_answer(yaml());
  rotate_password("another");
  cut_connections();
  ASSERT_TRUE(becomes("user", "refused")) << guard_->log();
  EXPECT_TRUE(has_logged(kDenied)) << guard_->log();
  EXPECT_FALSE(is_absent("user:5000"));
  run("INSERT INTO user VALUES (7000, 'meanwhile')");
  rotate_password("word");
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_FALSE(is_absent("user:7000"));
  EXPECT_EQ(loads_of("user"), 2U) << guard_->log();
}

// What a cascade deletes is in no log of a MariaDB: a file of before says less than the table has
// gone through.
TEST_F(Refused, a_table_that_is_refused_keeps_no_file_and_is_read_anew) {
  start_and_answer(kept_yaml());
  ASSERT_TRUE(eventually([this] { return std::filesystem::exists(file()); })) << guard_->log();
  run("ALTER TABLE user DROP PRIMARY KEY");
  ASSERT_TRUE(becomes("user", "refused")) << guard_->log();
  EXPECT_TRUE(eventually([this] { return !std::filesystem::exists(file()); })) << guard_->log();
  EXPECT_FALSE(is_absent("user:5000"));
  run("ALTER TABLE user ADD PRIMARY KEY (id)");
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_TRUE(eventually([this] { return std::filesystem::exists(file()); })) << guard_->log();
}

}  // namespace
}  // namespace cuckooguard::harness
