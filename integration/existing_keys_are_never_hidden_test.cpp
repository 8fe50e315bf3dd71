// A row committed more than `max_lag` ago is never answered absent, in a strict namespace no
// committed row, whatever happened since; inside that window the overlay and `fresh_ids` close the
// gap; and afterwards the guard answers again.

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/configuration.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds kOurMaxLag = 400ms;

ShopSettings quick(Journal journal = Journal::wal) {
  return {.max_lag = "400ms", .journal = journal};
}

class ExistingKeys : public testing::TestWithParam<Journal> {
 protected:
  ExistingKeys() { shop_.wait_until_it_answers(); }

  bool is_answered(RawClient& client, const std::string& key) const {
    return client.call({"GET", key}) == absent_reply();
  }

  // Reads `key`, whose row was committed at `committed`, until well after max_lag. A read sent
  // later than committed + max_lag must pass.
  void expect_visible_in_time(const std::string& key, SteadyClock::time_point committed) {
    RawClient client = shop_.client();
    for (;;) {
      const auto sent = SteadyClock::now();
      const bool hidden = is_answered(client, key);
      ++reads_;
      hidden_in_window_ += hidden ? 1 : 0;
      if (sent >= committed + hidden_at_most(kOurMaxLag)) {
        ASSERT_FALSE(hidden) << key << " answered absent "
                             << std::chrono::duration_cast<milliseconds>(sent - committed).count()
                             << " ms after its commit";
      }
      if (sent > committed + kOurMaxLag + kOurMaxLag / 2) {
        return;
      }
    }
  }

  void expect_it_answers_again() {
    ASSERT_TRUE(eventually([this] { return shop_.answers_absent(); })) << shop_.guard().log();
  }

  Shop shop_{quick(GetParam())};
  int reads_ = 0;
  int hidden_in_window_ = 0;  // allowed: ids that nobody could have guessed
};

INSTANTIATE_TEST_SUITE_P(Journals,
                         ExistingKeys,
                         testing::Values(Journal::wal, Journal::rollback),
                         [](const auto& journal) {
                           return journal.param == Journal::wal ? "wal" : "rollback";
                         });

TEST_P(ExistingKeys, all_pass_and_absent_ones_do_not_reach_redis) {
  std::string request;
  for (std::uint64_t id = 1; id <= kUsers; ++id) {
    shop_.redis().call({"SET", user(id), "row"});
    request += command({"GET", user(id)});
  }
  RawClient client = shop_.client();
  const std::string replies = client.exchange(request, kUsers);
  EXPECT_EQ(replies.size(), kUsers * bulk("row").size());
  EXPECT_FALSE(replies.contains(kAbsentText));

  constexpr std::uint64_t kAbsents = 500;
  const std::uint64_t gets = shop_.redis().calls("get");
  std::uint64_t answered = 0;
  for (std::uint64_t n = 0; n < kAbsents; ++n) {
    answered += is_answered(client, absent_user(n)) ? 1 : 0;
  }
  EXPECT_EQ(shop_.redis().calls("get"), gets + (kAbsents - answered));
  // On a busy machine a proof may come late for a while, and then reads pass.
  EXPECT_GT(answered, under_sanitizer() ? kAbsents / 20 : kAbsents / 2);
  std::printf("answered here: %llu of %llu\n",
              static_cast<unsigned long long>(answered),
              static_cast<unsigned long long>(kAbsents));
}

TEST_P(ExistingKeys, a_row_becomes_visible_within_max_lag_whenever_it_is_committed) {
  constexpr int kRounds = 6;
  for (int round = 0; round < kRounds; ++round) {
    expect_it_answers_again();
    // Not in the window of fresh ids.
    const std::uint64_t id = 5000 + 100 * static_cast<std::uint64_t>(round);
    shop_.database().insert_user(id);
    expect_visible_in_time(user(id), SteadyClock::now());
  }
  expect_it_answers_again();
  std::printf("reads: %d, hidden inside the window: %d\n", reads_, hidden_in_window_);
}

TEST_P(ExistingKeys, a_transaction_of_many_rows_becomes_visible_as_a_whole) {
  shop_.database().run("BEGIN");
  shop_.database().insert_users(2'000'000, 2'000'499);
  shop_.database().run("COMMIT");
  const auto committed = SteadyClock::now();
  expect_visible_in_time(user(2'000'000), committed);
  RawClient client = shop_.client();
  for (std::uint64_t id = 2'000'000; id < 2'000'500; ++id) {
    EXPECT_FALSE(is_answered(client, user(id))) << id;
  }
}

TEST_P(ExistingKeys, rows_that_stay_pass_while_others_are_deleted) {
  RawClient client = shop_.client();
  for (std::uint64_t id = 1; id <= 20; ++id) {
    shop_.database().delete_user(id);
    EXPECT_FALSE(is_answered(client, user(id + 1)));
    EXPECT_FALSE(is_answered(client, user(kUsers)));
  }
  // The deleted ones are gone from the filter in the end: read again, not only added to.
  EXPECT_TRUE(eventually([&] { return is_answered(client, user(1)); })) << shop_.guard().log();
  EXPECT_FALSE(is_answered(client, user(21)));
}

TEST_P(ExistingKeys, a_database_that_is_replaced_is_followed) {
  {
    Database other(shop_.database_path().string() + ".new", GetParam());
    other.insert_users(1, kUsers);
    other.insert_user(7000);
  }
  shop_.close_database();
  for (const std::string_view companion : {"-wal", "-shm"}) {
    std::filesystem::remove(shop_.database_path().string() + std::string(companion));
  }
  std::filesystem::rename(shop_.database_path().string() + ".new", shop_.database_path());
  expect_visible_in_time(user(7000), SteadyClock::now());
  expect_it_answers_again();
  shop_.open_database();
  shop_.database().insert_user(7500);
  expect_visible_in_time(user(7500), SteadyClock::now());
}

TEST_P(ExistingKeys, all_pass_while_the_database_is_gone) {
  shop_.close_database();
  const std::string path = shop_.database_path().string();
  std::filesystem::rename(path, path + ".away");
  ASSERT_TRUE(eventually([this] { return !shop_.answers_absent(); }));
  EXPECT_TRUE(eventually([this] { return shop_.guard().log().contains("state=down"); }))
      << shop_.guard().log();
  RawClient client = shop_.client();
  EXPECT_FALSE(is_answered(client, absent_user()));
  std::filesystem::rename(path + ".away", path);
  expect_it_answers_again();
}

TEST_P(ExistingKeys, all_pass_while_the_database_is_locked_for_longer_than_max_lag) {
  SKIP_UNLESS(GetParam() != Journal::wal, "with WAL no writer keeps a reader out");
  shop_.database().run("BEGIN EXCLUSIVE");
  shop_.database().insert_user(8000);
  ASSERT_TRUE(eventually([this] { return !shop_.answers_absent(); }));
  shop_.database().run("COMMIT");
  expect_visible_in_time(user(8000), SteadyClock::now());
  expect_it_answers_again();
}

TEST_P(ExistingKeys, a_key_written_through_the_guard_is_read_at_once) {
  const std::string key = absent_user(3);
  const std::string other = absent_user(4);
  struct Case {
    std::vector<std::string_view> write;
    std::string reply;
    std::string read;  // of `key`, straight behind it in the same pipeline
  };
  const std::vector<Case> cases{
      {{"SET", key, "a"}, "+OK\r\n", bulk("a")},
      {{"MSET", other, "b", key, "c"}, "+OK\r\n", bulk("c")},
      {{"DEL", other, key}, ":2\r\n", std::string(kNil)},
      {{"UNLINK", key}, ":0\r\n", std::string(kNil)},
      {{"SETEX", key, "100", "d"}, "+OK\r\n", bulk("d")},
      {{"EVAL", "return redis.call('set', KEYS[1], ARGV[1])", "1", key, "e"}, "+OK\r\n", bulk("e")},
      {{"RENAME", key, other}, "+OK\r\n", std::string(kNil)},
      {{"COPY", other, key}, ":1\r\n", bulk("e")},
  };
  for (const Case& each : cases) {
    Shop shop;  // its overlay knows nothing yet
    shop.wait_until_it_answers();
    RawClient client = shop.client();
    ASSERT_EQ(client.call({"GET", key}), absent_reply());
    // What the write needs to find, put there behind the guard's back.
    if (each.write.front() == "DEL" || each.write.front() == "RENAME" ||
        each.write.front() == "COPY") {
      shop.redis().call({"MSET", key, "e", other, "e"});
    }
    if (each.write.front() == "COPY") {
      shop.redis().call({"DEL", key});
    }
    EXPECT_EQ(client.exchange(command(each.write) + command({"GET", key}), 2),
              each.reply + each.read)
        << each.write.front();
    // Another client's read, too.
    EXPECT_EQ(shop.guard().call({"GET", key}), each.read) << each.write.front();
  }
}

// `fresh_ids: auto` of a quiet table covers the 16 ids above the largest that the guard has read.
TEST_P(ExistingKeys, the_next_ids_pass_at_once) {
  RawClient client = shop_.client();
  constexpr int kRounds = 5;
  constexpr std::uint64_t kWindow = 16;
  for (int round = 0; round < kRounds; ++round) {
    std::uint64_t id = 0;
    for (std::uint64_t i = 0; i < kWindow; ++i) {
      id = shop_.database().insert_next_user();
      EXPECT_FALSE(is_answered(client, user(id))) << "id " << id << ", round " << round;
    }
    // It passes since it is near the largest id now, or since everything does; then the latter
    // ends.
    ASSERT_TRUE(eventually([&] { return !is_answered(client, user(id + kWindow)); }));
    expect_it_answers_again();
  }
}

}  // namespace
}  // namespace cuckooguard::harness
