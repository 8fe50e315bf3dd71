// Cache layers as applications have them, unmodified, behind a guard whose reply to an absent key
// is what they take for "no such row": look-ups of rows that do not exist stop in the cache layer,
// and the database is not asked. Rows that exist are found, also those that come later. The
// applications are in integration/frameworks.
//
// Each test has its contrast built in: with `absent_reply: nil`, the same application asks the
// database every time.

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "fixtures/on_postgres.h"
#include "frameworks/application.h"
#include "frameworks/guarded_cache.h"
#include "harness/child_process.h"
#include "harness/configuration.h"
#include "harness/database.h"
#include "harness/redis_command.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::Le;

void expect_the_database_is_protected(const Application& application,
                                      const GuardedCache& cache,
                                      const Users& users) {
  auto steps = run_application(application, cache, users, Later::inserted);
  EXPECT_EQ(steps["first"],
            (Step{.lookups = kExistingLookups,
                  .found = kExistingLookups,
                  .database_queries = kExistingLookups}));
  EXPECT_EQ(steps["again"],
            (Step{.lookups = kExistingLookups, .found = kExistingLookups, .database_queries = 0}));
  EXPECT_EQ(steps["absent"],
            (Step{.lookups = kAbsentLookups + 1, .found = 0, .database_queries = 0}));
  // Looked up until it was there: the database was asked once, when it was.
  EXPECT_EQ(steps["later"], (Step{.lookups = 1, .found = 1, .database_queries = 1}));
}

void expect_the_database_is_asked_with_nil(const Application& application,
                                           const GuardedCache& cache,
                                           const Users& users) {
  auto steps = run_application(application, cache, users, Later::not_inserted);
  EXPECT_EQ(steps["again"],
            (Step{.lookups = kExistingLookups, .found = kExistingLookups, .database_queries = 0}));
  EXPECT_EQ(steps["absent"],
            (Step{.lookups = kAbsentLookups, .found = 0, .database_queries = kAbsentLookups}));
}

// With nil the application has cached "no such row" itself. Where it does so with its preset, as it
// does while everything passes, that write is no word of a row: the key stays absent.
void expect_its_own_placeholder_is_no_row(const GuardedCache& nil, const GuardedCache& preset) {
  const std::uint64_t id = kFirstAbsent + kAbsentLookups / 2;
  const std::string placeholder = nil.in_redis(id);
  EXPECT_TRUE(eventually([&] { return preset.answers_absent(id); }));
  preset.set(id, placeholder);
  EXPECT_TRUE(preset.answers_absent(id)) << shown(placeholder);
  preset.set(id, "a user");
  EXPECT_FALSE(preset.answers_absent(id));
}

void test_with(const Application& application, const Users& users) {
  const GuardedCache preset(users, application.keys, application.absent_reply);
  expect_the_database_is_protected(application, preset, users);
  const GuardedCache nil(users, application.keys, "nil");
  expect_the_database_is_asked_with_nil(application, nil, users);
  if (!application.absent_reply.starts_with("hex:")) {
    expect_its_own_placeholder_is_no_row(nil, preset);
  }
}

std::string folder(const std::string& framework) {
  return std::string(CUCKOOGUARD_FRAMEWORKS) + "/" + framework;
}

class Frameworks : public testing::Test {
 protected:
  Frameworks() : database_(directory_ / "shop.db", Journal::wal) {
    database_.insert_users(1, kRows);
  }

  Users users() {
    return {.guard_source = sqlite_source(database_.path(), ", max_lag: 1m, poll_every: 10ms"),
            .address = database_.path().string(),
            .insert = [this](std::uint64_t id) { database_.insert_user(id); }};
  }

  // Debian's python3, as in real_clients_test.cpp; -B: it writes nothing beside its sources.
  static std::vector<std::string> python(const std::string& framework) {
    return {"/usr/bin/python3", "-B", folder(framework) + "/main.py"};
  }
  static std::optional<std::string> missing_for_python(const std::string& packages,
                                                       const std::string& modules) {
    return missing_packages(packages, {"/usr/bin/python3", "-c", "import " + modules});
  }

  TemporaryDirectory directory_;
  Database database_;
};

TEST_F(Frameworks, django_redis_get_or_set_does_not_call_its_default) {
  SKIP_IF_MISSING(missing_for_python("python3-django-redis", "django_redis"));
  test_with({.program = python("django_redis"), .keys = ":1:user:{id}", .absent_reply = "django"},
            users());
}

TEST_F(Frameworks, dogpile_cache_get_or_create_does_not_call_its_creator) {
  SKIP_IF_MISSING(
      missing_for_python("python3-dogpile.cache and python3-redis", "dogpile.cache, redis"));
  test_with({.program = python("dogpile"), .keys = "user:{id}", .absent_reply = "dogpile"},
            users());
}

TEST_F(Frameworks, symfony_cache_get_does_not_call_its_callback) {
  SKIP_IF_MISSING(missing_packages("php-cli, php-symfony-cache, php-redis and php-sqlite3",
                                   {"php",
                                    "-r",
                                    "require 'Symfony/Component/Cache/autoload.php';"
                                    "exit(class_exists('Redis') && class_exists('PDO') &&"
                                    " in_array('sqlite', PDO::getAvailableDrivers()) ? 0 : 1);"}));
  test_with({.program = {"php", folder("symfony") + "/main.php"},
             .keys = "shop:user.{id}",
             .absent_reply = "symfony"},
            users());
}

// The preset `rails` is for Rails 7.1; what 6.1 caches for a block that returns nil it tells
// itself.
TEST_F(Frameworks, rails_6_1_fetch_does_not_run_its_block) {
  const std::string program = folder("rails") + "/main.rb";
  const std::vector<std::string> tell{"ruby", program, "--no-such-user"};
  SKIP_IF_MISSING(missing_packages("ruby, ruby-activesupport, ruby-redis and ruby-sqlite3", tell));
  const Ended told = run_program(tell);
  const std::string hex = told.standard_output.substr(0, told.standard_output.find('\n'));
  test_with({.program = {"ruby", program}, .keys = "user:{id}", .absent_reply = "hex:" + hex},
            users());
}

TEST_F(Frameworks, rails_7_1_reads_the_preset_as_a_nil_that_does_not_expire) {
  SKIP_IF_MISSING(missing_packages("ruby", {"ruby", "-e", ""}));
  const GuardedCache cache(users(), "user:{id}", "rails");
  const Ended read =
      run_program({"ruby", folder("rails") + "/entry_of_7_1.rb", in_hex(cache.absent_bytes())});
  EXPECT_EQ(read.standard_output,
            "signature=0011 marshalled=1 expires=never version=none value_is_nil=1\n")
      << read.standard_error;
}

std::uint64_t now_ms() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

class JavaFrameworks : public Frameworks {
 protected:
  static std::optional<std::string> missing_java() {
    return missing_packages("openjdk-17-jdk-headless", {"javac", "-version"});
  }

  static Ended read_by(std::vector<std::string> program, const GuardedCache& cache) {
    program.push_back(in_hex(cache.absent_bytes()));
    return run_program(std::move(program));
  }
};

TEST_F(JavaFrameworks, spring_data_redis_compares_equal_with_its_null_value) {
  const std::string jar = "/usr/share/java/spring3-context.jar";
  SKIP_IF_MISSING(missing_java());
  SKIP_IF_MISSING(missing_packages("libspring-context-java", {"test", "-e", jar}));
  const GuardedCache cache(users(), "users::{id}", "spring");
  const Ended read =
      read_by({"java", "-cp", jar, folder("spring") + "/NullValueBytes.java"}, cache);
  EXPECT_EQ(read.standard_output, "equal=1 reads_as_null_value=1\n") << read.standard_error;
}

TEST_F(JavaFrameworks, jetcache_reads_a_null_that_is_fresh_for_some_seconds) {
  SKIP_IF_MISSING(missing_java());
  const GuardedCache cache(users(), "user.{id}", "jetcache");
  const std::uint64_t before = now_ms();
  const std::string reply = cache.absent_bytes();
  const std::uint64_t after = now_ms();
  const Ended read = run_program({"java", folder("jetcache") + "/ReadHolder.java", in_hex(reply)});
  auto values = values_of(read.standard_output);
  EXPECT_EQ(values["decoder"], "4a953a80") << read.standard_error;
  EXPECT_EQ(values["value_is_null"], "1");
  constexpr std::uint64_t kBatchMs = 1000;  // the guard looks at the clock once per batch
  EXPECT_THAT(number(values["accessed_at"]), AllOf(Ge(before - kBatchMs), Le(after)));
  // Now >= expireTime would be a miss; a local cache keeps it until then.
  EXPECT_THAT(number(values["expires_at"]), AllOf(Gt(after), Le(after + 5000)));
}

class PostgresFrameworks : public OnPostgres {
 protected:
  void prepare() override {
    create_guard_role(*server_);
    run("CREATE TABLE \"user\" (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, name text);"
        "INSERT INTO \"user\" (name) SELECT 'user ' || i FROM generate_series(1, " +
        std::to_string(kRows) +
        ") i;"
        "CREATE ROLE app LOGIN PASSWORD 'word'; GRANT ALL ON \"user\" TO app");
  }

  Users users() const {
    return {.guard_source = postgres_source(unix_address(*server_)),
            .address = "postgresql://app:word@127.0.0.1:" + std::to_string(server_->port()) + "/" +
                       PostgresServer::kDatabase,
            .insert = {}};
  }
  static Application django(const std::string& program) {
    return {.program = {"/usr/bin/python3", "-B", folder("django_redis") + "/" + program},
            .keys = ":1:user:{id}",
            .absent_reply = "django"};
  }
};

TEST_F(PostgresFrameworks, django_finds_what_its_orm_has_written_and_asks_for_nobody_else) {
  SKIP_IF_MISSING(missing_packages("python3-django-redis and python3-psycopg2",
                                   {"/usr/bin/python3", "-c", "import django_redis, psycopg2"}));
  constexpr std::uint64_t kWritten = 50;  // ROWS of the program
  const Application orm = django("orm.py");
  // What the application has cached of a user passes for so long, also if the user is gone.
  const std::string overlay = "{ pass_at_start: false, ttl: 1s }";
  const GuardedCache preset(users(), orm.keys, orm.absent_reply, overlay);
  auto steps = run_application(orm, preset, users(), Later::not_inserted);
  const Step all{.lookups = kWritten, .found = kWritten, .database_queries = kWritten};
  EXPECT_EQ(steps["created"], all);
  EXPECT_EQ(steps["updated"], all);
  EXPECT_EQ(
      steps["moved"],
      (Step{.lookups = kWritten / 2, .found = kWritten / 2, .database_queries = kWritten / 2}));
  EXPECT_EQ(steps["deleted"], (Step{.lookups = kWritten, .found = 0, .database_queries = 0}));
  EXPECT_EQ(steps["again"], all);
  EXPECT_EQ(steps["absent"], (Step{.lookups = kAbsentLookups, .found = 0, .database_queries = 0}));
  const Application shop = django("main.py");
  expect_the_database_is_asked_with_nil(shop, GuardedCache(users(), shop.keys, "nil"), users());
}

// The database of these is a MariaDB: node has no SQLite of its own.
class NodeFrameworks : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name TEXT)");
    run("INSERT INTO user SELECT seq, CONCAT('user ', seq) FROM seq_1_to_" + std::to_string(kRows));
  }

  void test_with_node(const std::string& framework, const std::string& keys) {
    const std::string modules = CUCKOOGUARD_NODE_FOLDER;
    SKIP_IF_MISSING(missing_node_module(modules, "cache-manager"));
    const std::string address = unix_address(*server_);
    test_with({.program = {"node", folder(framework) + "/main.mjs", modules},
               .keys = keys,
               .absent_reply = "keyv"},
              {.guard_source = mysql_source(address),
               .address = server_->unix_path().string(),
               .insert = [this](std::uint64_t id) {
                 run("INSERT INTO user VALUES (" + std::to_string(id) + ", 'user " +
                     std::to_string(id) + "')");
               }});
  }
};

TEST_F(NodeFrameworks, keyv_finds_a_null_that_is_there) {
  test_with_node("keyv", "keyv::keyv:user:{id}");
}

TEST_F(NodeFrameworks, cache_manager_wrap_does_not_call_its_function) {
  test_with_node("cache_manager", "keyv::keyv:user:{id}");
}

}  // namespace
}  // namespace cuckooguard::harness
