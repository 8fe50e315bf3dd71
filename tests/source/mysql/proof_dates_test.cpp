#include <gtest/gtest.h>

#include "mysql/server_probe.h"
#include "source/bench.h"

namespace cuckooguard::source::mysql {
namespace {

constexpr seconds kMaxLag{5};

class ProofDatesTest : public testing::Test {
 protected:
  // What the answer proves, relative to when it was asked for; asking takes a second.
  std::optional<nanoseconds> date(const ReplicaLag& lag) {
    const TimePoint before = clock_.now();
    const auto at = dates_.date([&]() -> std::expected<ReplicaLag, std::string> {
      clock_.advance(seconds(1));
      return lag;
    });
    return at.value() ? std::optional(**at - before) : std::nullopt;
  }
  static ReplicaLag replica(std::optional<seconds> behind) {
    return {.is_replica = true, .behind = behind};
  }

  ManualClock clock_;
  ProofDates dates_{clock_.clock(), kMaxLag};
};

TEST_F(ProofDatesTest, are_from_before_the_question) {
  EXPECT_EQ(date({.is_replica = false, .behind = seconds(0)}), seconds(0));
}

TEST_F(ProofDatesTest, are_so_much_earlier_as_a_replica_is_behind) {
  date(replica(seconds(0)));
  clock_.advance(kMaxLag);
  EXPECT_EQ(date(replica(seconds(0))), seconds(0));
  EXPECT_EQ(date(replica(seconds(3))), -seconds(3));
  EXPECT_EQ(date(replica(kMaxLag)), std::nullopt);
}

// It says 0 before it has heard what it missed.
TEST_F(ProofDatesTest, of_a_replica_count_when_it_has_known_its_lag_for_max_lag) {
  for (int reconnected = 0; reconnected < 2; ++reconnected) {
    for (seconds known{0}; known < kMaxLag; known += seconds(1)) {
      EXPECT_EQ(date(replica(seconds(0))), std::nullopt) << known.count();
    }
    EXPECT_EQ(date(replica(seconds(0))), seconds(0));
    EXPECT_EQ(date(replica(std::nullopt)), std::nullopt);
  }
}

TEST_F(ProofDatesTest, are_not_those_of_a_question_that_failed) {
  const auto at = dates_.date(
      []() -> std::expected<ReplicaLag, std::string> { return std::unexpected("gone"); });
  ASSERT_FALSE(at);
  EXPECT_EQ(at.error(), "gone");
}

}  // namespace
}  // namespace cuckooguard::source::mysql
