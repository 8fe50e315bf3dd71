#include "app/row_desk.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::app {
namespace {

using filter::RowPresence;
using std::chrono::milliseconds;

class RowDeskTest : public testing::Test {
 protected:
  guard::RowQuestion question(const std::string& identity) const {
    return {.ns = "users", .definition = "1", .identity = identity, .since = now_};
  }
  void serve() {
    desk_.serve(
        [this](const guard::RowQuestion& asked, const std::stop_token& stop) {
          asked_.push_back(asked.identity);
          look_up(stop);
          return source::RowAnswer{.presence = RowPresence::present};
        },
        milliseconds(0),
        {});
  }
  virtual void look_up(const std::stop_token& /*stop*/) {}

  source::TimePoint now_{};
  std::vector<std::string> asked_;
  RowDesk desk_{[this] { return now_; }};
};

TEST_F(RowDeskTest, each_question_is_answered_once_in_the_order_in_which_they_came) {
  const auto first = question("1");
  const auto second = question("2");
  EXPECT_FALSE(desk_.ask(first));
  EXPECT_FALSE(desk_.ask(second));
  EXPECT_FALSE(desk_.ask(first)) << "it is asked, and does not become two";
  serve();
  EXPECT_FALSE(desk_.ask(second)) << "the answer is another one's";
  EXPECT_EQ(desk_.ask(first)->presence, RowPresence::present);
  serve();
  serve();
  EXPECT_EQ(desk_.ask(second)->presence, RowPresence::present);
  EXPECT_EQ(asked_, (std::vector<std::string>{"1", "2"}));
}

// A row may have come since: an answer of before is none.
TEST_F(RowDeskTest, who_asks_the_same_later_is_asked_for_again) {
  const auto before = question("1");
  EXPECT_FALSE(desk_.ask(before));
  serve();
  now_ += milliseconds(1);
  EXPECT_FALSE(desk_.ask(question("1")));
  serve();
  EXPECT_EQ(asked_.size(), 2U);
}

TEST_F(RowDeskTest, only_so_many_wait_and_the_others_are_told_at_once) {
  for (std::size_t i = 0; i < RowDesk::kWaitingMax; ++i) {
    EXPECT_FALSE(desk_.ask(question(std::to_string(i))));
  }
  const auto refused = desk_.ask(question("one more"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->presence, RowPresence::unknown);
  EXPECT_EQ(refused->why, "the builder has too many row look-ups in flight");
  serve();
  EXPECT_TRUE(desk_.ask(question("0")));
  EXPECT_FALSE(desk_.ask(question("one more")));
}

TEST_F(RowDeskTest, an_answer_that_does_not_come_in_time_is_unknown_and_makes_room) {
  for (std::size_t i = 0; i < RowDesk::kWaitingMax; ++i) {
    EXPECT_FALSE(desk_.ask(question(std::to_string(i))));
  }
  const auto asked = question("0");
  now_ += RowDesk::kWithin;
  const auto late = desk_.ask(asked);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->presence, RowPresence::unknown);
  EXPECT_EQ(late->why, "the builder's database did not respond in time");
  EXPECT_FALSE(desk_.ask(question("new")));
  serve();
  EXPECT_EQ(asked_, std::vector<std::string>{"new"}) << "nobody waits for the others any more";
}

class RowDeskWithASlowDatabase : public RowDeskTest {
  void look_up(const std::stop_token& stop) override {
    const auto asked = question("1");
    EXPECT_FALSE(stop.stop_requested());
    now_ += RowDesk::kWithin;
    EXPECT_EQ(desk_.ask(asked)->presence, RowPresence::unknown) << "the page does not wait for it";
    EXPECT_TRUE(stop.stop_requested());
  }
};

TEST_F(RowDeskWithASlowDatabase, a_look_up_that_takes_too_long_is_told_to_stop) {
  EXPECT_FALSE(desk_.ask(question("1")));
  serve();
  EXPECT_EQ(asked_.size(), 1U);
}

TEST_F(RowDeskTest, a_look_up_ends_with_who_serves) {
  std::stop_source ends;
  EXPECT_FALSE(desk_.ask(question("1")));
  desk_.serve(
      [&ends](const guard::RowQuestion&, const std::stop_token& stop) {
        ends.request_stop();
        EXPECT_TRUE(stop.stop_requested());
        return source::RowAnswer{.why = "ended"};
      },
      milliseconds(0),
      ends.get_token());
  EXPECT_EQ(desk_.ask(question("1"))->why, "ended");
}

}  // namespace
}  // namespace cuckooguard::app
