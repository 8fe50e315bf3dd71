// SQLite with `follow: triggers`: a row is visible a moment after its commit, and nothing passes
// meanwhile; the log comes into the database only as the operator wants it to.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/configuration.h"
#include "harness/deadline.h"
#include "harness/ports.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr int kConfiguration = 78;

bool is_answered(RawClient& client, const std::string& key) {
  return client.call({"GET", key}) == absent_reply();
}

class Triggers : public testing::TestWithParam<Journal> {
 protected:
  Triggers() { shop_.wait_until_it_answers(); }

  Shop shop_{{.max_lag = "400ms",
              .source = "follow: triggers, install_triggers: true",
              .journal = GetParam()}};
};

INSTANTIATE_TEST_SUITE_P(Journals,
                         Triggers,
                         testing::Values(Journal::wal, Journal::rollback),
                         [](const auto& journal) {
                           return journal.param == Journal::wal ? "wal" : "rollback";
                         });

// Inserts and deletes without a pause while `body` runs.
template <class Body>
void while_somebody_writes(Shop& shop, Journal journal, const Body& body) {
  std::atomic<bool> is_over = false;
  std::atomic<std::uint64_t> commits = 0;
  std::thread writer([&] {
    Database database(shop.database_path(), journal);
    for (std::uint64_t id = 10'000'000; !is_over; id += 3) {
      database.insert_user(id);
      if (id % 2 == 0) {
        database.delete_user(id);
      }
      ++commits;
    }
  });
  body(commits);
  is_over = true;
  writer.join();
}

TEST_P(Triggers, absent_keys_are_answered_while_somebody_writes_all_the_time) {
  constexpr std::uint64_t kReadsMin = 3000;
  constexpr std::uint64_t kCommitsMin = 10;
  RawClient client = shop_.client();
  std::uint64_t answered = 0;
  std::uint64_t asked = 0;
  while_somebody_writes(shop_, GetParam(), [&](const std::atomic<std::uint64_t>& commits) {
    const auto until = SteadyClock::now() + kPatience;
    while ((asked < kReadsMin || commits <= kCommitsMin) && SteadyClock::now() < until) {
      answered += is_answered(client, absent_user(asked++)) ? 1 : 0;
    }
    EXPECT_GT(commits, kCommitsMin);
  });
  // A proof may come late on a busy machine, and with a rollback journal a look finds the file
  // locked.
  EXPECT_GT(answered, under_sanitizer() ? asked / 20 : asked / 2);
}

TEST_P(Triggers, a_new_row_passes_long_before_max_lag_and_a_deleted_one_is_absent_again) {
  RawClient client = shop_.client();
  std::vector<double> delays;
  for (std::uint64_t n = 0; n < 11; ++n) {
    const std::uint64_t id = 2'000'000 + 1000 * n;  // not in the window of fresh ids
    ASSERT_TRUE(eventually([&] { return is_answered(client, user(id)); })) << shop_.guard().log();
    shop_.database().insert_user(id);
    const auto committed = SteadyClock::now();
    auto sent = committed;
    while (is_answered(client, user(id))) {
      ASSERT_LT(sent, committed + 400ms);
      sent = SteadyClock::now();
    }
    delays.push_back(
        std::chrono::duration<double, std::milli>(SteadyClock::now() - committed).count());
    shop_.database().delete_user(id);
    EXPECT_TRUE(eventually([&] { return is_answered(client, user(id)); }));
  }
  std::ranges::sort(delays);
  std::printf("visible after: median %.1f ms, longest %.1f ms\n", delays[5], delays.back());
  if (!under_sanitizer()) {
    EXPECT_LT(delays[5], 100);  // a quarter of max_lag, where rescan would look for the first time
  }
}

TEST_P(Triggers, rows_that_stay_pass_while_others_come_and_go) {
  RawClient client = shop_.client();
  while_somebody_writes(shop_, GetParam(), [&](const auto&) {
    for (std::uint64_t id = 1; id <= kUsers; ++id) {
      ASSERT_FALSE(is_answered(client, user(id))) << id;
    }
  });
  shop_.database().run(
      "REPLACE INTO user SELECT id, name FROM user; DELETE FROM user WHERE id > 500");
  EXPECT_TRUE(eventually([&] { return is_answered(client, user(501)); })) << shop_.guard().log();
  for (std::uint64_t id = 1; id <= 500; ++id) {
    ASSERT_FALSE(is_answered(client, user(id))) << id;
  }
}

TEST(TriggersOfTheOperator, that_are_missing_are_asked_for_and_followed_as_soon_as_they_are_there) {
  Shop shop({.source = "follow: triggers"});
  RawClient client = shop.client();
  const auto log = [&shop] { return shop.guard().log(); };
  ASSERT_TRUE(eventually([&] { return log().find("state=refused") != std::string::npos; }))
      << log();
  EXPECT_THAT(log(), HasSubstr("`cuckooguard triggers --config FILE`"));
  EXPECT_FALSE(is_answered(client, absent_user()));
  const TemporaryDirectory folder;
  write_whole_file(folder / "guard.yaml", shop.yaml());
  const Ended printed = run_guard({"triggers", "--config", (folder / "guard.yaml").string()});
  ASSERT_EQ(printed.exit_code, 0) << printed.standard_error;
  shop.database().run(printed.standard_output);
  EXPECT_TRUE(eventually([&] { return is_answered(client, absent_user()); })) << log();
  EXPECT_FALSE(is_answered(client, user(1)));
}

TEST(TriggersOfTheOperator, are_asked_for_by_a_strict_start_printed_and_then_followed) {
  const TemporaryDirectory directory;
  const TakenPort taken;
  const std::filesystem::path file = directory / "guard.yaml";
  Database database(directory / "shop.db", Journal::wal);
  database.insert_users(1, 10);
  const std::string yaml =
      Configuration{.source = sqlite_source(database.path(), ", follow: triggers")}.yaml();
  write_whole_file(file, "listen: 127.0.0.1:" + std::to_string(taken.port()) + "\n" + yaml);
  const Ended refused = run_guard({"--config", file.string(), "--strict-start"});
  EXPECT_EQ(refused.exit_code, kConfiguration);
  EXPECT_THAT(refused.standard_error, HasSubstr("`cuckooguard triggers --config FILE`"));

  const Ended printed = run_guard({"triggers", "--config", file.string()});
  ASSERT_EQ(printed.exit_code, 0) << printed.standard_error;
  database.run(printed.standard_output);
  EXPECT_THAT(run_guard({"triggers", "--config", file.string()}).standard_output,
              HasSubstr("nothing to do"));
  // Now it gets as far as the port, which is taken.
  EXPECT_EQ(run_guard({"--config", file.string(), "--strict-start"}).exit_code, 1);

  const Ended other = run_guard({"triggers", "--config", file.string(), "--source", "stock"});
  EXPECT_EQ(other.exit_code, kConfiguration);
  EXPECT_THAT(other.standard_error,
              HasSubstr("stock is not a source of type sqlite with follow: triggers"));
}

}  // namespace
}  // namespace cuckooguard::harness
