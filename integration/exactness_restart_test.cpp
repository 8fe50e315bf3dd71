// The guard itself, killed and started again at random while a database is written to: at every
// quiet point no key that a row has is answered absent, and keys that no row has are answered
// again.
//
// What it keeps when it ends is the table, too, entry by entry.
//
// As exactness_test.cpp, seen by clients. Seeds, rounds and MySQL as there.

#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exactness/rounds.h"
#include "exactness/shop_chaos.h"
#include "exactness/shop_tables.h"
#include "exactness/shop_writer.h"
#include "fixtures/on_sql_server.h"
#include "harness/configuration.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/redis_server.h"
#include "harness/seed.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using testing::IsEmpty;

class ExactnessRestart : public OnSqlServer {
 protected:
  void prepare() override {
    create_tables(*server_);
    redis_.emplace();
  }

  void start_guard() {
    guard_.emplace(
        GuardProcess::on_port(Configuration{.upstream = redis_->address(),
                                            .source = mysql_source(unix_address(*server_)),
                                            .namespaces = namespaces_yaml(),
                                            .more = storage(kept_.path())}
                                  .yaml()));
  }
  // A checkpoint that is written at a quiet point has as many entries as there are rows.
  std::vector<std::string> wrong_checkpoints() {
    guard_.reset();  // asks it to end, and it writes
    SqlSession session = server_->session();
    std::vector<std::string> wrong;
    for (const GuardedTable& guarded : guarded_tables()) {
      const std::filesystem::path file =
          kept_ / ("shop." + guarded.ns + "." + guarded.table + ".filter");
      const Ended inspected = run_guard({"filter", "inspect", file.string()});
      const std::string items =
          "items: " + session.value("SELECT COUNT(*) FROM " + guarded.table) + "\n";
      if (guarded.is_unique && !inspected.standard_output.contains(items)) {
        wrong.push_back(guarded.ns + " has not " + items + inspected.standard_output +
                        inspected.standard_error);
      }
    }
    return wrong;
  }
  void kill_guard() {
    guard_->send_signal(SIGKILL);
    ASSERT_TRUE(guard_->exit_code());
    guard_.reset();
  }

  bool is_absent(RawClient& client, const std::string& key) {
    return client.call({"GET", key}) == kAnswer;
  }

  // A row that comes and goes: once its key is answered absent again, all that was written before
  // it has been applied.
  bool is_current() {
    RawClient client = guard_->client();
    const std::string id = std::to_string(kStableFrom - 1);
    const std::string key = "user:" + id;
    SqlSession session = server_->session();
    session.run("INSERT INTO user (id, name) VALUES (" + id + ", 'marker')");
    const bool is_seen = eventually([&] { return !is_absent(client, key); });
    session.run("DELETE FROM user WHERE id = " + id);
    return is_seen && eventually([&] {
             return is_absent(client, key) && is_absent(client, "name:nobody") &&
                    is_absent(client, "item:99:nothing") && is_absent(client, "tag:none") &&
                    is_absent(client, "orders:987654321");
           });
  }

  std::vector<std::string> hidden_keys() {
    RawClient client = guard_->client();
    SqlSession session = server_->session();
    std::vector<std::string> hidden;
    for (std::string& key : guarded_.keys(session)) {
      if (is_absent(client, key)) {
        hidden.push_back(std::move(key));
      }
    }
    return hidden;
  }

  TemporaryDirectory kept_;
  std::optional<RedisServer> redis_;
  ShopFilters guarded_;  // for its keys alone
  std::optional<GuardProcess> guard_;
};

TEST_F(ExactnessRestart, a_guard_that_is_killed_again_and_again_hides_no_row) {
  const std::uint32_t seed = seed_of_this_run();
  const unsigned rounds = rounds_of_this_run(2);
  constexpr unsigned kWriters = 3;
  Writers writers(*server_, seed, kWriters);
  ShopChaos chaos(*server_, writers, seed);
  start_guard();
  unsigned kills = 0;
  unsigned reloads = 0;
  std::size_t keys_asked = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned happenings = 1 + chaos.pick(3);
    for (unsigned i = 0; i < happenings; ++i) {
      ASSERT_TRUE(chaos.let_write(20 + chaos.pick(200))) << writers.in_the_way();
      if (chaos.pick(2) == 0) {
        kill_guard();
        start_guard();
        ++kills;
      } else {
        chaos.happen();
      }
    }
    writers.pause();
    SqlSession session = server_->session();
    writers.roll_back_prepared(session);
    ASSERT_TRUE(is_current()) << "round " << round << "\n" << guard_->log();
    ASSERT_THAT(hidden_keys(), IsEmpty()) << "round " << round << "\n" << guard_->log();
    reloads += static_cast<unsigned>(guard_->log().contains("event=loaded"));
    ASSERT_THAT(wrong_checkpoints(), IsEmpty()) << "round " << round;
    start_guard();
    keys_asked += guarded_.keys(session).size();
  }
  EXPECT_GT(keys_asked, 0U);
  std::printf(
      "exactness_restart: server=%s seed=%u rounds=%u transactions=%llu kills=%u read_anew=%u "
      "keys=%zu\n",
      server_->is_mariadb() ? "mariadb" : "mysql",
      seed,
      rounds,
      static_cast<unsigned long long>(writers.transactions()),
      kills,
      reloads,
      keys_asked);
}

}  // namespace
}  // namespace cuckooguard::harness
