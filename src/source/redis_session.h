// A connection to the guard's own Redis, for sources that read what the application keeps there:
// logged in as upstream.control says, over TLS where upstream is. Who makes one (app/) knows where
// that Redis is: behind Sentinels, or which node of a cluster.
//
// Threads: one at a time. Lifetimes: closed by its destructor.
// Errors: a sentence; the session is then of no use any more. What Redis itself refuses is a value.
// Limits: ask() waits for a few seconds at most, and holds one reply.
#pragma once

#include <expected>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "resp/value.h"

namespace cuckooguard::source {

class RedisSession {
 public:
  using Answer = std::expected<resp::Value, std::string>;

  RedisSession() = default;
  RedisSession(const RedisSession&) = delete;
  RedisSession& operator=(const RedisSession&) = delete;
  virtual ~RedisSession() = default;

  // An error, too, as soon as `upstream` leads elsewhere: what was read here is another Redis's.
  virtual Answer ask(std::initializer_list<std::string_view> command) = 0;
};

// To the Redis that has this key; any thread.
using OpenRedis = std::function<std::expected<std::unique_ptr<RedisSession>, std::string>(
    const std::string& key)>;

}  // namespace cuckooguard::source
