#include "breakdown/addresses.h"

#include <gtest/gtest.h>

namespace cuckooguard::breakdown {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kKey = 17;
const text::Network kHere = text::Network::of_ipv4(std::array<unsigned char, 4>{127, 0, 0, 1});
const text::Network kThere = text::Network::of_ipv4(std::array<unsigned char, 4>{127, 0, 0, 0});
constexpr TimePoint kBegin{std::chrono::hours(1)};

class AddressesTest : public testing::Test {
 protected:
  void end_leases(std::uint64_t address, std::uint64_t key, int in_set, int without) {
    for (int i = 0; i < in_set; ++i) {
      addresses_.ended(address, key, true, kBegin);
    }
    for (int i = 0; i < without; ++i) {
      addresses_.ended(address, key, false, kBegin);
    }
  }

  Addresses addresses_{filter::random_secret()};
};

TEST_F(AddressesTest, the_last_connection_that_does_not_wait_never_does) {
  const std::uint64_t here = addresses_.connect(kHere);
  EXPECT_FALSE(addresses_.hold(here, false, kBegin)) << "who would set the key?";
  addresses_.connect(kHere);
  addresses_.connect(kThere);
  EXPECT_TRUE(addresses_.hold(here, false, kBegin));
  EXPECT_FALSE(addresses_.hold(here, false, kBegin));
  addresses_.connect(kHere);
  EXPECT_TRUE(addresses_.hold(here, false, kBegin));
  addresses_.let_go(here);
  addresses_.disconnect(here);
  EXPECT_FALSE(addresses_.hold(here, false, kBegin));
}

TEST_F(AddressesTest, who_never_sets_is_switched_off_for_itself_and_such_keys_alone) {
  const std::uint64_t here = addresses_.connect(kHere);
  const std::uint64_t there = addresses_.connect(kThere);
  end_leases(here, kKey, 0, Addresses::kOutcomesLeast - 1);
  EXPECT_FALSE(addresses_.is_off(here, kKey, kBegin)) << "it may have been chance";
  end_leases(here, kKey, 0, 1);
  EXPECT_TRUE(addresses_.is_off(here, kKey, kBegin));
  EXPECT_TRUE(addresses_.is_off(here, kKey + Addresses::kBuckets, kBegin));
  EXPECT_FALSE(addresses_.is_off(here, kKey + 1, kBegin));
  EXPECT_FALSE(addresses_.is_off(there, kKey, kBegin));
}

TEST_F(AddressesTest, half_of_the_leases_that_end_in_a_set_are_enough) {
  const std::uint64_t here = addresses_.connect(kHere);
  end_leases(here, kKey, 5, 5);
  EXPECT_FALSE(addresses_.is_off(here, kKey, kBegin));
  end_leases(here, kKey, 0, 1);
  EXPECT_TRUE(addresses_.is_off(here, kKey, kBegin));
}

TEST_F(AddressesTest, the_latest_leases_count) {
  const std::uint64_t here = addresses_.connect(kHere);
  end_leases(here, kKey, 1000, Addresses::kOutcomesMost / 2 + 1);
  EXPECT_TRUE(addresses_.is_off(here, kKey, kBegin));
}

TEST_F(AddressesTest, it_is_tried_again_after_a_while) {
  const std::uint64_t here = addresses_.connect(kHere);
  end_leases(here, kKey, 0, Addresses::kOutcomesLeast);
  EXPECT_TRUE(addresses_.is_off(here, kKey, kBegin + Addresses::kOffFor - 1ms));
  EXPECT_FALSE(addresses_.is_off(here, kKey, kBegin + Addresses::kOffFor));
}

TEST_F(AddressesTest, a_starved_pool_waits_no_more_for_a_while) {
  const std::uint64_t here = addresses_.connect(kHere);
  addresses_.connect(kHere);
  addresses_.starved(here, kBegin);
  EXPECT_TRUE(addresses_.hold(here, false, kBegin)) << "once may be chance";
  addresses_.let_go(here);
  addresses_.starved(here, kBegin);
  EXPECT_FALSE(addresses_.hold(here, false, kBegin + Addresses::kOffFor - 1ms));
  EXPECT_TRUE(addresses_.hold(here, false, kBegin + Addresses::kOffFor));
}

TEST_F(AddressesTest, many_addresses_cannot_switch_it_off_for_another_one) {
  const std::uint64_t here = addresses_.connect(kHere);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t attacker =
        addresses_.connect(text::Network::of_ipv4(std::array<unsigned char, 4>{
            10, 0, static_cast<unsigned char>(i / 256), static_cast<unsigned char>(i % 256)}));
    end_leases(attacker, kKey, 0, Addresses::kOutcomesLeast);
    addresses_.disconnect(attacker);
  }
  EXPECT_FALSE(addresses_.is_off(here, kKey, kBegin));
}

}  // namespace
}  // namespace cuckooguard::breakdown
