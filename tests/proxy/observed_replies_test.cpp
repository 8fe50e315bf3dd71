#include <array>
#include <deque>
#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "proxy/reply_order.h"

namespace cuckooguard::proxy {
namespace {

using redis::ChangeKind;
using redis::StateChange;

StateChange random_change(std::mt19937_64& random) {
  StateChange change{.kind = static_cast<ChangeKind>(random() % 15)};
  if (change.kind == ChangeKind::select) {
    constexpr std::array<int, 5> kDbs{redis::kNoDb, 0, 1, 127, 2'000'000'000};
    change.db = kDbs[random() % kDbs.size()];
  } else if (change.kind == ChangeKind::auth) {
    change.authenticates = true;
    change.user = "user" + std::to_string(random() % 10);
  }
  change.for_all_clients = change.kind == ChangeKind::server ||
                           (change.kind == ChangeKind::end_multi && random() % 8 == 0);
  return change;
}

TEST(ObservedReplies, come_back_as_they_were_at_the_replies_they_were_expected_of) {
  std::mt19937_64 random(1);
  ObservedReplies observed;
  std::deque<std::pair<std::uint64_t, StateChange>> expected;
  std::uint64_t reply = 0;
  for (int step = 0; step < 200'000; ++step) {
    if (random() % 100 < (step % 20'000 < 10'000 ? 60U : 40U)) {
      constexpr std::array<std::uint64_t, 6> kDistances{1, 1, 2, 15, 16, 3'000'000};
      reply += kDistances[random() % kDistances.size()];
      expected.emplace_back(reply, random_change(random));
      observed.expect(reply, expected.back().second);
    } else if (!expected.empty()) {
      const auto [number, change] = expected.front();
      expected.pop_front();
      ASSERT_FALSE(observed.is_next(number - 1));
      ASSERT_TRUE(observed.is_next(number));
      ASSERT_EQ(observed.is_next_end_of_multi(number), change.kind == ChangeKind::end_multi);
      const StateChange taken = observed.take();
      ASSERT_EQ(taken.kind, change.kind);
      ASSERT_EQ(taken.db, change.db);
      ASSERT_EQ(taken.user, change.user);
      ASSERT_EQ(taken.for_all_clients, change.for_all_clients);
    }
    ASSERT_EQ(observed.size(), expected.size());
    ASSERT_EQ(observed.is_empty(), expected.empty());
  }
}

TEST(ObservedReplies, only_what_has_more_to_say_than_its_kind_is_kept_whole) {
  ObservedReplies observed;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    observed.expect(3 * i + 1, {.kind = ChangeKind::multi});
    observed.expect(3 * i + 2, {.kind = ChangeKind::end_multi});
    observed.expect(3 * i + 3, {.kind = ChangeKind::select, .db = 7});
  }
  EXPECT_EQ(observed.whole(), 0);
  observed.expect(5000, {.kind = ChangeKind::auth, .user = "alice"});
  EXPECT_EQ(observed.whole(), 1);
}

}  // namespace
}  // namespace cuckooguard::proxy
