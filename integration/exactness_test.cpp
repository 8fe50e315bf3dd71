// The filter is the table: whatever befalls the database, its log and the follower, at every quiet
// point each row passes, and the filter has exactly as many entries as there are rows.
//
// Needs no luck to notice: where identities are unique the filter counts every insert and delete,
// so a row that is counted twice, lost, or left is seen by number.
//
// CUCKOOGUARD_SEED replays what is done (not how threads meet), CUCKOOGUARD_ROUNDS makes it longer,
// and with CUCKOOGUARD_MYSQL_ROOT it is done to MySQL instead of MariaDB: `./dev exactness`.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exactness/rounds.h"
#include "exactness/shop_chaos.h"
#include "exactness/shop_follower.h"
#include "exactness/shop_tables.h"
#include "exactness/shop_writer.h"
#include "fixtures/on_sql_server.h"
#include "harness/deadline.h"
#include "harness/seed.h"

namespace cuckooguard::harness {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

class Exactness : public OnSqlServer {
 protected:
  static constexpr milliseconds kForgottenWithin{1000};

  void prepare() override { create_tables(*server_); }
  void TearDown() override {
    follower_.reset();
    set_meanwhile([] {});
  }

  void follow(source::mysql::OpenView open_view, std::function<void()> meanwhile = [] {}) {
    follower_.reset();
    set_meanwhile(std::move(meanwhile));
    follower_ = std::make_unique<ShopFollower>(*server_, guarded_, open_view);
  }

  // While nothing writes.
  std::vector<std::string> differences() {
    const auto stopped = std::chrono::steady_clock::now();
    if (!eventually([&] { return follower_->is_proven_since(stopped); })) {
      return {"the follower does not become current:\n" + follower_->reports()};
    }
    SqlSession session = server_->session();
    std::vector<std::string> found;
    // What was deleted is forgotten when the server has next said how far it has committed.
    (void)eventually([&] { return (found = guarded_.differences(session)).empty(); },
                     kForgottenWithin);
    return found;
  }

  ShopFilters guarded_;
  std::unique_ptr<ShopFollower> follower_;
};

TEST_F(Exactness, at_every_quiet_point_the_filter_is_the_table_whatever_has_happened) {
  const std::uint32_t seed = seed_of_this_run();
  const unsigned rounds = rounds_of_this_run(3);
  constexpr unsigned kWriters = 3;
  Writers writers(*server_, seed, kWriters);
  ShopChaos chaos(*server_, writers, seed);
  // A view that takes longer to open than others, by some transactions.
  const auto amid_writes = [&] {
    const std::uint64_t enough = writers.transactions() + 3;
    (void)eventually([&] { return writers.transactions() >= enough; }, milliseconds(50));
  };
  const auto begin_anew = [&] {
    follow(chaos.pick(2) == 0 ? open_counted_view : open_wide_view, amid_writes);
  };
  begin_anew();
  const Asker asker(guarded_);
  unsigned followers = 1;
  unsigned wrong = 0;
  unsigned round = 0;
  for (; round < rounds && wrong == 0; ++round) {
    const unsigned happenings = 1 + chaos.pick(5);
    for (unsigned i = 0; i < happenings; ++i) {
      ASSERT_TRUE(chaos.let_write(50 + chaos.pick(400))) << writers.in_the_way();
      if (chaos.pick(5) == 0) {
        begin_anew();
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
  EXPECT_EQ(asker.hidden(), 0U);
  EXPECT_GT(asker.rounds(), 0U);
  std::string happened;
  for (const auto& [name, count] : chaos.counts()) {
    happened += " " + name + "=" + std::to_string(count);
  }
  std::printf(
      "exactness: server=%s seed=%u rounds=%u wrong=%u transactions=%llu xa=%llu followers=%u "
      "views=%llu with_window=%llu%s\n",
      server_->is_mariadb() ? "mariadb" : "mysql",
      seed,
      round,
      wrong,
      static_cast<unsigned long long>(writers.transactions()),
      static_cast<unsigned long long>(writers.xa_ended()),
      followers,
      static_cast<unsigned long long>(views_opened()),
      static_cast<unsigned long long>(views_with_a_window()),
      happened.c_str());
}

// As one that a writer has prepared while its connection was killed.
TEST_F(Exactness,
       writers_end_a_prepared_transaction_that_is_nobodys_before_the_server_is_restarted) {
  const std::uint32_t seed = seed_of_this_run();
  std::optional<SqlSession> nobody = server_->session();
  const std::string connection = nobody->value("SELECT CONNECTION_ID()");
  nobody->run(
      "XA START 'nobodys'; UPDATE user SET note = 'x'; XA END 'nobodys'; XA PREPARE 'nobodys'");
  nobody.reset();
  ASSERT_TRUE(eventually([&] { return is_left(*session_, connection); }));
  Writers writers(*server_, seed, 2);
  ShopChaos chaos(*server_, writers, seed);
  EXPECT_TRUE(chaos.let_write(500, milliseconds(1))) << writers.in_the_way();
  EXPECT_THAT(chaos.counts(), ElementsAre(Pair("prepared_adopted", 1)));
  EXPECT_TRUE(eventually([&] { return !writers.in_the_way().contains("nobodys"); }));
}

// Why a view's position is what it is (mysql/read_view.h), and that the test above would notice
// another.
TEST_F(Exactness, a_position_that_was_read_beside_the_view_is_caught) {
  unsigned id = kStableFrom;
  bool has_written = false;  // beside the first view, that of the namespace `users`
  const auto write = [&] {
    if (std::exchange(has_written, true)) {
      return;
    }
    const std::string next = std::to_string(--id);
    server_->session().run("INSERT INTO user (id, name) VALUES (" + next + ", 'beside" + next +
                           "')");
  };
  follow(open_wide_view, write);
  EXPECT_THAT(differences(), IsEmpty());
  has_written = false;
  follow(open_view_behind_its_position, write);
  EXPECT_THAT(differences(), Contains(StartsWith("users: 2002 rows, and 2003 entries")));
  has_written = false;
  follow(open_view_before_its_position, write);
  EXPECT_THAT(differences(), Contains(StartsWith("users: 2003 rows, and 2002 entries")));
}

// MariaDB: what it says of its commits when it begins a new file of its log (mysql/read_view.h).
class ExactnessOfNewFiles : public Exactness {
 protected:
  void prepare() override {
    Exactness::prepare();
    if (!server_->is_mariadb()) {
      GTEST_SKIP() << "needs MariaDB: MySQL says of each transaction whether it is committed";
    }
  }
  // It is in the log, which goes on in a new file behind it, and nobody sees it.
  std::jthread begin_to_commit(const std::string& sql) {
    SqlSession session = server_->session();
    session.run(
        "SET GLOBAL rpl_semi_sync_master_enabled = ON, GLOBAL rpl_semi_sync_master_wait_point = "
        "AFTER_SYNC, GLOBAL rpl_semi_sync_master_timeout = 600000, GLOBAL max_binlog_size = 4096");
    const std::string before = session.value("SELECT @@gtid_binlog_pos");
    std::jthread committing([this, sql] { server_->session().run(sql); });
    EXPECT_TRUE(eventually([&] { return session.value("SELECT @@gtid_binlog_pos") != before; }));
    return committing;
  }
  void let_commit() { run("SET GLOBAL rpl_semi_sync_master_enabled = OFF"); }
};

TEST_F(ExactnessOfNewFiles, a_row_that_is_committed_behind_the_view_that_read_its_table_is_found) {
  std::jthread committing = begin_to_commit(
      "INSERT INTO user (id, name) SELECT id + 1000000, CONCAT(name, 'again') FROM user");
  follow(source::mysql::open_view);
  EXPECT_TRUE(eventually([&] {
    return follower_->is_proven_since(std::chrono::steady_clock::now() - ShopFollower::kMaxLag);
  })) << follower_->reports();
  let_commit();
  committing.join();
  EXPECT_THAT(differences(), IsEmpty());
}

TEST_F(ExactnessOfNewFiles, a_row_whose_deletion_is_not_committed_is_not_answered_absent) {
  follow(source::mysql::open_view);
  EXPECT_THAT(differences(), IsEmpty());
  const std::string id = std::to_string(kStableFrom);
  std::jthread committing = begin_to_commit("DELETE FROM user WHERE id >= " + id);
  EXPECT_FALSE(
      eventually([&] { return guarded_.is_answered_absent(0, id); }, ShopFollower::kMaxLag * 3));
  let_commit();
  committing.join();
  // Its file is believed behind two commits.
  run("INSERT INTO tag VALUES (x'01', 1)");
  run("INSERT INTO tag VALUES (x'02', 1)");
  EXPECT_THAT(differences(), IsEmpty());
}

}  // namespace
}  // namespace cuckooguard::harness
