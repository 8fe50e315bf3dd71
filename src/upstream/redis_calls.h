// A connection to Redis on which questions are asked one at a time, whatever they are.
//
// Threads: any, one at a time. Lifetimes: closed by its destructor; `tls` outlives open().
// Errors: a sentence, and then the connection is of no use any more; what Redis refuses is a value.
// Limits: kCallTimeout for each call; a reply is in memory twice while it is copied.
#pragma once

#include <chrono>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "config/config.h"
#include "io/tls_credentials.h"
#include "resp/value.h"
#include "upstream/redis_connector.h"

namespace cuckooguard::upstream {

class RedisCalls {
 public:
  static constexpr std::chrono::seconds kCallTimeout{2};

  // Logged in as upstream.control says.
  static std::expected<RedisCalls, std::string> open(const config::Upstream& settings,
                                                     const io::TlsSlot& tls);

  std::expected<resp::Value, std::string> call(std::span<const std::string_view> command);

 private:
  explicit RedisCalls(RedisConnector::Redis redis) : redis_(std::move(redis)) {}

  RedisConnector::Redis redis_;
};

}  // namespace cuckooguard::upstream
