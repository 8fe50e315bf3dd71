#include "follower/asker.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "source/bench.h"

namespace cuckooguard::fleet {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// What was asked, of all connections.
class Heard {
 public:
  void add(std::span<const std::string_view> command) {
    const std::scoped_lock lock(mutex_);
    if (command[0] == "HSET") {
      asks_.push_back(*read_ask(command[3]));
    } else {
      ++wakes_;
    }
    changed_.notify_all();
  }
  // The first, from this one on, that a reader waits for, or does not.
  std::optional<Ask> wait_for(bool is_waiting, std::size_t from = 0) {
    std::unique_lock lock(mutex_);
    const auto found = [&] {
      return std::ranges::find(
          asks_.begin() + static_cast<std::ptrdiff_t>(std::min(from, asks_.size())),
          asks_.end(),
          is_waiting,
          &Ask::is_waiting);
    };
    return changed_.wait_for(lock, seconds(20), [&] { return found() != asks_.end(); })
               ? std::optional(*found())
               : std::nullopt;
  }
  bool wait_for_wake() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(20), [&] { return wakes_ > 0; });
  }
  std::vector<Ask> asks() const {
    const std::scoped_lock lock(mutex_);
    return asks_;
  }
  std::size_t wakes() const {
    const std::scoped_lock lock(mutex_);
    return wakes_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Ask> asks_;
  std::size_t wakes_ = 0;
};

class HeardSession final : public source::RedisSession {
 public:
  explicit HeardSession(Heard& heard) : heard_(heard) {}

  using RedisSession::ask;
  Answer ask(std::span<const std::string_view> command) override {
    heard_.add(command);
    return resp::Value{.kind = resp::Value::Kind::number, .number = 1};
  }

 private:
  Heard& heard_;
};

class AskerTest : public testing::Test {
 protected:
  source::OpenRedis opens() {
    return [this](const std::string& /*key*/)
               -> std::expected<std::unique_ptr<source::RedisSession>, std::string> {
      if (is_down_) {
        return std::unexpected("nobody listens");
      }
      return std::make_unique<HeardSession>(heard_);
    };
  }
  std::unique_ptr<Asker> asker() {
    return std::make_unique<Asker>(
        Asker::Settings{.source = "shop",
                        .name = "pod-1",
                        .keys = {"fleet", "shop"},
                        .redis = opens(),
                        .observer = witness_,
                        .asking = source::Asking(&questions_, Asker::kPace),
                        .clock = [] { return TimePoint::clock::now(); }},
        own_);
  }

  std::atomic<bool> is_down_{false};
  Heard heard_;
  source::Witness witness_;
  filter::Questions questions_;
  OwnQuestions own_{"pod-1"};
};

TEST_F(AskerTest, a_reader_that_waits_wakes_the_builder_and_nobody_else_does) {
  const auto asker = this->asker();
  asker->say(Ask{.seq = 5, .lacks = 3, .why = "users: loading"}, std::nullopt);
  const auto first = heard_.wait_for(false);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->seq, 5U);
  EXPECT_EQ(first->lacks, 3U);
  EXPECT_EQ(first->why, "users: loading");
  EXPECT_EQ(heard_.wakes(), 0U);
  const TimePoint wanted_at = TimePoint::clock::now();
  questions_.want();
  const auto asked = heard_.wait_for(true);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->lacks, 0U) << "it was said";
  EXPECT_TRUE(heard_.wait_for_wake());
  const Answers answer =
      answers_to(std::vector<Question>{{.name = "pod-1", .nonce = asked->nonce}});
  EXPECT_GE(own_.answered(asked->nonce, answer.paths[0], answer.root), wanted_at)
      << "what was committed before the reader came is to be seen";
}

TEST_F(AskerTest, without_anything_to_say_it_asks_nothing) {
  const auto asker = this->asker();
  asker->say(Ask{.seq = 1}, std::nullopt);
  ASSERT_TRUE(heard_.wait_for(false));
  asker->say(std::nullopt, std::nullopt);
  const std::size_t before = heard_.asks().size();
  questions_.want();
  while (questions_.is_wanted()) {
    std::this_thread::yield();
  }
  asker->say(Ask{.seq = 2}, std::nullopt);
  ASSERT_TRUE(heard_.wait_for(false, before));
  EXPECT_EQ(heard_.asks()[before].seq, 2U);
}

TEST_F(AskerTest, a_follower_does_not_rest_while_a_reader_waits) {
  const auto asker = this->asker();
  asker->say(Ask{.seq = 1}, std::nullopt);
  std::jthread reader([this] {
    heard_.wait_for(false);
    questions_.want();
  });
  asker->rest_until(TimePoint::clock::now() + hours(1), {});
  EXPECT_TRUE(heard_.wait_for(true));
}

TEST_F(AskerTest, while_a_reader_waits_no_other_question_is_asked_until_it_is_answered) {
  const auto asker = this->asker();
  asker->say(Ask{.seq = 1}, std::nullopt);
  ASSERT_TRUE(heard_.wait_for(false));
  questions_.want();
  const auto first = heard_.wait_for(true);
  ASSERT_TRUE(first);
  const TimePoint asked_at = TimePoint::clock::now();
  const std::size_t before = heard_.asks().size();
  questions_.want();
  ASSERT_TRUE(heard_.wait_for(true, before));
  EXPECT_GE(TimePoint::clock::now() - asked_at, Asker::kAskEvery / 2) << "it was not answered";
  questions_.want();
  const std::size_t again = heard_.asks().size();
  asker->answered(TimePoint::clock::now());
  const TimePoint answered_at = TimePoint::clock::now();
  ASSERT_TRUE(heard_.wait_for(true, again));
  EXPECT_LT(TimePoint::clock::now() - answered_at, Asker::kAskEvery);
}

TEST_F(AskerTest, says_why_it_cannot_ask_and_goes_on_when_it_can) {
  is_down_ = true;
  const auto asker = this->asker();
  while (asker->say(Ask{.seq = 1}, std::nullopt) != "nobody listens") {
    std::this_thread::yield();
  }
  is_down_ = false;
  EXPECT_TRUE(heard_.wait_for(false));
  while (!asker->say(Ask{.seq = 1}, std::nullopt).empty()) {
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace cuckooguard::fleet
