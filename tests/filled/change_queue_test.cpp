#include "filled/change_queue.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::filled {
namespace {

using std::chrono::milliseconds;
using Status = Outcome::Status;
using testing::HasSubstr;

constexpr TimePoint kNow{std::chrono::hours(1)};

std::shared_ptr<Change> change(std::size_t items = 1) {
  return std::make_shared<Change>(
      Operation{.filter = "f", .hashes = std::vector<std::uint64_t>(items, 1)});
}

class Queue : public testing::Test {
 protected:
  std::shared_ptr<Change> push(std::size_t items = 1, TimePoint now = kNow) {
    auto pushed = change(items);
    queue_.push(pushed, now);
    return pushed;
  }
  static bool is_refused(const Change& change, const std::string& why) {
    return change.is_done() && change.outcome().status == Status::not_in_log &&
           change.outcome().why.find(why) != std::string::npos;
  }

  ChangeQueue queue_{{.changes = 300, .bytes = 1'000'000, .wait = milliseconds(5000)}};
};

TEST_F(Queue, what_came_back_has_its_outcome) {
  const auto first = push();
  const auto second = push();
  queue_.sent(7, queue_.next());
  EXPECT_FALSE(first->is_done());
  std::vector<Outcome> outcomes{{.items = {ItemOutcome::done}}, {.items = {ItemOutcome::not_done}}};
  queue_.came_back(6, outcomes);
  EXPECT_FALSE(first->is_done()) << "that was another one's";
  queue_.came_back(7, outcomes);
  ASSERT_TRUE(first->is_done() && second->is_done());
  EXPECT_EQ(first->outcome().items, (std::vector{ItemOutcome::done}));
  EXPECT_EQ(second->outcome().items, (std::vector{ItemOutcome::not_done}));
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(Queue, only_the_first_that_waits_is_worth_a_wake_up) {
  EXPECT_TRUE(queue_.push(change(), kNow));
  EXPECT_FALSE(queue_.push(change(), kNow));
  queue_.sent(1, queue_.next());
  EXPECT_TRUE(queue_.push(change(), kNow));
}

TEST_F(Queue, a_batch_has_so_many_changes_at_most) {
  for (std::size_t i = 0; i < ChangeQueue::kBatchMax + 1; ++i) {
    push();
  }
  EXPECT_EQ(queue_.next().size(), ChangeQueue::kBatchMax);
  EXPECT_EQ(queue_.next().size(), 1U);
  EXPECT_TRUE(queue_.next().empty());
}

TEST_F(Queue, a_batch_has_so_many_bytes_or_one_change) {
  constexpr std::size_t kHalf = ChangeQueue::kBatchBytesMax / sizeof(std::uint64_t) / 2;
  push(kHalf);
  push(kHalf);
  push(3 * kHalf);
  EXPECT_EQ(queue_.next().size(), 1U);
  EXPECT_EQ(queue_.next().size(), 1U);
  EXPECT_EQ(queue_.next().size(), 1U) << "it is too large for a batch, and goes alone";
}

TEST_F(Queue, takes_no_more_changes_than_its_limit) {
  for (int i = 0; i < 300; ++i) {
    EXPECT_FALSE(push()->is_done());
  }
  EXPECT_TRUE(is_refused(*push(), "too many"));
  queue_.sent(1, queue_.next());
  EXPECT_TRUE(is_refused(*push(), "too many")) << "what is in flight counts";
  std::vector<Outcome> outcomes(ChangeQueue::kBatchMax);
  queue_.came_back(1, outcomes);
  EXPECT_FALSE(push()->is_done());
}

TEST_F(Queue, takes_no_more_bytes_than_its_limit) {
  EXPECT_FALSE(push(120'000)->is_done());
  EXPECT_TRUE(is_refused(*push(10'000), "too many"));
  EXPECT_FALSE(push(1)->is_done());
}

TEST_F(Queue, closed_it_takes_nothing_and_finishes_what_waits) {
  const auto sent = push();
  queue_.sent(1, queue_.next());
  const auto waiting = push();
  queue_.close("Redis is away");
  EXPECT_TRUE(is_refused(*waiting, "Redis is away"));
  EXPECT_TRUE(is_refused(*push(), "Redis is away"));
  EXPECT_FALSE(sent->is_done()) << "it may yet come back";
  queue_.open();
  EXPECT_FALSE(push()->is_done());
}

TEST_F(Queue, of_what_was_sent_and_is_lost_nobody_knows) {
  const auto sent = push();
  queue_.sent(1, queue_.next());
  const auto waiting = push();
  queue_.lose("the connection is gone");
  ASSERT_TRUE(sent->is_done());
  EXPECT_EQ(sent->outcome().status, Status::unknown);
  EXPECT_THAT(sent->outcome().why, HasSubstr("the connection is gone"));
  EXPECT_FALSE(waiting->is_done());
}

TEST_F(Queue, what_redis_refuses_was_not_done) {
  const auto sent = push();
  queue_.sent(1, queue_.next());
  queue_.refused(1, "OOM");
  EXPECT_TRUE(is_refused(*sent, "OOM"));
}

TEST_F(Queue, nothing_waits_for_ever) {
  const auto sent = push();
  queue_.sent(1, queue_.next());
  const auto waiting = push();
  const auto later = push(1, kNow + milliseconds(1));
  queue_.finish_overdue(kNow + milliseconds(4999));
  EXPECT_FALSE(sent->is_done() || waiting->is_done());
  queue_.finish_overdue(kNow + milliseconds(5000));
  ASSERT_TRUE(sent->is_done());
  EXPECT_EQ(sent->outcome().status, Status::unknown);
  EXPECT_TRUE(is_refused(*waiting, "not sent"));
  EXPECT_FALSE(later->is_done());
  std::vector<Outcome> outcomes(1);
  queue_.came_back(1, outcomes);  // too late
  EXPECT_EQ(sent->outcome().status, Status::unknown);
}

TEST_F(Queue, its_end_finishes_all) {
  std::shared_ptr<Change> sent = change();
  std::shared_ptr<Change> waiting = change();
  {
    ChangeQueue queue({});
    queue.push(sent, kNow);
    queue.sent(1, queue.next());
    queue.push(waiting, kNow);
  }
  ASSERT_TRUE(sent->is_done());
  EXPECT_EQ(sent->outcome().status, Status::unknown);
  EXPECT_TRUE(is_refused(*waiting, "shutting down"));
}

}  // namespace
}  // namespace cuckooguard::filled
