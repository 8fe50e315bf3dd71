#include "views/filter_probe.h"

#include <gtest/gtest.h>

#include "guard/filter_totals.h"
#include "guard/guarded_shop.h"

namespace cuckooguard::views {
namespace {

using guard::GuardedShop;

class FilterProbeTest : public testing::Test {
 protected:
  void look() {
    probe_.look(shop_.guard->parts().namespaces, shop_.now);
    shop_.now += FilterProbe::kEvery;
  }
  FilterProbe::Result result() const { return probe_.result(GuardedShop::kUsers); }

  GuardedShop shop_;
  FilterProbe probe_{1};
};

TEST_F(FilterProbeTest, nothing_is_known_before_anybody_has_looked) {
  EXPECT_EQ(result().rate(), std::nullopt);
  EXPECT_EQ(probe_.result(1000).rate(), std::nullopt);
}

TEST_F(FilterProbeTest, as_much_passes_as_is_to_be_expected_of_the_filters_fill) {
  constexpr std::uint64_t kCapacity = 1000;
  constexpr double kRate = 0.03;
  const filter::LiveParts& users = *shop_.parts[GuardedShop::kUsers];
  auto coarse = std::make_unique<filter::CuckooFilter>(
      filter::choose_sizing(kRate, kCapacity, filter::DeleteMode::deferred), users.secret());
  for (std::uint64_t id = 0; id < kCapacity; ++id) {
    coarse->insert(users.hash(std::to_string(id)));
  }
  shop_.filters[GuardedShop::kUsers]->publish(std::move(coarse));
  constexpr int kLooks = 20;
  for (int i = 0; i < kLooks; ++i) {
    shop_.filters[GuardedShop::kUsers]->set_fresh_until(shop_.now + guard::seconds(1));
    look();
  }
  EXPECT_EQ(result().asked, kLooks * FilterProbe::kLookups);
  const double expected = guard::filter_totals(users).false_positive_rate;
  EXPECT_GT(expected, kRate / 10);
  EXPECT_GT(result().rate().value(), expected * 0.8);
  EXPECT_LT(result().rate().value(), expected * 1.2);
}

TEST_F(FilterProbeTest, who_asks_often_does_not_make_it_look_often) {
  look();
  const std::uint64_t asked = result().asked;
  shop_.now -= std::chrono::milliseconds(1);
  probe_.look(shop_.guard->parts().namespaces, shop_.now);
  EXPECT_EQ(result().asked, asked);
}

TEST_F(FilterProbeTest, what_passes_because_nothing_is_proven_is_not_counted) {
  shop_.filters[GuardedShop::kUsers]->set_fresh_until(guard::TimePoint::min());
  look();
  EXPECT_EQ(result().asked, 0U);
}

TEST_F(FilterProbeTest, old_look_ups_weigh_less_and_less) {
  for (std::uint64_t i = 0; i < 2 * FilterProbe::kRemembered / FilterProbe::kLookups; ++i) {
    shop_.filters[GuardedShop::kUsers]->set_fresh_until(shop_.now + guard::seconds(1));
    look();
    ASSERT_LE(result().asked, FilterProbe::kRemembered);
  }
  EXPECT_GT(result().asked, FilterProbe::kRemembered / 3);
}

}  // namespace
}  // namespace cuckooguard::views
