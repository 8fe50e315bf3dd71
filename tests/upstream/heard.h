// What a Control has said, and waiting for it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "upstream/control.h"

namespace cuckooguard::upstream {

inline constexpr std::chrono::seconds kPatience{30};

inline bool is_unrestricted_default(const redis::Users& users) {
  return users.unrestricted == std::set<std::string, std::less<>>{"default"} &&
         users.restricted.empty();
}
inline bool is_open_default(const redis::Users& users) {
  return is_unrestricted_default(users) && users.default_needs_no_password;
}

class Heard {
 public:
  Control::Calls calls() {
    return {.epoch = [this] { return ++epoch_; },
            .users = [this] { return names_; },
            .on_facts =
                [this](std::uint64_t epoch, redis::Reading reading) {
                  const std::lock_guard lock(mutex_);
                  EXPECT_EQ(epoch, epoch_.load()) << "of the asking that began last";
                  reading_ = std::move(reading);
                  ++times_;
                  changed_.notify_all();
                },
            .on_reachable =
                [this](bool reachable, const std::string& why) {
                  const std::lock_guard lock(mutex_);
                  reachable_.push_back(reachable);
                  why_ = why;
                  changed_.notify_all();
                },
            .on_lost =
                [this](bool is_up, const std::string& /*why*/) {
                  const std::lock_guard lock(mutex_);
                  is_up_ = is_up;
                  changed_.notify_all();
                },
            .on_allowed =
                [this](const redis::ControlReport& report) {
                  const std::lock_guard lock(mutex_);
                  reports_.push_back(report);
                  changed_.notify_all();
                }};
  }

  // The facts once they are told, and `accept` takes them.
  template <typename Accept>
  bool reading_becomes(const Accept& accept) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return reading_ && accept(*reading_); });
  }
  template <typename Accept>
  bool users_become(const Accept& accept) {
    return reading_becomes([&](const redis::Reading& reading) { return accept(reading.users); });
  }
  bool reachable_becomes(const std::vector<bool>& history) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return reachable_ == history; });
  }
  bool loss_becomes(bool is_up) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return is_up_ == is_up; });
  }
  // What was told last.
  bool report_becomes(const redis::ControlReport& wanted) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(
        lock, kPatience, [&] { return !reports_.empty() && reports_.back() == wanted; });
  }
  std::vector<redis::ControlReport> reports() {
    const std::lock_guard lock(mutex_);
    return reports_;
  }
  bool any_facts() {
    const std::lock_guard lock(mutex_);
    return reading_.has_value();
  }
  std::string why() {
    const std::lock_guard lock(mutex_);
    return why_;
  }
  int times() {
    const std::lock_guard lock(mutex_);
    return times_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::uint64_t> epoch_{0};
  std::vector<std::string> names_{"default"};
  std::optional<redis::Reading> reading_;
  int times_ = 0;
  std::vector<bool> reachable_;
  std::optional<bool> is_up_;
  std::string why_;
  std::vector<redis::ControlReport> reports_;
};

}  // namespace cuckooguard::upstream
