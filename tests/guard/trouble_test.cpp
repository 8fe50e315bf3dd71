#include "guard/trouble.h"

#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

using filter::SourceState;
using filter::State;
using redis::Availability;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// All that have a name.
template <typename Enum>
std::vector<Enum> every() {
  std::vector<Enum> all;
  try {
    for (int number = 0;; ++number) {
      const auto each = static_cast<Enum>(number);
      static_cast<void>(name_of(each));
      all.push_back(each);
    }
  } catch (const std::out_of_range&) {
    return all;
  }
}

TEST(Trouble, of_a_source_has_a_reason_and_a_remedy_in_every_state_but_following) {
  ASSERT_EQ(every<SourceState>().size(), 4U);
  for (const SourceState state : every<SourceState>()) {
    const auto trouble = trouble_with(SourceStatus{.state = state});
    ASSERT_EQ(trouble.has_value(), state != SourceState::following) << name_of(state);
    if (trouble) {
      EXPECT_THAT(trouble->why, Not(IsEmpty())) << name_of(state);
      EXPECT_THAT(trouble->hint, Not(IsEmpty())) << name_of(state);
    }
    EXPECT_EQ(trouble_with(SourceStatus{.state = state, .why = "its words"})->why, "its words");
  }
}

TEST(Trouble, of_redis_has_a_reason_and_a_remedy_in_every_state_but_available) {
  ASSERT_EQ(every<Availability>().size(), 4U);
  for (const Availability state : every<Availability>()) {
    const auto trouble = trouble_with(redis::Snapshot{.availability = state});
    ASSERT_EQ(trouble.has_value(), state != Availability::available) << name_of(state);
    if (trouble) {
      EXPECT_THAT(trouble->why, Not(IsEmpty())) << name_of(state);
      EXPECT_THAT(trouble->hint, HasSubstr("; until then all keys pass")) << name_of(state);
      EXPECT_GT(trouble->hint.find("; until"), 0U) << name_of(state);
    }
  }
}

TEST(Trouble, of_a_redis_that_cannot_be_asked_says_in_its_words_why_and_what_holds_until_it_can) {
  GuardedShop shop;
  shop.facts.lost({.why = "Connection refused"});
  EXPECT_EQ(trouble_with(*shop.facts.snapshot())->why, "Connection refused");
  EXPECT_THAT(trouble_with(*shop.facts.snapshot())->hint,
              HasSubstr("the guard answers reads of absent keys"));
  shop.facts.lost({.why = "no reply within 2 s", .is_up = true});
  EXPECT_THAT(trouble_with(*shop.facts.snapshot())->hint, HasSubstr("all keys pass"));
  shop.facts.lost();
  EXPECT_THAT(trouble_with(*shop.facts.snapshot())->why, Not(IsEmpty()));
}

TEST(Trouble, of_a_filter_has_a_remedy_in_every_state_but_ready) {
  for (State state = State::loading; state <= filter::kLastState;
       state = static_cast<State>(static_cast<int>(state) + 1)) {
    EXPECT_EQ(hint_of(state).empty(), state == State::ready) << state_name(state);
  }
}

}  // namespace
}  // namespace cuckooguard::guard
