#include "upstream/server_watch.h"

#include <algorithm>
#include <utility>

#include "upstream/redis_reply.h"
#include "upstream/server_reply.h"

namespace cuckooguard::upstream {

// Another connection that reaches the same server changes nothing of what is known of several.
void LedTo::connected(const std::string& run_id) {
  if (current_ != run_id) {
    current_ = run_id;
    if (several_.empty()) {
      others_ = 0;
    }
  }
}

LedTo::Next LedTo::reached(const std::string& run_id) {
  if (run_id.empty() || current_.empty()) {
    others_ = several_.empty() ? 0 : others_;
    return Next::rest;
  }
  if (!several_.empty()) {
    return reached_one_of_several(run_id);
  }
  const bool is_as_before = others_ == 0 || run_id == other_;
  if (run_id == current_ || !is_as_before) {
    if (others_ > 0) {
      be_several(run_id);
    }
    return Next::rest;
  }
  other_ = run_id;
  if (++others_ <= kSure) {
    return Next::ask_again;
  }
  others_ = 0;
  return Next::moved;
}

LedTo::Next LedTo::reached_one_of_several(const std::string& run_id) {
  others_ = run_id == other_ ? others_ + 1 : 1;
  other_ = run_id;
  if (others_ < kAlone) {
    return Next::rest;
  }
  several_.clear();
  others_ = 0;
  return Next::moved;
}

void LedTo::be_several(const std::string& run_id) {
  const auto& [first, second] = std::minmax(other_, run_id);
  several_ = "several servers answer at this address at one time (run_id " + first + " and " +
             second + ")";
  other_ = run_id;
  others_ = 1;
}

ServerWatch::ServerWatch(RedisConnector connector, OnChange on_change)
    : connector_(std::move(connector)), on_change_(std::move(on_change)) {}

ServerWatch::~ServerWatch() {
  thread_ = {};  // before what it works with
}

void ServerWatch::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void ServerWatch::connected(const std::string& run_id) {
  const std::lock_guard lock(mutex_);
  led_to_.connected(run_id);
}

void ServerWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex_);
    rest_.wait_for(lock, stop, kEvery, [] { return false; });
    lock.unlock();
    if (!stop.stop_requested()) {
      look(stop);
    }
  }
}

void ServerWatch::look(const std::stop_token& stop) {
  LedTo::Next next = LedTo::Next::ask_again;
  while (next == LedTo::Next::ask_again && !stop.stop_requested()) {
    const std::string run_id = reached();
    std::unique_lock lock(mutex_);
    next = led_to_.reached(run_id);
    const Change change{.moved_from = next == LedTo::Next::moved ? led_to_.current() : "",
                        .several = led_to_.several()};
    lock.unlock();
    if (!change.moved_from.empty() || change.several != told_) {
      told_ = change.several;
      on_change_(change);
    }
  }
}

std::string ServerWatch::reached() const {
  std::string why;
  const RedisConnector::Redis redis = connector_.open(why);
  if (!redis || connector_.log_in(*redis)) {
    return {};
  }
  const Reply info(static_cast<redisReply*>(redisCommand(redis.get(), "INFO server")));
  return info ? run_id_of(*info) : std::string();
}

}  // namespace cuckooguard::upstream
