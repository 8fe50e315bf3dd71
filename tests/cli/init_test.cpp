#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/output.h"
#include "config/config_file.h"
#include "guests/guests.h"

namespace cuckooguard::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const Answers kOfMysql{{"--redis", "redis:6379"},
                       {"--redis-user", "guard"},
                       {"--redis-password-file", "/run/redis"},
                       {"--listen", "0.0.0.0:6380"},
                       {"--type", "mysql"},
                       {"--database-address", "db:3306"},
                       {"--database-user", "guard"},
                       {"--database-password-file", "${DATABASE_PASSWORD}"},
                       {"--database", "my shop"},
                       {"--table", "user-accounts"},
                       {"--key", "user:{id:uint64}"},
                       {"--db", "1"}};

config::Config parsed(const std::string& yaml) {
  const auto config =
      config::parse_config(yaml, "f", [](std::string_view) { return std::string("hunter2"); });
  return config ? *config : throw std::invalid_argument(yaml + config.error().front().text());
}

TEST(FirstConfiguration, has_every_answer_and_observes) {
  const config::Config config = parsed(first_configuration(kOfMysql));
  EXPECT_EQ(config.listen.front().address.text(), "0.0.0.0:6380");
  EXPECT_EQ(config.upstream.address.text(), "redis:6379");
  EXPECT_EQ(config.upstream.control,
            (config::Control{.username = "guard", .password = "", .password_file = "/run/redis"}));
  const auto& mysql = std::get<config::MysqlSource>(config.sources.at(0).kind);
  EXPECT_EQ(mysql.addresses.at(0).text(), "db:3306");
  EXPECT_EQ(mysql.user, "guard");
  EXPECT_EQ(mysql.password, "hunter2") << "of the environment";
  EXPECT_EQ(mysql.database, "my shop");
  const config::Namespace& space = config.namespaces.at(0);
  EXPECT_EQ(space.name, "user_accounts");
  EXPECT_EQ(space.keys.at(0).text(), "user:{id:uint64}");
  EXPECT_THAT(space.source.tables, testing::ElementsAre("user-accounts"));
  EXPECT_EQ(space.mode, config::Mode::observe);
  EXPECT_EQ(space.db, 1);
  EXPECT_EQ(space.tolerate, 10) << "per second";
}

TEST(FirstConfiguration, is_one_for_each_type_and_after_each_part) {
  Answers answers = kOfMysql;
  EXPECT_TRUE(parsed(first_configuration(answers, Part::redis)).sources.empty());
  EXPECT_TRUE(parsed(first_configuration(answers, Part::source)).namespaces.empty());
  answers["--type"] = "postgres";
  answers["--schema"] = "app";
  const config::Config postgres = parsed(first_configuration(answers));
  EXPECT_EQ(std::get<config::PostgresSource>(postgres.sources.at(0).kind).schema, "app");
  answers["--path"] = "shop.db";
  answers["--type"] = "sqlite";
  const config::Config sqlite = parsed(first_configuration(answers));
  EXPECT_EQ(std::get<config::SqliteSource>(sqlite.sources.at(0).kind).path,
            std::filesystem::current_path() / "shop.db")
      << "the guard may be started elsewhere";
  EXPECT_EQ(sqlite.upstream.acl, config::Acl::ask);
  answers["--acl"] = "trust";
  EXPECT_EQ(parsed(first_configuration(answers, Part::redis)).upstream.acl, config::Acl::trust);
  answers["--type"] = "file";
  EXPECT_EQ(parsed(first_configuration(answers)).namespaces.at(0).name, "values");
}

TEST(FirstConfiguration, of_streams_says_what_debezium_needs) {
  Answers answers = kOfMysql;
  answers["--type"] = "debezium";
  answers["--connector"] = "postgresql";
  answers["--topic-prefix"] = "my shop";
  answers["--freshness"] = "trust_lag";
  answers["--table"] = "public.users";
  const std::string without = first_configuration(answers);
  EXPECT_THAT(without, HasSubstr("\n    #heartbeat_table: \"\"\n"));
  EXPECT_THAT(without, HasSubstr("debezium.source.skipped.operations=none"));
  EXPECT_THAT(without, HasSubstr("\n    #binary_texts: false\n"));
  answers["--heartbeat-table"] = "public.beat";
  const config::Config config = parsed(first_configuration(answers));
  EXPECT_EQ(std::get<config::DebeziumSource>(config.sources.at(0).kind),
            (config::DebeziumSource{.connector = config::StreamConnector::postgresql,
                                    .topic_prefix = "my shop",
                                    .heartbeat_table = "public.beat",
                                    .freshness = config::StreamFreshness::trust_lag}));
  EXPECT_EQ(config.namespaces.at(0).name, "public_users");
}

TEST(FirstConfiguration, has_no_secret_whatever_is_answered) {
  for (const std::string_view not_a_variable :
       {"$hunter2", "${A:-hunter2}", "${A}hunter2", "${A}${hunter2}", "${hunter-2}", "${"}) {
    EXPECT_FALSE(is_variable(not_a_variable)) << not_a_variable;
  }
  EXPECT_TRUE(is_variable("${REDIS_PASSWORD_2}"));
  Answers answers = kOfMysql;
  answers["--redis-password-file"] = "/a: ${B} # \"c";
  EXPECT_EQ(parsed(first_configuration(answers)).upstream.control.password_file, "/a: ${B} # \"c")
      << "it is a file's name as it stands";
}

Answers of_table(const std::string& table, const std::string& key) {
  Answers answers = kOfMysql;
  answers["--table"] = table;
  answers["--key"] = key;
  return answers;
}

TEST(FirstConfiguration, may_have_several_namespaces_whose_names_differ) {
  const std::vector<Answers> spaces{of_table("users", "user:{id:uint64}"),
                                    of_table("order-items", "item:{id:uint64}"),
                                    of_table("order_items", "line:{id:uint64}")};
  const config::Config config = parsed(first_configuration(kOfMysql, Part::keys, spaces));
  std::vector<std::string> told;
  for (const config::Namespace& space : config.namespaces) {
    told.push_back(space.name + " " + space.source.tables.at(0) + " " + space.keys.at(0).text());
    EXPECT_EQ(space.mode, config::Mode::observe);
    EXPECT_EQ(space.tolerate, 10);
  }
  EXPECT_THAT(told,
              testing::ElementsAre("users users user:{id:uint64}",
                                   "order_items order-items item:{id:uint64}",
                                   "order_items_2 order_items line:{id:uint64}"));
}

class AddedNamespaces : public testing::Test {
 protected:
  static constexpr const char* kSources =
      "sources: { shop: { type: sqlite, path: /shop.db } }  # ours\n";
  static std::string added(const std::string& yaml) {
    const std::vector<Answers> spaces{of_table("orders", "order:{id:uint64}")};
    return with_namespaces(kSources + yaml, spaces, {.source = "shop", .taken = {"orders"}})
        .value_or("refused");
  }
};

TEST_F(AddedNamespaces, come_behind_those_that_there_are_and_leave_all_else) {
  const std::string before =
      "namespaces:  # all\n"
      "  # of the shop\n"
      "    orders:\n"
      "        keys: \"o:{id}\"\n"
      "        source: { from: shop, table: o }\n"
      "\n"
      "        #mode: enforce\n";
  const std::string behind = "\n# of the page\nadmin: { address: 127.0.0.1:9180 }";
  const std::string yaml = added(before + behind);
  EXPECT_THAT(yaml,
              AllOf(StartsWith(kSources + before + "    orders_2:\n        keys: "),
                    testing::EndsWith("\n" + behind)));
  const config::Config config = parsed(yaml);
  ASSERT_EQ(config.namespaces.size(), 2U);
  EXPECT_EQ(config.namespaces[1].source.from, "shop");
  EXPECT_EQ(config.namespaces[1].keys.at(0).text(), "order:{id:uint64}");
}

TEST_F(AddedNamespaces, are_the_first_where_there_are_none) {
  for (const char* const yaml : {"", "namespaces:\n", "namespaces:", "namespaces:  # none yet\n"}) {
    const config::Config config = parsed(added(yaml));
    ASSERT_EQ(config.namespaces.size(), 1U) << yaml;
    EXPECT_EQ(config.namespaces[0].name, "orders_2");
  }
}

TEST_F(AddedNamespaces, are_not_put_into_braces) {
  EXPECT_EQ(added("namespaces: { a: { keys: 'a:{id}' } }\n"), "refused");
}

class Initialized : public testing::Test {
 protected:
  Initialized()
      : folder_(std::filesystem::temp_directory_path() /
                ("init_test_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    init_.output = folder_ / "guard.yaml";
    init_.answers = {{"--redis", "127.0.0.1:1"}, {"--redis-password-file", ""}};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  int run(std::istream* terminal = nullptr) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int exit_code = initialize(init_, terminal, guests::program().guests);
    asked_ = testing::internal::GetCapturedStdout();
    told_ = testing::internal::GetCapturedStderr();
    return exit_code;
  }

  std::filesystem::path folder_;
  Init init_;
  std::string asked_;
  std::string told_;
};

TEST_F(Initialized, without_a_terminal_a_missing_flag_is_named) {
  EXPECT_EQ(run(), kExitUsage);
  EXPECT_EQ(asked_, "");
  EXPECT_THAT(told_,
              AllOf(HasSubstr("127.0.0.1:1: cannot connect"),
                    HasSubstr("cuckooguard: --type is missing, and there is no terminal")));
  EXPECT_FALSE(std::filesystem::exists(init_.output));
}

TEST_F(Initialized, a_file_that_is_there_is_not_overwritten) {
  std::ofstream(init_.output) << "mine";
  EXPECT_EQ(run(), kExitFailure);
  EXPECT_THAT(told_, AllOf(HasSubstr("guard.yaml already exists"), HasSubstr("--force")));
  EXPECT_EQ(std::filesystem::file_size(init_.output), 4U);
}

TEST_F(Initialized, what_may_be_a_secret_in_the_wrong_place_is_not_repeated) {
  init_.answers["--redis-password-file"] = "hunter2";
  init_.answers["--type"] = "sqlit";
  EXPECT_EQ(run(), kExitFailure);
  EXPECT_THAT(told_,
              AllOf(HasSubstr("--redis-password-file: cannot read a password from this file"),
                    HasSubstr("type: \"sqlit\" is unknown, did you mean \"sqlite\"?"),
                    Not(HasSubstr("hunter2"))));
}

TEST_F(Initialized, on_a_terminal_a_bad_answer_is_asked_for_again) {
  init_.answers.clear();
  std::istringstream answers(
      "nowhere\n\n\n\n"           // an address without a port
      "127.0.0.1:1\n\n$NONE\n\n"  // a variable that is not set
      "\n\n-\n127.0.0.1:1\n");    // the same as Redis's
  EXPECT_EQ(run(&answers), kExitUsage) << "the answers end";
  EXPECT_THAT(asked_, StartsWith("Address of Redis [127.0.0.1:6379]: "));
  EXPECT_THAT(asked_, HasSubstr("Address of Redis [127.0.0.1:1]: ")) << "the answer of before";
  EXPECT_THAT(told_,
              AllOf(HasSubstr("\"nowhere\" has no port"),
                    HasSubstr("needs the environment variable NONE, which is not set"),
                    HasSubstr("listen"),
                    HasSubstr("no answer: --redis\n")));
}

TEST_F(Initialized, nothing_is_asked_where_nothing_can_be_written) {
  init_.output = folder_ / "none" / "guard.yaml";
  std::istringstream answers;
  EXPECT_EQ(run(&answers), kExitFailure);
  EXPECT_EQ(asked_, "");
  EXPECT_THAT(told_, HasSubstr("none does not exist or is not writable"));
}

TEST_F(Initialized, every_key_needs_its_table) {
  init_.tables = {"user"};
  init_.keys = {"user:{id}", "order:{id}"};
  EXPECT_EQ(run(), kExitUsage);
  EXPECT_THAT(told_, HasSubstr("there are more keys than tables"));
}

}  // namespace
}  // namespace cuckooguard::cli
