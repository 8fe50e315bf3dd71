#include "builder/wake_listener.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

namespace cuckooguard::fleet {
namespace {

// A stream of one entry, whose ids are what it is given; without one an XREAD blocks for no time.
class WakeStream {
 public:
  void add(std::string id) {
    const std::scoped_lock lock(mutex_);
    last_ = std::move(id);
  }
  resp::Value read(std::string_view after) {
    const std::scoped_lock lock(mutex_);
    resp::Value reply;
    if (!last_.empty() && (last_.size() > after.size() || last_ > after)) {
      const resp::Value entry{.list = {{.text = last_}, {.list = {{.text = "w"}, {.text = ""}}}}};
      reply.list.push_back({.list = {{.text = "key"}, {.list = {entry}}}});
    }
    return reply;
  }

 private:
  std::mutex mutex_;
  std::string last_;
};

class WakeSession final : public source::RedisSession {
 public:
  explicit WakeSession(WakeStream& stream) : stream_(stream) {}

  using RedisSession::ask;
  Answer ask(std::span<const std::string_view> command) override {
    std::this_thread::yield();
    return stream_.read(command.back());
  }

 private:
  WakeStream& stream_;
};

class WakeListenerTest : public testing::Test {
 protected:
  WakeListener listener() {
    return {[this](const std::string& /*key*/)
                -> std::expected<std::unique_ptr<source::RedisSession>, std::string> {
              ++opened_;
              if (is_down_) {
                return std::unexpected("nobody listens");
              }
              return std::make_unique<WakeSession>(stream_);
            },
            "wake",
            [this] { ++wakes_; }};
  }
  void wait_for_wakes(int count) const {
    while (wakes_ < count) {
      std::this_thread::yield();
    }
  }

  WakeStream stream_;
  std::atomic<bool> is_down_{false};
  std::atomic<int> opened_{0};
  std::atomic<int> wakes_{0};
};

TEST_F(WakeListenerTest, hears_each_entry_once) {
  const WakeListener listener = this->listener();
  stream_.add("5-0");
  wait_for_wakes(1);
  stream_.add("6-0");
  wait_for_wakes(2);
  EXPECT_EQ(wakes_, 2);
}

TEST_F(WakeListenerTest, ends_while_redis_cannot_be_reached) {
  is_down_ = true;
  {
    const WakeListener listener = this->listener();
    while (opened_ == 0) {
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(wakes_, 0);
}

TEST_F(WakeListenerTest, hears_a_stream_whose_ids_begin_again) {
  const WakeListener listener = this->listener();
  stream_.add("50-0");
  wait_for_wakes(1);
  stream_.add("7-0");
  wait_for_wakes(2);
}

}  // namespace
}  // namespace cuckooguard::fleet
