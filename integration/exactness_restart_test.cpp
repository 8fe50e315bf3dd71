// The guard itself, killed and started again at random while a database is written to: at every
// quiet point no key that a row has is answered absent, and keys that no row has are answered
// again. What it keeps when it ends is the table, too, entry by entry.
//
// As exactness_test.cpp, seen by clients. Seeds, rounds and MySQL as there.

#include <cstdio>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exactness/restarted_guard.h"
#include "exactness/rounds.h"
#include "exactness/shop_chaos.h"
#include "exactness/shop_tables.h"
#include "exactness/shop_writer.h"
#include "fixtures/on_sql_server.h"
#include "harness/configuration.h"
#include "harness/seed.h"

namespace cuckooguard::harness {
namespace {

using testing::IsEmpty;

class ExactnessRestart : public OnSqlServer {
 protected:
  void prepare() override { create_tables(*server_); }

  GuardedFilters::Rows ask(const std::string& sql) {
    SqlSession session = server_->session();
    session.run("SET character_set_results = NULL");
    return session.run(sql);
  }
};

TEST_F(ExactnessRestart, a_guard_that_is_killed_again_and_again_hides_no_row) {
  const std::uint32_t seed = seed_of_this_run();
  const unsigned rounds = rounds_of_this_run(2);
  constexpr unsigned kWriters = 3;
  Writers writers(*server_, seed, kWriters);
  ShopChaos chaos(*server_, writers, seed);
  const ShopFilters guarded;
  RestartedGuard guard(
      {.source = mysql_source(unix_address(*server_)),
       .namespaces = namespaces_yaml(),
       .users = "user",
       .ask = [this](const std::string& sql) { return ask(sql); },
       .nobodys = {"name:nobody", "item:99:nothing", "tag:none", "orders:987654321"}},
      guarded);
  guard.start();
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned happenings = 1 + chaos.pick(3);
    for (unsigned i = 0; i < happenings; ++i) {
      ASSERT_TRUE(chaos.let_write(20 + chaos.pick(200))) << writers.in_the_way();
      if (chaos.pick(2) == 0) {
        guard.restart();
      } else {
        chaos.happen();
      }
    }
    writers.pause();
    SqlSession session = server_->session();
    writers.roll_back_prepared(session);
    ASSERT_THAT(guard.wrong(), IsEmpty()) << "round " << round;
  }
  std::printf("exactness_restart: server=%s seed=%u rounds=%u wrong=0 transactions=%llu %s\n",
              server_->is_mariadb() ? "mariadb" : "mysql",
              seed,
              rounds,
              static_cast<unsigned long long>(writers.transactions()),
              guard.text().c_str());
}

}  // namespace
}  // namespace cuckooguard::harness
