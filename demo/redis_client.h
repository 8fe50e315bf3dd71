// A connection to Redis, or to the guard in front of it: the application cannot tell.
//
// Threads: one. Errors: std::runtime_error with the server's or the network's words.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "endpoint.h"

struct redisContext;

namespace cuckooguard::demo {

class RedisClient {
 public:
  explicit RedisClient(const Endpoint& server);

  std::optional<std::string> get(std::string_view key);
  void set(std::string_view key, std::string_view value, int ttl_seconds);
  bool is_alive();  // PING

  bool is_empty();  // all its databases

  // Empties all its databases and sets the counters of commandstats to zero.
  void start_over();
  // How many GETs this Redis has run since then.
  std::uint64_t gets();

 private:
  struct Free {
    void operator()(redisContext* context) const;
  };
  std::unique_ptr<redisContext, Free> context_;
};

}  // namespace cuckooguard::demo
