// Cache layers as applications have them, unmodified, behind a guard whose reply to an absent key is what they take for "no
// such row": look-ups of rows that do not exist stop in the cache layer, and the database is not asked. Rows that exist are
// found, also those that come later. The applications are in integration/frameworks.
//
// Each test has its contrast built in: with `absent_reply: nil`, the same application asks the database every time.

#include <charconv>
#include <ctime>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/child_process.h"
#include "harness/database.h"
#include "harness/guard_process.h"
#include "harness/guarded_mariadb.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

constexpr std::uint64_t kRows = 1000;
constexpr std::uint64_t kFirstAbsent = 1'000'000;
constexpr std::uint64_t kLater = 2'000'000;  // inserted while an application runs
constexpr std::size_t kAbsentLookups = 50;
constexpr std::string_view kExisting = "1,2,500,999,1000";
constexpr std::uint64_t kExistingLookups = 5;

// Where the applications' users are, and how the guard and they come by them.
struct Users {
  std::string guard_source;  // the section `sources`, with `shop`
  std::string address;       // for the programs
  std::function<void(std::uint64_t id)> insert;
};

struct Application {
  std::vector<std::string> program;  // to be followed by port, address and ids
  std::string keys;                  // as the cache layer makes them, with `{id}`
  std::string absent_reply;          // the preset that is made for it
};

// "step=first lookups=5 found=5 database_queries=5"
struct Step {
  std::uint64_t lookups = 0;
  std::uint64_t found = 0;
  std::uint64_t database_queries = 0;

  bool operator==(const Step&) const = default;
  friend void PrintTo(const Step& step, std::ostream* out) {
    *out << step.lookups << " look-ups, " << step.found << " found, " << step.database_queries
         << " database queries";
  }
};

// A line's key=value.
std::map<std::string, std::string> values_of(const std::string& line) {
  std::map<std::string, std::string> values;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    values[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  return values;
}

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::map<std::string, Step> steps_of(const std::string& output) {
  std::map<std::string, Step> steps;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    auto values = values_of(line);
    steps[values["step"]] = {.lookups = number(values["lookups"]),
                             .found = number(values["found"]),
                             .database_queries = number(values["database_queries"])};
  }
  return steps;
}

std::string in_list(const std::vector<std::uint64_t>& ids) {
  std::string list;
  for (const std::uint64_t id : ids) {
    list += (list.empty() ? "" : ",") + std::to_string(id);
  }
  return list;
}

// A Redis of its own, and a guard in front of it that enforces.
class GuardedCache {
 public:
  GuardedCache(const Users& users, std::string keys, const std::string& absent_reply)
      : keys_(std::move(keys)),
        guard_(GuardProcess::on_port(
            "upstream: " + redis_.address() + "\n" + users.guard_source +
            "namespaces:\n  users:\n    keys: \"" + key("{id:uint64}") +
            "\"\n    source: { from: shop, table: user, columns: { id: id } }\n    mode: enforce\n"
            "    absent_reply: \"" +
            absent_reply + "\"\n    filter: { false_positive_rate: 0.0001% }\n")) {
    EXPECT_TRUE(eventually([this] { return answers_absent(); })) << guard_.log();
  }

  std::string key(const std::string& id) const {
    const std::string placeholder = "{id}";
    std::string key = keys_;
    return key.replace(key.find(placeholder), placeholder.size(), id);
  }

  // Ids of nobody that the filter does not take for somebody's.
  std::vector<std::uint64_t> absent_ids(std::size_t count) const {
    RawClient client = guard_.client();
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = kFirstAbsent; ids.size() < count; ++id) {
      if (client.call({"GUARD.CHECK", key(std::to_string(id))}) == "*1\r\n:0\r\n") {
        ids.push_back(id);
      }
    }
    return ids;
  }

  // What a GET of an absent key returns, without its RESP.
  std::string absent_bytes() const {
    const std::string reply = guard_.call({"GET", key(std::to_string(kFirstAbsent))});
    const std::size_t begin = reply.find("\r\n") + 2;
    return reply.substr(begin, reply.size() - begin - 2);
  }

  std::string port() const { return std::to_string(guard_.port()); }
  std::string log() const { return guard_.log(); }

 private:
  bool answers_absent() const {
    const std::uint64_t before = redis_.calls("get");
    guard_.call({"GET", key(std::to_string(kFirstAbsent))});
    return redis_.calls("get") == before;
  }

  std::string keys_;
  RedisServer redis_;
  GuardProcess guard_;
};

// What the application says of its look-ups. The row kLater is inserted once it has been looked up in vain.
std::map<std::string, Step> run_application(const Application& application,
                                            const GuardedCache& cache,
                                            const Users& users,
                                            bool with_later) {
  const TemporaryDirectory directory;
  std::vector<std::string> command = application.program;
  command.insert(command.end(),
                 {cache.port(),
                  users.address,
                  std::string(kExisting),
                  in_list(cache.absent_ids(kAbsentLookups))});
  if (with_later) {
    command.push_back(std::to_string(kLater));
  }
  ChildProcess program(command, {directory / "output", directory / "errors"});
  const auto output = [&] { return read_whole_file(directory / "output"); };
  const auto has_looked_in_vain = [&] {
    return output().contains("step=absent") || !program.is_running();
  };
  if (with_later && eventually(has_looked_in_vain)) {
    users.insert(kLater);
  }
  EXPECT_EQ(program.exit_code(), 0)
      << output() << read_whole_file(directory / "errors") << cache.log();
  return steps_of(output());
}

void expect_the_database_is_protected(const Application& application, const Users& users) {
  const GuardedCache cache(users, application.keys, application.absent_reply);
  auto steps = run_application(application, cache, users, true);
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

void expect_the_database_is_asked_with_nil(const Application& application, const Users& users) {
  const GuardedCache cache(users, application.keys, "nil");
  auto steps = run_application(application, cache, users, false);
  EXPECT_EQ(steps["again"],
            (Step{.lookups = kExistingLookups, .found = kExistingLookups, .database_queries = 0}));
  EXPECT_EQ(steps["absent"],
            (Step{.lookups = kAbsentLookups, .found = 0, .database_queries = kAbsentLookups}));
}

void test_with(const Application& application, const Users& users) {
  expect_the_database_is_protected(application, users);
  expect_the_database_is_asked_with_nil(application, users);
}

std::string folder(const std::string& framework) {
  return std::string(CUCKOOGUARD_FRAMEWORKS) + "/" + framework;
}

bool runs(std::vector<std::string> command) {
  return run_program(std::move(command)).exit_code == 0;
}

class Frameworks : public testing::Test {
 protected:
  Frameworks() : database_(directory_ / "shop.db", Journal::wal) {
    database_.insert_users(1, kRows);
  }

  Users users() {
    return {.guard_source = "sources:\n  shop: { type: sqlite, path: \"" +
                            database_.path().string() + "\", max_lag: 1m, poll_every: 10ms }\n",
            .address = database_.path().string(),
            .insert = [this](std::uint64_t id) { database_.insert_user(id); }};
  }

  // Debian's python3, as in real_clients_test.cpp; -B: it writes nothing beside its sources.
  static std::vector<std::string> python(const std::string& framework) {
    return {"/usr/bin/python3", "-B", folder(framework) + "/main.py"};
  }
  static bool python_has(const std::string& modules) {
    return runs({"/usr/bin/python3", "-c", "import " + modules});
  }

  TemporaryDirectory directory_;
  Database database_;
};

std::string in_hex(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(byte);
    hex += {kDigits[value / 16U], kDigits[value % 16U]};
  }
  return hex;
}

TEST_F(Frameworks, django_redis_get_or_set_does_not_call_its_default) {
  if (!python_has("django_redis")) {
    GTEST_SKIP() << "Debian's package python3-django-redis is not installed: ./dev test does so";
  }
  test_with(
      {.program = python("django_redis"), .keys = ":1:user:{id}", .absent_reply = "hex:80054e2e"},
      users());
}

TEST_F(Frameworks, dogpile_cache_get_or_create_does_not_call_its_creator) {
  if (!python_has("dogpile.cache, redis")) {
    GTEST_SKIP() << "Debian's packages python3-dogpile.cache and python3-redis are not installed: "
                    "./dev test does so";
  }
  const std::string value =
      "{\"ct\": " + std::to_string(std::time(nullptr)) + ", \"v\": 2}|\x80\x04N.";
  test_with(
      {.program = python("dogpile"), .keys = "user:{id}", .absent_reply = "hex:" + in_hex(value)},
      users());
}

TEST_F(Frameworks, symfony_cache_get_does_not_call_its_callback) {
  if (!runs({"php",
             "-r",
             "require 'Symfony/Component/Cache/autoload.php';"
             "exit(class_exists('Redis') && class_exists('PDO') &&"
             " in_array('sqlite', PDO::getAvailableDrivers()) ? 0 : 1);"})) {
    GTEST_SKIP() << "Debian's packages php-cli, php-symfony-cache, php-redis and php-sqlite3 are "
                    "not all installed: ./dev test does so";
  }
  test_with({.program = {"php", folder("symfony") + "/main.php"},
             .keys = "shop:user.{id}",
             .absent_reply = "hex:4e3b"},
            users());
}

// The preset `rails` is for Rails 7.1; what 6.1 caches for a block that returns nil it tells itself.
TEST_F(Frameworks, rails_6_1_fetch_does_not_run_its_block) {
  const std::string program = folder("rails") + "/main.rb";
  const Ended told = run_program({"ruby", program, "--no-such-user"});
  if (told.exit_code != 0) {
    GTEST_SKIP() << "Debian's packages ruby, ruby-activesupport, ruby-redis and ruby-sqlite3 are "
                    "not all installed: ./dev test does so";
  }
  const std::string hex = told.standard_output.substr(0, told.standard_output.find('\n'));
  test_with({.program = {"ruby", program}, .keys = "user:{id}", .absent_reply = "hex:" + hex},
            users());
}

TEST_F(Frameworks, rails_7_1_reads_the_preset_as_a_nil_that_does_not_expire) {
  if (!runs({"ruby", "-e", ""})) {
    GTEST_SKIP() << "Debian's package ruby is not installed: ./dev test does so";
  }
  const GuardedCache cache(users(), "user:{id}", "hex:001101000000000000f0bfffffffff040830");
  const Ended read =
      run_program({"ruby", folder("rails") + "/entry_of_7_1.rb", in_hex(cache.absent_bytes())});
  EXPECT_EQ(read.standard_output,
            "signature=0011 marshalled=1 expires=never version=none value_is_nil=1\n")
      << read.standard_error;
}

class JavaFrameworks : public Frameworks {
 protected:
  static bool java_is_missing() { return !runs({"javac", "-version"}); }

  static Ended read_by(std::vector<std::string> program, const GuardedCache& cache) {
    program.push_back(in_hex(cache.absent_bytes()));
    return run_program(std::move(program));
  }
};

TEST_F(JavaFrameworks, spring_data_redis_compares_equal_with_its_null_value) {
  const std::string jar = "/usr/share/java/spring3-context.jar";
  if (java_is_missing() || !std::filesystem::exists(jar)) {
    GTEST_SKIP() << "Debian's packages openjdk-17-jdk-headless and libspring-context-java are not "
                    "both installed: ./dev test does so";
  }
  const GuardedCache cache(
      users(),
      "users::{id}",
      "hex:aced00057372002b6f72672e737072696e676672616d65776f726b2e63616368652e737570706f72742e"
      "4e756c6c56616c756500000000000000010200007870");
  const Ended read =
      read_by({"java", "-cp", jar, folder("spring") + "/NullValueBytes.java"}, cache);
  EXPECT_EQ(read.standard_output, "equal=1 reads_as_null_value=1\n") << read.standard_error;
}

TEST_F(JavaFrameworks, jetcache_reads_a_null_that_is_fresh_for_some_seconds) {
  if (java_is_missing()) {
    GTEST_SKIP() << "Debian's package openjdk-17-jdk-headless is not installed: ./dev test does so";
  }
  GTEST_SKIP() << "needs the preset";
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
    if (!std::filesystem::exists(modules + "/node_modules/cache-manager")) {
      GTEST_SKIP() << "cache-manager is not installed below " << modules
                   << ": ./dev test does so, by npm and its registry";
    }
    const std::string address = unix_address(*server_);
    test_with({.program = {"node", folder(framework) + "/main.mjs", modules},
               .keys = keys,
               .absent_reply = "hex:" + in_hex(R"({"value":null})")},
              {.guard_source = shop_source(address),
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
