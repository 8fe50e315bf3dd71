// Filters that follow the log in a real Redis, and what their FilterLog has said.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "filled/filters.h"
#include "harness/deadline.h"
#include "harness/redis_server.h"
#include "io/clock.h"
#include "replicated/filter_log.h"

namespace cuckooguard::replicated {

using filled::ItemOutcome;
using filled::Operation;
using filled::Outcome;
using harness::eventually;
using harness::RedisServer;
using State = FilterLog::State;

inline const std::string kLog = "{cuckooguard:filters}:log";
inline const std::string kMeta = "{cuckooguard:filters}:meta";

inline FilterLog::Settings with_key(FilterLog::Settings settings = {}) {
  settings.key = settings.key.empty() ? "a key that all guards have" : settings.key;
  return settings;
}

inline filter::HashSecret secret(std::uint8_t seed = 1) {
  filter::HashSecret secret;
  for (std::byte& byte : secret.bytes) {
    seed = static_cast<std::uint8_t>(seed * 5 + 3);
    byte = static_cast<std::byte>(seed);
  }
  return secret;
}

class LoggedGuard {
 public:
  explicit LoggedGuard(const RedisServer& redis,
                       FilterLog::Settings settings = {},
                       filter::HashSecret hashed_with = secret(),
                       filled::Filters::Room room = {})
      : redis_(&redis),
        filters_(hashed_with, room),
        log_([this](std::string_view /*key*/) { return find_redis(); },
             with_key(std::move(settings)),
             filters_,
             {.on_state = {},
              .on_new_generation = [this] { ++generations_; },
              .on_trouble =
                  [this](const std::string& what) {
                    const std::lock_guard lock(mutex_);
                    troubles_ += what + "\n";
                  }}) {
    log_.start();
  }

  // The log is there from now on.
  void follow(const RedisServer& redis) { redis_ = &redis; }
  FilterLog& log() { return log_; }
  FilterLog::Status status() const { return log_.status(); }
  int generations() const { return generations_; }
  std::string troubles() const {
    const std::lock_guard lock(mutex_);
    return troubles_;
  }
  bool becomes(State state) const {
    return eventually([&] { return status().state == state; });
  }
  bool is_current() const { return log_.is_current(io::now_since_boot()); }
  // All that the other one has applied.
  bool catches_up_with(const LoggedGuard& other) const {
    return eventually([&] {
      return status().state == State::ready && status().generation == other.status().generation &&
             status().seq >= other.status().seq;
    });
  }

  Outcome call(Operation operation) {
    const auto change = std::make_shared<filled::Change>(std::move(operation));
    log_.submit(change);
    EXPECT_TRUE(eventually([&] { return change->is_done(); }));
    return change->outcome();
  }
  Outcome add_if_new(std::string_view item, std::string filter = "seen") {
    return call(operation(Operation::Kind::add_if_new, item, std::move(filter)));
  }
  Operation operation(Operation::Kind kind,
                      std::string_view item,
                      std::string filter = "seen") const {
    return {.kind = kind,
            .filter = std::move(filter),
            .missing = Operation::Missing::is_made,
            .shape = {.kind = filled::Kind::cuckoo},
            .hashes = {filters_.hash(item)}};
  }
  bool has(std::string_view item, std::string_view filter = "seen") const {
    const auto directory = filters_.directory();
    const auto* const found = directory->find(filter);
    return found != nullptr && found->second.filter->may_contain(filters_.hash(item));
  }
  bool has_filter(std::string_view filter) const {
    const auto directory = filters_.directory();
    return directory->find(filter) != nullptr;
  }
  std::uint64_t unsure() const { return filters_.totals().unsure; }
  // Made by the log's thread, which may be reading an image.
  std::string dump() const {
    std::promise<std::string> dump;
    auto made = dump.get_future();
    {
      const std::lock_guard lock(mutex_);
      dumps_.push_back(std::move(dump));
    }
    return made.get();
  }

 private:
  // On the log's thread, each time that it asks its Redis for something.
  config::Upstream find_redis() {
    const std::lock_guard lock(mutex_);
    for (std::promise<std::string>& dump : std::exchange(dumps_, {})) {
      dump.set_value(filters_.dump());
    }
    return {.address = {.host = "127.0.0.1", .port = redis_.load()->port()}};
  }

  std::atomic<const RedisServer*> redis_;
  filled::Filters filters_;
  std::atomic<int> generations_{0};
  mutable std::mutex mutex_;
  std::string troubles_;
  mutable std::vector<std::promise<std::string>> dumps_;  // that are waited for
  FilterLog log_;
};

inline bool is_done(const Outcome& outcome) {
  return outcome.status == Outcome::Status::done && outcome.items == std::vector{ItemOutcome::done};
}
inline bool is_not_new(const Outcome& outcome) {
  return outcome.status == Outcome::Status::done &&
         outcome.items == std::vector{ItemOutcome::not_done};
}

inline std::string numbered(std::size_t number) {
  return "item " + std::to_string(number);
}

}  // namespace cuckooguard::replicated
