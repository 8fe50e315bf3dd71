#include <string>

#include <gtest/gtest.h>

#include "guard/guarded_shop.h"
#include "guard/trouble.h"

namespace cuckooguard::guard {
namespace {

using filter::State;

class PassingTest : public testing::Test {
 protected:
  PassingTest() { users_.set_state(State::ready); }

  Passing passing_of_users() const { return passing(shop_.spaces[GuardedShop::kUsers], shop_.now); }

  GuardedShop shop_;
  filter::LiveFilter& users_ = *shop_.filters[GuardedShop::kUsers];
  Overlay& overlay_ = *shop_.overlays[GuardedShop::kUsers];
};

TEST_F(PassingTest, of_a_namespace_that_answers_there_is_nothing_to_say) {
  EXPECT_EQ(passing_of_users().why, "");
  EXPECT_FALSE(passing_of_users().left);
  EXPECT_EQ(why_all_are_held(overlay_, shop_.now), "");
}

TEST_F(PassingTest, every_state_that_is_not_ready_has_a_reason) {
  for (State state = State::loading; state <= filter::kLastState;
       state = static_cast<State>(static_cast<int>(state) + 1)) {
    users_.set_fresh_until(shop_.now + seconds(1));
    users_.set_state(state);
    EXPECT_EQ(passing_of_users().why.empty(), state == State::ready) << state_name(state);
    EXPECT_EQ(passing_of_users().hint.empty(), state == State::ready) << state_name(state);
    users_.set_state(state, "in its source's words");
    users_.set_fresh_until(TimePoint::min());
    EXPECT_EQ(passing_of_users().why, "in its source's words");
  }
}

TEST_F(PassingTest, a_filter_that_nothing_proves_any_more_says_so) {
  users_.set_fresh_until(shop_.now);
  EXPECT_EQ(passing_of_users().why, "the filter is not proven to be up to date");
}

TEST_F(PassingTest, what_is_not_known_to_have_been_written_is_a_reason_with_an_end) {
  const auto holds = [&](Overlay::Hold because) {
    overlay_.hold_all_until(shop_.now + seconds(40), because);
    return passing_of_users().why;
  };
  EXPECT_EQ(holds(Overlay::Hold::begun),
            "the guard has just started and does not know which keys were written before");
  EXPECT_EQ(why_all_are_held(overlay_, shop_.now).substr(0, 28), "all keys pass for another 41");
  EXPECT_GE(passing_of_users().left, seconds(40));
  EXPECT_LT(passing_of_users().left, seconds(41));
  EXPECT_NE(holds(Overlay::Hold::bypassed).find("bypass"), std::string::npos);
  EXPECT_NE(holds(Overlay::Hold::cleared).find("GUARD.CLEAR"), std::string::npos);
  EXPECT_NE(holds(Overlay::Hold::reloaded).find("reload"), std::string::npos);
  users_.set_state(State::down, "no server");
  EXPECT_EQ(passing_of_users().why, "no server") << "nor would it end with the time";
  users_.set_state(State::ready);
  overlay_.hold_all_no_more();
  EXPECT_EQ(passing_of_users().why, "");
}

}  // namespace
}  // namespace cuckooguard::guard
