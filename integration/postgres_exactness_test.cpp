// The filter is the table, with PostgreSQL: as exactness_test.cpp, which says how it notices.
//
// CUCKOOGUARD_SEED replays what is done (not how threads meet), CUCKOOGUARD_ROUNDS makes it longer:
// `./dev exactness`.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exactness/postgres_shop.h"
#include "exactness/restarted_guard.h"
#include "exactness/rounds.h"
#include "fixtures/on_postgres.h"
#include "harness/configuration.h"
#include "harness/deadline.h"
#include "harness/seed.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using testing::IsEmpty;
using testing::Not;

class PostgresExactness : public OnPostgres {
 protected:
  static constexpr milliseconds kForgottenWithin{1000};

  void prepare() override {
    create_postgres_shop(*server_);
    auto opened = source::StorageDirectory::open(kept_.path().string());
    ASSERT_TRUE(opened) << opened.error();
    storage_.emplace(*std::move(opened));
  }

  void follow(bool keeps) {
    follower_.reset();
    follower_ =
        std::make_unique<PostgresShopFollower>(*server_, guarded_, keeps ? &*storage_ : nullptr);
  }
  // While nothing writes.
  std::vector<std::string> differences() {
    const auto stopped = std::chrono::steady_clock::now();
    if (!eventually(
            [&] { return guarded_.is_proven_since(stopped, PostgresShopFollower::kMaxLag); })) {
      return {"the follower does not become current:\n" + follower_->reports()};
    }
    PostgresSession session = server_->session();
    const auto run = [&](const std::string& sql) { return session.run(sql); };
    std::vector<std::string> found;
    // What was deleted is forgotten when the server has next said how far it has committed.
    (void)eventually([&] { return (found = guarded_.differences(run)).empty(); }, kForgottenWithin);
    return found;
  }

  TemporaryDirectory kept_;
  std::optional<source::StorageDirectory> storage_;
  GuardedFilters guarded_{postgres_tables(), postgres_namespaces_yaml()};
  std::unique_ptr<PostgresShopFollower> follower_;
};

// How often a follower has opened a view.
std::atomic<unsigned> views_opened = 0;

std::expected<source::postgres::ReadView, source::postgres::Error> count_view(
    source::postgres::Connection& connection) {
  ++views_opened;
  return source::postgres::open_view(connection);
}

// The log has no word of them.
TEST_F(PostgresExactness, rows_of_who_was_writing_when_the_table_was_published_are_not_missed) {
  follower_ = std::make_unique<PostgresShopFollower>(*server_, guarded_, nullptr, count_view);
  ASSERT_THAT(differences(), IsEmpty());
  PostgresSession writer = server_->session();
  PostgresSession owner = server_->session();
  owner.run("ALTER PUBLICATION cuckooguard DROP TABLE shop.orders");
  writer.run("BEGIN; INSERT INTO shop.orders VALUES (4711, 4712)");
  owner.run("ALTER PUBLICATION cuckooguard ADD TABLE shop.orders");
  const auto published = std::chrono::steady_clock::now();
  views_opened = 0;
  ASSERT_TRUE(eventually([&] {
    return views_opened > 8 || guarded_.is_proven_since(published, PostgresShopFollower::kMaxLag);
  })) << follower_->reports();
  writer.run("COMMIT");
  EXPECT_THAT(differences(), IsEmpty());
  // Nor are those that come later, which the log of an older minor release lacks (server.cpp).
  writer.run("INSERT INTO shop.orders VALUES (4713, 4714)");
  EXPECT_THAT(differences(), IsEmpty());
}

TEST_F(PostgresExactness, at_every_quiet_point_the_filter_is_the_table_whatever_has_happened) {
  const std::uint32_t seed = seed_of_this_run();
  const unsigned rounds = rounds_of_this_run(3);
  constexpr unsigned kWriters = 3;
  PostgresWriters writers(*server_, seed, kWriters);
  PostgresChaos chaos(*server_, writers, seed);
  follow(true);
  unsigned followers = 1;
  unsigned wrong = 0;
  unsigned round = 0;
  for (; round < rounds && wrong == 0; ++round) {
    const unsigned happenings = 1 + chaos.pick(5);
    for (unsigned i = 0; i < happenings; ++i) {
      ASSERT_TRUE(chaos.let_write(50 + chaos.pick(400))) << follower_->reports();
      if (chaos.pick(5) == 0) {
        follow(chaos.pick(3) > 0);
        ++followers;
      } else {
        chaos.happen();
      }
    }
    writers.pause();
    const auto found = differences();
    EXPECT_THAT(found, IsEmpty()) << "round " << round << "\n" << follower_->reports();
    wrong += found.empty() ? 0 : 1;
  }
  std::string happened;
  for (const auto& [name, count] : chaos.counts()) {
    happened += " " + name + "=" + std::to_string(count);
  }
  std::printf(
      "exactness: server=postgres seed=%u rounds=%u wrong=%u transactions=%llu followers=%u%s\n",
      seed,
      round,
      wrong,
      static_cast<unsigned long long>(writers.transactions()),
      followers,
      happened.c_str());
}

class PostgresExactnessRestart : public OnPostgres {
 protected:
  void prepare() override { create_postgres_shop(*server_); }
};

// As exactness_restart_test.cpp: what the slot and the checkpoints have of a guard that is gone
// must go together, wherever it was.
TEST_F(PostgresExactnessRestart, a_guard_that_is_killed_again_and_again_hides_no_row) {
  const std::uint32_t seed = seed_of_this_run();
  const unsigned rounds = rounds_of_this_run(2);
  constexpr unsigned kWriters = 3;
  PostgresWriters writers(*server_, seed, kWriters);
  PostgresChaos chaos(*server_, writers, seed);
  const GuardedFilters guarded(postgres_tables(), postgres_namespaces_yaml());
  RestartedGuard guard(
      {.source = postgres_source(unix_address(*server_), kMaxLag, ", schema: shop"),
       .namespaces = postgres_namespaces_yaml(),
       .users = "shop.user",
       .ask = [this](const std::string& sql) { return server_->session().run(sql); },
       .nobodys = {"name:nobody", "item:99:nothing", "orders:987654321", "event:987654321"}},
      guarded);
  guard.start();
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned happenings = 1 + chaos.pick(5);
    for (unsigned i = 0; i < happenings; ++i) {
      ASSERT_TRUE(chaos.let_write(20 + chaos.pick(200)));
      if (chaos.pick(2) == 0) {
        guard.restart();
      } else {
        chaos.happen();
      }
    }
    writers.pause();
    ASSERT_THAT(guard.wrong(), IsEmpty()) << "round " << round;
  }
  std::printf("exactness_restart: server=postgres seed=%u rounds=%u wrong=0 transactions=%llu %s\n",
              seed,
              rounds,
              static_cast<unsigned long long>(writers.transactions()),
              guard.text().c_str());
}

}  // namespace
}  // namespace cuckooguard::harness
