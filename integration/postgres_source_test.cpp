// A guard that follows a real PostgreSQL: what the database has is never hidden, what it has not is
// answered; and what an operator asks of the two.

#include <map>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_postgres.h"
#include "harness/admin_client.h"
#include "harness/ports.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kYes = ":1\r\n";
constexpr std::string_view kNo = ":0\r\n";

class PostgresSource : public GuardedPostgres {
 protected:
  void create_tables() override {
    run("CREATE TABLE \"user\" (id BIGINT PRIMARY KEY, name TEXT);"
        "INSERT INTO \"user\" SELECT n FROM generate_series(1, 1000) n");
  }

  void start(const std::string& more = "") {
    GuardedPostgres::start(configuration(Guarded().yaml() + more, std::string(kAdmin)));
    ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  }
  std::string file(const std::string& yaml) const {
    write_whole_file(folder_ / "asked.yaml", yaml);
    return folder_ / "asked.yaml";
  }
};

TEST_F(PostgresSource, answers_what_is_absent_and_passes_what_is_there) {
  start();
  EXPECT_TRUE(is_absent("user:1001"));
  for (const char* const id : {"1", "500", "1000"}) {
    EXPECT_FALSE(is_absent("user:" + std::string(id)));
  }
}

TEST_F(PostgresSource, follows_inserts_deletes_and_changes_of_keys) {
  start();
  run("INSERT INTO \"user\" VALUES (5000, 'new')");
  const auto committed = SteadyClock::now();
  EXPECT_TRUE(becomes_present("user:5000"));
  EXPECT_LT(SteadyClock::now() - committed, kMaxLag);
  run("UPDATE \"user\" SET id = 6000 WHERE id = 5000");
  EXPECT_TRUE(becomes_present("user:6000"));
  EXPECT_TRUE(becomes_absent("user:5000"));
  run("DELETE FROM \"user\" WHERE id IN (6000, 17)");
  EXPECT_TRUE(becomes_absent("user:6000"));
  EXPECT_TRUE(becomes_absent("user:17"));
  EXPECT_FALSE(is_absent("user:18"));
  run("BEGIN; INSERT INTO \"user\" VALUES (7000); SAVEPOINT a; INSERT INTO \"user\" VALUES (8000); "
      "ROLLBACK TO a; COMMIT");
  ASSERT_TRUE(catches_up());
  EXPECT_FALSE(is_absent("user:7000"));
  EXPECT_TRUE(becomes_absent("user:8000"));
}

// Nothing else leaves the database.
TEST_F(PostgresSource, follows_a_list_of_columns_and_is_sent_no_other) {
  run("CREATE TABLE account (email TEXT, name TEXT NOT NULL, hash TEXT, id BIGINT PRIMARY KEY);"
      "ALTER TABLE account ALTER name SET STORAGE EXTERNAL; CREATE UNIQUE INDEX by_both ON account "
      "(id, name); ALTER TABLE account REPLICA IDENTITY USING INDEX by_both;"
      "INSERT INTO account SELECT 'secret', repeat('n', 2100), 'secret', n FROM generate_series(1, "
      "100) n; DROP PUBLICATION cuckooguard; CREATE PUBLICATION cuckooguard FOR TABLE account (id, "
      "name); REVOKE SELECT ON account FROM guard; GRANT SELECT (id, name) ON account TO guard");
  run("SELECT pg_create_logical_replication_slot('beside', 'pgoutput')");
  GuardedPostgres::start(configuration(
      Guarded{.keys = "user:{name}:{id:int64}", .table = "account", .fresh_ids = ""}.yaml()));
  const std::string name = "user:" + std::string(2100, 'n') + ":";
  ASSERT_TRUE(becomes_absent(name + "101")) << guard_->log();
  run("INSERT INTO account VALUES ('secret', 'new', 'secret', 101), ('secret', repeat('n', 2100), "
      "repeat('secret', 9999), 102)");
  run("UPDATE account SET email = 'secret', hash = 'secret' WHERE id < 50");
  run("UPDATE account SET id = 500 WHERE id = 1");  // its name is long, and not sent again
  run("DELETE FROM account WHERE id = 2");
  ASSERT_TRUE(catches_up()) << guard_->log();
  for (const std::string& key : {name + "3", name + "100", name + "102", name + "500"}) {
    EXPECT_FALSE(is_absent(key)) << key.substr(2100) << guard_->log();
  }
  EXPECT_FALSE(is_absent("user:new:101"));
  EXPECT_TRUE(becomes_absent(name + "1"));
  EXPECT_TRUE(becomes_absent(name + "2"));
  EXPECT_EQ(count_in(guard_->log(), "event=loaded"), 1U) << guard_->log();
  const std::string sent =
      "SELECT count(*) FROM pg_logical_slot_peek_binary_changes('beside', NULL, NULL, "
      "'proto_version', '1', 'publication_names', 'cuckooguard') WHERE encode(data, 'escape') "
      "LIKE ";
  EXPECT_NE(session_->value(sent + "'%nnn%'"), "0");
  EXPECT_EQ(session_->value(sent + "'%secret%'"), "0");
}

TEST_F(PostgresSource, reads_a_table_again_that_is_truncated_or_defined_anew) {
  start();
  run("TRUNCATE TABLE \"user\"");
  EXPECT_TRUE(becomes_absent("user:1"));
  run("ALTER TABLE \"user\" ADD COLUMN note TEXT; ALTER TABLE \"user\" ALTER id TYPE INT");
  run("INSERT INTO \"user\" (id) VALUES (5000)");
  EXPECT_TRUE(becomes_present("user:5000"));
  EXPECT_TRUE(becomes_absent("user:5001"));
  EXPECT_FALSE(is_absent("user:5000"));
}

TEST_F(PostgresSource, has_keys_of_text_with_any_bytes) {
  run("CREATE TABLE tag (name TEXT PRIMARY KEY)");
  const std::vector<std::pair<std::string, std::string>> odd{
      {"it's", "it''s"},
      {"a\tb\nc\rd", "a\tb\nc\rd"},
      {R"(back\slash\N)", R"(back\slash\N)"},
      {"\xC3\xA9\xF0\x9F\x98\x80", "\xC3\xA9\xF0\x9F\x98\x80"},
      {" a ", " a "}};
  const auto insert = [&](const std::string& before) {
    for (const auto& [key, text] : odd) {
      run("INSERT INTO tag VALUES ('" + before + text + "')");
    }
  };
  insert("");
  start(Guarded{.name = "tags", .keys = "tag:{name}", .table = "tag", .fresh_ids = ""}.yaml());
  ASSERT_TRUE(becomes_absent("tag:a")) << guard_->log();
  insert("new ");
  ASSERT_TRUE(catches_up());
  for (const auto& [key, text] : odd) {
    EXPECT_FALSE(is_absent("tag:" + key)) << key;
    EXPECT_FALSE(is_absent("tag:new " + key)) << key;
  }
  run("DELETE FROM tag");
  for (const auto& [key, text] : odd) {
    EXPECT_TRUE(becomes_absent("tag:" + key)) << key;
    EXPECT_TRUE(becomes_absent("tag:new " + key)) << key;
  }
}

// Its applications have the bytes that they have written, whatever those are, and make keys of
// them.
TEST_F(PostgresSource, has_keys_of_a_database_that_has_bytes_and_no_encoding) {
  run("CREATE DATABASE raw TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'");
  session_.emplace(server_->session("raw"));
  run("SET client_encoding = SQL_ASCII; CREATE TABLE tag (name TEXT PRIMARY KEY);"
      "GRANT SELECT ON tag TO guard; INSERT INTO tag VALUES ('caf\xE9');"
      "CREATE PUBLICATION cuckooguard FOR ALL TABLES");
  std::string yaml = configuration(
      Guarded{.name = "tags", .keys = "tag:{name}", .table = "tag", .fresh_ids = ""}.yaml());
  const std::string database = "database: shop";
  yaml.replace(yaml.find(database), database.size(), "database: raw");
  GuardedPostgres::start(yaml);
  ASSERT_TRUE(becomes_absent("tag:caf\xC3\xA9")) << guard_->log();
  EXPECT_FALSE(is_absent("tag:caf\xE9"));
  EXPECT_TRUE(is_absent("tag:th\xE9"));
  run("INSERT INTO tag VALUES ('th\xE9')");
  ASSERT_TRUE(catches_up()) << guard_->log();
  EXPECT_FALSE(is_absent("tag:th\xE9"));
  run("DELETE FROM tag WHERE name = 'caf\xE9'");
  EXPECT_TRUE(becomes_absent("tag:caf\xE9"));
}

// Applications ask for either, and the server finds the row.
TEST_F(PostgresSource, has_keys_of_an_encoding_that_takes_two_characters_for_one) {
  run("CREATE DATABASE japan TEMPLATE template0 ENCODING 'EUC_JP' LC_COLLATE 'C' LC_CTYPE 'C'");
  session_.emplace(server_->session("japan"));
  run("SET client_encoding = UTF8");
  run("CREATE TABLE tag (name TEXT PRIMARY KEY, kind TEXT); GRANT "
      "SELECT ON tag TO guard; INSERT "
      "INTO tag VALUES ('a\u00A6b'), ('plain'); CREATE PUBLICATION cuckooguard FOR ALL TABLES");
  ASSERT_EQ(session_->value("SELECT name FROM tag WHERE name = 'a\u00A6b'"), "a\uFFE4b");
  const auto in_japan = [this](const std::string& keys, const std::string& table) {
    std::string yaml = configuration(
        Guarded{.name = "tags", .keys = keys, .table = table, .fresh_ids = ""}.yaml());
    const std::string database = "database: shop";
    yaml.replace(yaml.find(database), database.size(), "database: japan");
    return yaml;
  };
  const auto refusal = [&](const std::string& keys, const std::string& table) {
    return run_guard({"plan", "--config", file("listen: 127.0.0.1:1\n" + in_japan(keys, table))})
        .standard_error;
  };
  EXPECT_THAT(refusal("tag:{name}", "tag"), HasSubstr("instead of {name} write {name|ci}"));
  EXPECT_THAT(refusal("tag:{name|ci}", "tag, where: \"kind <> '\u00A6'\""),
              HasSubstr("use that spelling in the condition"));
  GuardedPostgres::start(in_japan("tag:{name|ci}", "tag"));
  ASSERT_TRUE(becomes_absent("tag:none")) << guard_->log();
  for (const char* const key : {"tag:a\u00A6b", "tag:a\uFFE4b", "tag:plain"}) {
    EXPECT_FALSE(is_absent(key)) << key;
  }
}

TEST_F(PostgresSource, takes_rows_for_which_the_condition_does_not_hold_for_absent) {
  run("CREATE TABLE account (id BIGINT PRIMARY KEY, kind INT NOT NULL DEFAULT 0, deleted_at "
      "TIMESTAMPTZ);"
      "ALTER TABLE account REPLICA IDENTITY FULL;"
      "INSERT INTO account SELECT n FROM generate_series(1, 10) n;"
      "UPDATE account SET deleted_at = now() WHERE id = 2");
  start(Guarded{.name = "live",
                .keys = "live:{id:uint64}",
                .table = R"(account, where: "deleted_at IS NULL AND kind <> 9")"}
            .yaml());
  ASSERT_TRUE(becomes_absent("live:2")) << guard_->log();
  run("UPDATE account SET deleted_at = NULL WHERE id = 2");
  EXPECT_TRUE(becomes_present("live:2"));
  run("UPDATE account SET deleted_at = now() WHERE id = 3; UPDATE account SET kind = 9 WHERE id = "
      "4");
  EXPECT_TRUE(becomes_absent("live:3"));
  EXPECT_TRUE(becomes_absent("live:4"));
  EXPECT_FALSE(is_absent("live:5"));
}

TEST_F(PostgresSource, follows_a_table_that_is_made_under_a_name_of_a_pattern) {
  for (const char* const name : {"user_1", "user_2"}) {
    run(std::string("CREATE TABLE ") + name + " (id BIGINT PRIMARY KEY)");
  }
  run("INSERT INTO user_1 VALUES (1); INSERT INTO user_2 VALUES (2)");
  start(Guarded{.name = "parts", .keys = "part:{id:uint64}", .table = "\"user_*\""}.yaml());
  ASSERT_TRUE(becomes_absent("part:3")) << guard_->log();
  run("CREATE TABLE user_3 (id BIGINT PRIMARY KEY); INSERT INTO user_3 VALUES (3)");
  EXPECT_TRUE(becomes_present("part:3"));
  EXPECT_TRUE(becomes_absent("part:5")) << guard_->log();
  run("INSERT INTO user_3 VALUES (4); DELETE FROM user_1");
  EXPECT_TRUE(becomes_present("part:4"));
  EXPECT_TRUE(becomes_absent("part:1"));
  EXPECT_FALSE(is_absent("part:2"));
  EXPECT_FALSE(is_absent("part:3"));
}

// Whatever becomes of a table under such a name, the others are not held up by it for good.
TEST_F(PostgresSource, lets_go_of_what_is_not_a_table_of_a_pattern_any_more) {
  for (const char* const name : {"user_1", "user_2", "user_3"}) {
    run(std::string("CREATE TABLE ") + name + " (id BIGINT PRIMARY KEY)");
  }
  run("INSERT INTO user_1 VALUES (1); INSERT INTO user_2 VALUES (2); INSERT INTO user_3 VALUES "
      "(3)");
  start(Guarded{.name = "parts", .keys = "part:{id:uint64}", .table = "\"user_*\""}.yaml());
  ASSERT_TRUE(becomes_absent("part:9")) << guard_->log();
  const auto passes_for_want_of = [this](const std::string& why) {
    return eventually([&] {
      return !is_absent("part:9") && guard_->call({"GUARD.INFO", "parts"}).contains(why);
    });
  };

  run("DROP TABLE user_3");
  EXPECT_TRUE(becomes_absent("part:3")) << guard_->log();

  run("CREATE VIEW user_view AS SELECT 5 AS id");
  EXPECT_TRUE(passes_for_want_of("not a table but a view"))
      << guard_->call({"GUARD.INFO", "parts"});
  run("DROP VIEW user_view");
  EXPECT_TRUE(becomes_absent("part:9")) << guard_->call({"GUARD.INFO", "parts"});

  run("CREATE TABLE user_all (id BIGINT PRIMARY KEY) PARTITION BY RANGE (id); ALTER TABLE user_all "
      "ATTACH PARTITION user_2 FOR VALUES FROM (2) TO (3)");
  EXPECT_TRUE(becomes_absent("part:9")) << guard_->call({"GUARD.INFO", "parts"});
  EXPECT_FALSE(is_absent("part:2"));

  run("CREATE TABLE archive (id BIGINT PRIMARY KEY) PARTITION BY RANGE (id); ALTER TABLE archive "
      "ATTACH PARTITION user_1 FOR VALUES FROM (1) TO (2)");
  EXPECT_TRUE(passes_for_want_of("is a partition")) << guard_->call({"GUARD.INFO", "parts"});
  run("ALTER TABLE archive DETACH PARTITION user_1; ALTER TABLE user_all DETACH PARTITION user_2; "
      "DROP TABLE user_all");
  EXPECT_TRUE(becomes_absent("part:9")) << guard_->call({"GUARD.INFO", "parts"});
  EXPECT_FALSE(is_absent("part:1"));
  EXPECT_FALSE(is_absent("part:2"));
}

TEST_F(PostgresSource, who_waits_for_a_commit_finds_its_row_on_every_connection) {
  start();
  std::vector<RawClient> others;
  others.reserve(4);
  for (int i = 0; i < 4; ++i) {  // on both workers
    others.push_back(guard_->client());
  }
  RawClient client = guard_->client();
  for (int i = 0; i < 100; ++i) {
    const std::string id = std::to_string(10'000 + i);
    const std::string position = commit("INSERT INTO \"user\" VALUES (" + id + ")");
    ASSERT_EQ(client.call({"GUARD.WAIT", "shop", position, "60000"}), kYes);
    for (RawClient& other : others) {
      ASSERT_EQ(other.call({"GET", "user:" + id}), kNil) << "Redis's own";
    }
  }
  EXPECT_EQ(client.call({"GUARD.WAIT", "shop", "FFFF/0", "100"}), kNo);
  EXPECT_THAT(client.call({"GUARD.WAIT", "shop", "0-1-5", "10"}),
              StartsWith("-ERR '0-1-5' is not a valid position for source 'shop'"));
}

TEST_F(PostgresSource, is_told_of_wherever_an_operator_looks) {
  start();
  ASSERT_TRUE(catches_up());
  const std::string info = guard_->call({"GUARD.INFO"});
  EXPECT_THAT(info,
              ContainsRegex("# Source shop\r\ntype:postgres\r\nstate:following\r\nwhy:\r\nhint:\r\n"
                            "position:0/[0-9A-F]+\r\n"));
  EXPECT_THAT(info, ContainsRegex("\r\nlosses:0\r\nlog_retained:[0-9]+\r\n"));
  const AdminClient admin(*guard_);
  const std::string status = admin.get("/status").body;
  EXPECT_THAT(status, ContainsRegex("\"position\": ?\"0/[0-9A-F]+\""));
  EXPECT_THAT(status, ContainsRegex("\"log_retained\": ?[0-9]+"));
  EXPECT_THAT(admin.get("/metrics").body,
              ContainsRegex("\ncuckooguard_source_log_retained_bytes\\{source=\"shop\"\\} [0-9]"));
  EXPECT_THAT(guard_->call({"GUARD.EXPLAIN", "user:5000"}), HasSubstr(bulk("users")));
}

// Each has a number that the server will have to freeze.
TEST_F(PostgresSource, tells_how_many_transactions_its_log_was_flushed_by) {
  const bool takes_any = std::stoi(session_->value("SHOW server_version_num")) < 170000;
  start();
  run("SET synchronous_commit = off");
  int id = 10'000;
  const auto is_told = [&] {
    run("INSERT INTO \"user\" VALUES (" + std::to_string(++id) + ")");
    return catches_up() &&
           std::regex_search(
               guard_->call({"GUARD.INFO"}),
               std::regex(
                   "\r\nflush_transactions:[1-9][0-9]*\r\nflush_transactions_per_hour:[1-9]"));
  };
  if (takes_any) {
    EXPECT_TRUE(eventually(is_told)) << guard_->call({"GUARD.INFO"});
  } else {
    EXPECT_FALSE(is_told());
  }
  const AdminClient admin(*guard_);
  const std::string any = takes_any ? "[1-9]" : "0";
  EXPECT_THAT(admin.get("/status").body,
              ContainsRegex("\"flush_transactions\": ?" + any +
                            "[0-9]*, ?\"flush_transactions_per_hour\": ?" + any));
  EXPECT_THAT(
      admin.get("/metrics").body,
      ContainsRegex("\ncuckooguard_source_flush_transactions_total\\{source=\"shop\"\\} " + any));
}

TEST_F(PostgresSource, is_planned_and_checked_as_a_start_does) {
  run("ANALYZE \"user\"");
  const std::string yaml = file("listen: 127.0.0.1:1\n" + configuration());
  const Ended planned = run_guard({"plan", "--config", yaml});
  EXPECT_EQ(planned.exit_code, 0) << planned.standard_error;
  EXPECT_THAT(planned.standard_output, ContainsRegex("\nusers +user +~1,000 "));
  EXPECT_THAT(planned.standard_output,
              HasSubstr("Source shop: grants, settings and tables were checked"));
  EXPECT_EQ(run_guard({"check", "--config", yaml}).exit_code, 0);
  // As providers have it that do not let anybody ask for it.
  run("REVOKE EXECUTE ON FUNCTION pg_control_checkpoint() FROM PUBLIC");
  EXPECT_EQ(run_guard({"plan", "--config", yaml}).exit_code, 0);
  start();
  run("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC");
  const Ended unknown = run_guard({"plan", "--config", yaml});
  EXPECT_EQ(unknown.exit_code, 1) << "as a start";
  EXPECT_THAT(unknown.standard_error,
              HasSubstr("GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system() TO guard"));
  run("GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system() TO guard");
  EXPECT_EQ(run_guard({"plan", "--config", yaml}).exit_code, 0);
  run("ALTER ROLE guard NOREPLICATION; DROP PUBLICATION cuckooguard");
  const Ended refused = run_guard({"plan", "--config", yaml});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.standard_error, HasSubstr("ALTER ROLE guard REPLICATION"));
  EXPECT_THAT(
      refused.standard_error,
      HasSubstr(R"(CREATE PUBLICATION "cuckooguard" FOR TABLE "public"."user" ("id") WITH)"));
  EXPECT_THAT(refused.standard_error, Not(ContainsRegex("no publication.*\n.*no publication")));
}

TEST_F(PostgresSource, leaves_no_warnings_in_the_log_of_a_server_that_lacks_something) {
  run("CREATE TABLE loose (id bigint NOT NULL); GRANT SELECT ON loose TO guard");
  GuardedPostgres::start(configuration(
      Guarded().yaml() +
      Guarded{.name = "loose", .keys = "loose:{id:uint64}", .table = "loose"}.yaml()));
  EXPECT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_TRUE(eventually([&] { return info_field(*guard_, "loose", "state") == "refused"; }));
  EXPECT_THAT(read_whole_file(server_->socket_directory() / "log"),
              Not(HasSubstr("there is no transaction in progress")));
}

TEST_F(PostgresSource, is_begun_with_by_init) {
  write_whole_file(folder_ / "word", "wrong\n");
  const auto init = [this] {
    return run_guard({"init",
                      "--redis",
                      redis_->address(),
                      "--listen",
                      "127.0.0.1:" + std::to_string(free_port()),
                      "--type",
                      "postgres",
                      "--database-address",
                      "127.0.0.1:" + std::to_string(server_->port()),
                      "--database-user",
                      "guard",
                      "--database-password-file",
                      folder_ / "word",
                      "--database",
                      "shop",
                      "--table",
                      "user",
                      "--key",
                      "user:{id:uint64}",
                      "--output",
                      folder_ / "made.yaml"});
  };
  const Ended denied = init();
  EXPECT_EQ(denied.exit_code, 1);
  EXPECT_THAT(denied.standard_error, HasSubstr("password authentication failed for user"));
  write_whole_file(folder_ / "word", "word\n");
  const Ended ended = init();
  ASSERT_EQ(ended.exit_code, 0) << ended.standard_error;
  EXPECT_EQ(ended.standard_error, "");
  EXPECT_EQ(run_guard({"check", "--config", folder_ / "made.yaml"}).exit_code, 0);
  // A test does not wait for the first minute, in which all keys pass.
  const std::string yaml =
      read_whole_file(folder_ / "made.yaml") + "    overlay: { pass_at_start: false }\n";
  GuardedPostgres::start(yaml.substr(yaml.find("\nupstream:") + 1));
  EXPECT_TRUE(eventually([this] {
    guard_->call({"GET", "user:5000"});
    const std::string seen = info_field(*guard_, "user", "keys_observed_absent");
    return !seen.empty() && seen != "0";
  })) << guard_->log();
  EXPECT_EQ(info_field(*guard_, "user", "mode"), "observe");
}

// What an extension puts into a page by force was never logged for those who follow.
TEST_F(PostgresSource, rows_that_never_were_in_the_log_are_found_by_observing) {
  GuardedPostgres::start(
      configuration(Guarded{.mode = "", .fresh_ids = "", .absent_reply = "", .filter = ""}.yaml()));
  const auto becomes = [this](const std::string& field, const std::string& value) {
    return eventually([&] { return info_field(*guard_, "users", field) == value; });
  };
  ASSERT_TRUE(becomes("fresh", "1")) << guard_->log();
  run("CREATE EXTENSION pg_surgery");
  run("BEGIN");
  const std::string place = session_->value("INSERT INTO \"user\" VALUES (500000) RETURNING ctid");
  run("ROLLBACK");
  run("SELECT heap_force_freeze('\"user\"', ARRAY['" + place + "'::tid])");
  ASSERT_EQ(session_->value("SELECT count(*) FROM \"user\" WHERE id = 500000"), "1");
  for (const std::string key : {"user:500000", "user:700000"}) {
    redis_->call({"SET", key, "cached"});
    EXPECT_EQ(guard_->call({"GET", key}), bulk("cached"));
  }
  EXPECT_TRUE(becomes("hidden_rows", "1")) << guard_->log();
  EXPECT_TRUE(becomes("hidden_values", "1")) << guard_->log();
}

}  // namespace
}  // namespace cuckooguard::harness
