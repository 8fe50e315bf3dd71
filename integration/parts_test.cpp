// A namespace of several tables: a row of any of them is never hidden beyond `max_lag`, also of a
// table that is created while the guard runs; what none of them has is answered.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "harness/configuration.h"
#include "harness/database.h"
#include "harness/guard_process.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/shop.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds kOurMaxLag = 400ms;

class Parts : public testing::Test {
 protected:
  Parts() {
    create("user_1", 1, 500);
    create("user_2", 501, 1000);
    guard_.emplace(GuardProcess::on_port(yaml()));
  }

  void create(const std::string& table, std::uint64_t first, std::uint64_t last) {
    database_.run("BEGIN; CREATE TABLE " + table + "(id INTEGER PRIMARY KEY, name TEXT);" +
                  "WITH RECURSIVE n(x) AS (SELECT " + std::to_string(first) +
                  " UNION ALL SELECT x + 1 FROM n WHERE x < " + std::to_string(last) +
                  ") INSERT INTO " + table + " SELECT x, 'name' FROM n; COMMIT");
  }

  std::string yaml() const {
    return Configuration{
        .upstream = redis_.address(),
        .source = sqlite_source(directory_ / "shop.db",
                                ", max_lag: " + std::to_string(kOurMaxLag.count()) + "ms"),
        .namespaces = Guarded{.table = "[ \"user_*\", user ]"}.yaml()}
        .yaml();
  }

  static bool is_absent(RawClient& client, const std::string& key) {
    return client.call({"GET", key}) == absent_reply();
  }
  bool becomes_absent(const std::string& key) {
    return eventually([&] { return guard_->call({"GET", key}) == absent_reply(); });
  }

  // A read sent later than committed + max_lag must pass.
  void expect_visible_in_time(const std::string& key, SteadyClock::time_point committed) {
    RawClient client = guard_->client();
    for (;;) {
      const auto sent = SteadyClock::now();
      const bool hidden = is_absent(client, key);
      ASSERT_FALSE(hidden && sent >= committed + hidden_at_most(kOurMaxLag)) << key;
      if (sent > committed + kOurMaxLag + kOurMaxLag / 2) {
        return;
      }
    }
  }

  TemporaryDirectory directory_;
  RedisServer redis_;
  Database database_{directory_ / "shop.db", Journal::wal};
  std::optional<GuardProcess> guard_;
};

TEST_F(Parts, a_row_of_any_table_passes_and_what_none_has_is_answered) {
  database_.insert_user(5000);
  expect_visible_in_time(user(5000), SteadyClock::now());
  ASSERT_TRUE(becomes_absent("user:4000")) << guard_->log();
  RawClient client = guard_->client();
  for (const std::uint64_t id : {1, 500, 501, 1000, 5000}) {
    EXPECT_FALSE(is_absent(client, user(id))) << id;
  }
}

TEST_F(Parts, rows_of_tables_that_are_created_while_clients_read_are_not_hidden) {
  ASSERT_TRUE(becomes_absent("user:4000")) << guard_->log();
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> hidden{0};
  std::atomic<std::uint64_t> reads{0};
  std::thread reader([&] {
    RawClient client = guard_->client();
    for (std::uint64_t n = 0; !stop; ++n) {
      hidden += is_absent(client, user(1 + n % 1000)) ? 1 : 0;
      ++reads;
    }
  });
  for (std::uint64_t round = 0; round < 4; ++round) {
    const std::uint64_t first = 10'000 * (round + 1);
    create("user_new_" + std::to_string(round), first, first + 50);
    const auto committed = SteadyClock::now();
    expect_visible_in_time(user(first), committed);
    expect_visible_in_time(user(first + 50), committed);
    EXPECT_TRUE(becomes_absent("user:4000")) << "it answers again: " << guard_->log();
  }
  stop = true;
  reader.join();
  EXPECT_EQ(hidden, 0U);
  EXPECT_GT(reads, 100U);
}

TEST_F(Parts, a_dropped_tables_rows_are_absent_and_a_renamed_ones_are_not) {
  ASSERT_TRUE(becomes_absent("user:4000")) << guard_->log();
  database_.run("DROP TABLE user_1");
  EXPECT_TRUE(becomes_absent("user:1")) << guard_->log();
  RawClient client = guard_->client();
  EXPECT_FALSE(is_absent(client, "user:501"));
  database_.run("ALTER TABLE user_2 RENAME TO user_3");
  const auto renamed = SteadyClock::now();
  expect_visible_in_time("user:501", renamed);
  EXPECT_TRUE(becomes_absent("user:4000")) << guard_->log();
  EXPECT_FALSE(is_absent(client, "user:501"));
}

TEST_F(Parts, a_table_that_lacks_the_column_makes_everything_pass_and_is_named) {
  ASSERT_TRUE(becomes_absent("user:4000")) << guard_->log();
  database_.run("CREATE TABLE user_odd(name TEXT)");
  EXPECT_TRUE(eventually([this] { return guard_->log().contains("user_odd"); })) << guard_->log();
  RawClient client = guard_->client();
  EXPECT_FALSE(is_absent(client, "user:4000"));
  database_.run("DROP TABLE user_odd");
  EXPECT_TRUE(becomes_absent("user:4000")) << guard_->log();
}

}  // namespace
}  // namespace cuckooguard::harness
