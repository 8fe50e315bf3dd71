// A connection of hiredis on which requests are sent without waiting for the replies to those
// before: never blocks, is polled by its owner.
//
// Threads:   one. Lifetimes: `on_reply` of what has no reply yet dies with it, uncalled.
// Errors:    once it is lost, that is what it stays; error() says why. Limits: the owner's.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "io/clock.h"
#include "upstream/redis_connector.h"
#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {

class PipelinedRedis {
 public:
  using OnReply = std::function<void(Reply)>;  // may send

  explicit PipelinedRedis(RedisConnector::Redis redis);  // open, logged in

  void send(std::span<const std::string_view> words, OnReply on_reply);
  void send(std::initializer_list<std::string_view> words, OnReply on_reply) {
    send(std::span(words.begin(), words.size()), std::move(on_reply));
  }

  int descriptor() const;
  bool has_to_write() const { return has_to_write_; }
  void write();
  void read();  // what has come, if anything has
  // When something came last.
  io::TimePoint read_at() const { return read_at_; }

  bool is_lost() const { return !error_.empty(); }
  const std::string& error() const { return error_; }
  void give_up(std::string why) { error_ = std::move(why); }

 private:
  void lose();

  RedisConnector::Redis redis_;
  std::deque<OnReply> expected_;
  bool has_to_write_ = false;
  io::TimePoint read_at_{};
  std::string error_;
};

}  // namespace cuckooguard::upstream
