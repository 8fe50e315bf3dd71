#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/replica.h"
#include "fleet_status/fleet_status.h"

namespace cuckooguard {
namespace {

using cli::FleetReport;
using fleet::Ask;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

Ask ask(char nonce, std::uint64_t seq, std::string why = {}) {
  return {.nonce = std::string(fleet::kNonceBytes, nonce),
          .seq = seq,
          .lag = milliseconds(120),
          .why = std::move(why)};
}

FleetReport report() {
  return {.name = "shop",
          .before = {.epoch = 2, .seq = 40, .asks = {{"a", ask('1', 40)}, {"b", ask('2', 40)}}},
          .now = {.epoch = 2, .seq = 43, .asks = {{"a", ask('3', 43)}, {"b", ask('4', 42)}}}};
}

TEST(FleetStatus, says_who_publishes_and_shows_only_those_that_are_behind) {
  const std::string text = describe(report(), false);
  EXPECT_THAT(text, HasSubstr("fleet shop: epoch 2, entry 43, published\n"));
  EXPECT_THAT(text, HasSubstr("\nfleet: publishes=yes followers=2 behind=0\n"));
  EXPECT_THAT(text, Not(HasSubstr("\na: ")));
}

TEST(FleetStatus, shows_all_when_asked) {
  const std::string text = describe(report(), true);
  EXPECT_THAT(text, HasSubstr("\na: 0 entries behind, proven 120 ms ago\n"));
  EXPECT_THAT(text, HasSubstr("\nb: 1 entries behind, proven 120 ms ago\n"));
}

TEST(FleetStatus, says_why_a_follower_is_behind) {
  FleetReport behind = report();
  behind.now.asks["b"] = ask('4', 12, "users: loading, reading it from a snapshot");
  behind.now.asks["b"].lag.reset();
  EXPECT_THAT(describe(behind, false),
              HasSubstr("\nb: 31 entries behind, not proven yet, users: loading, reading it from "
                        "a snapshot\nfleet: publishes=yes followers=2 behind=1\n"));
}

TEST(FleetStatus, a_follower_that_asks_the_same_again_is_gone) {
  FleetReport gone = report();
  gone.now.asks["a"] = gone.before.asks["a"];
  EXPECT_THAT(describe(gone, false),
              HasSubstr("\n"
                        "a: 3 entries behind, proven 120 ms ago, no longer polls the log\n"));
}

TEST(FleetStatus, nobody_publishes_a_log_that_does_not_move) {
  FleetReport still = report();
  still.now.seq = still.before.seq;
  EXPECT_THAT(describe(still, false), HasSubstr("entry 40, no builder publishes\n"));
  EXPECT_THAT(describe(still, false), HasSubstr("publishes=no"));
  still.now.epoch = 3;  // it has begun anew
  EXPECT_THAT(describe(still, false), HasSubstr("publishes=yes"));
}

TEST(FleetStatus, says_that_nothing_signed_is_there) {
  EXPECT_THAT(describe(report(), false), HasSubstr("\nno manifest signed with a key"));
}

TEST(Ask, is_read_as_it_was_written) {
  const Ask written = ask('1', 7, "users: down");
  const auto read = fleet::read_ask(bytes_of(written));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->nonce, written.nonce);
  EXPECT_EQ(read->seq, 7U);
  EXPECT_EQ(read->lag, milliseconds(120));
  EXPECT_EQ(read->why, "users: down");
  EXPECT_EQ(fleet::read_ask(bytes_of(Ask{.nonce = written.nonce}))->lag, std::nullopt);
}

TEST(Ask, of_a_long_reason_has_the_beginning_and_a_longer_one_is_nobodys) {
  const std::string bytes = bytes_of(ask('1', 7, std::string(5000, 'x')));
  EXPECT_EQ(fleet::read_ask(bytes)->why, std::string(Ask::kWhyMax, 'x'));
  std::string longer = bytes.substr(0, bytes.size() - Ask::kWhyMax - 4);
  constexpr char kLength = static_cast<char>(Ask::kWhyMax + 1);
  longer += std::string{kLength, 0, 0, 0} + std::string(Ask::kWhyMax + 1, 'x');
  EXPECT_FALSE(fleet::read_ask(longer));
  EXPECT_FALSE(fleet::read_ask(bytes.substr(0, bytes.size() - 1)));
}

}  // namespace
}  // namespace cuckooguard
