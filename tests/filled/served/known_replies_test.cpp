#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "filled/store.h"
#include "guard/promised_reply.h"

namespace cuckooguard::guard {
namespace {

using filled::Change;
using filled::Operation;

std::function<void(Change::Waiter&)> adding_to(std::shared_ptr<KnownReplies> known) {
  return [known = std::move(known)](Change::Waiter& done) { known->add(done); };
}

class Finished : public testing::Test {
 protected:
  std::shared_ptr<Change> awaited(int& waiter) {
    auto change = std::make_shared<Change>(Operation{});
    change->await(adding_to(finished_), &waiter);
    return change;
  }

  int posts_ = 0;
  std::shared_ptr<KnownReplies> finished_ = std::make_shared<KnownReplies>([this] { ++posts_; });
  std::array<int, 3> waiters_{};
};

TEST_F(Finished, are_told_in_their_order_by_one_post) {
  std::vector<std::shared_ptr<Change>> changes;
  for (int& waiter : waiters_) {
    changes.push_back(awaited(waiter));
  }
  EXPECT_EQ(posts_, 0);
  changes[2]->finish({});
  changes[0]->finish({});
  EXPECT_EQ(posts_, 1);
  EXPECT_EQ(finished_->take(), (KnownReplies::Waiters{&waiters_[2], waiters_.data()}));
  changes[1]->finish({});
  EXPECT_EQ(posts_, 2) << "what was told before is done with";
  EXPECT_EQ(finished_->take(), KnownReplies::Waiters{&waiters_[1]});
  EXPECT_EQ(posts_, 2);
}

TEST_F(Finished, are_told_to_who_waits_too_late_and_to_nobody_else) {
  const auto change = std::make_shared<Change>(Operation{});
  change->finish({.why = "so"});
  EXPECT_EQ(posts_, 0);
  change->await(adding_to(finished_), waiters_.data());
  EXPECT_EQ(posts_, 1);
  EXPECT_TRUE(change->is_done());
  EXPECT_EQ(finished_->take(), KnownReplies::Waiters{waiters_.data()});
}

TEST_F(Finished, that_are_many_take_several_turns) {
  for (std::size_t i = 0; i < 2 * KnownReplies::kPerTurn + 1; ++i) {
    awaited(waiters_[0])->finish({});
  }
  for (const std::size_t taken : {KnownReplies::kPerTurn, KnownReplies::kPerTurn, 1UL}) {
    EXPECT_EQ(finished_->take().size(), taken);
  }
  EXPECT_EQ(posts_, 3) << "one for each turn";
  EXPECT_TRUE(finished_->take().empty());
}

TEST_F(Finished, post_nothing_to_a_worker_that_has_ended) {
  const auto change = awaited(waiters_[0]);
  finished_->close();
  finished_.reset();
  change->finish({});
  EXPECT_EQ(posts_, 0);
}

TEST_F(Finished, are_posted_again_until_there_is_memory_for_it) {
  finished_ = std::make_shared<KnownReplies>([this] {
    if (++posts_ < 3) {
      throw std::bad_alloc();
    }
  });
  awaited(waiters_[0])->finish({});
  EXPECT_EQ(posts_, 3);
  EXPECT_EQ(finished_->take(), KnownReplies::Waiters{waiters_.data()});
}

TEST_F(Finished, that_cannot_be_posted_keep_nobody_when_the_worker_ends) {
  std::atomic<int> tries{0};
  finished_ = std::make_shared<KnownReplies>([&] {
    ++tries;
    tries.notify_all();
    throw std::bad_alloc();
  });
  const auto change = awaited(waiters_[0]);
  std::jthread store([&] { change->finish({}); });
  tries.wait(0);
  finished_->close();
  store.join();
  EXPECT_GT(tries, 0);
}

// One thread waits for changes that others finish, before and while it does.
TEST(FinishedByManyThreads, are_told_once_each) {
  constexpr std::size_t kChanges = 30'000;
  constexpr std::size_t kThreads = 3;
  std::atomic<int> posts{0};
  const auto finished = std::make_shared<KnownReplies>([&] { ++posts; });
  std::vector<std::shared_ptr<Change>> changes;
  for (std::size_t i = 0; i < kChanges; ++i) {
    changes.push_back(std::make_shared<Change>(Operation{}));
  }
  std::vector<int> told(kChanges);
  std::size_t count = 0;
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t i = thread; i < kChanges; i += kThreads) {
        changes[i]->finish({.why = std::to_string(i)});
      }
    });
  }
  const auto hear = [&] {
    for (; posts != 0; --posts) {
      for (void* const waiter : finished->take()) {
        const auto i = static_cast<std::size_t>(static_cast<int*>(waiter) - told.data());
        ++told[i];
        ++count;
        EXPECT_TRUE(changes[i]->is_done());
        EXPECT_EQ(changes[i]->outcome().why, std::to_string(i));
      }
    }
  };
  for (std::size_t i = 0; i < kChanges; ++i) {
    changes[i]->await(adding_to(finished), &told[i]);
    hear();
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (count < kChanges && std::chrono::steady_clock::now() < deadline) {
    hear();
    std::this_thread::yield();
  }
  EXPECT_EQ(told, std::vector<int>(kChanges, 1));
}

}  // namespace
}  // namespace cuckooguard::guard
