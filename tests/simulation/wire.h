// A connection from the proxy to Redis, as the world sees it.
#pragma once

#include <cstdint>
#include <optional>

#include "io/loop.h"
#include "simulation/sim_redis.h"

namespace cuckooguard::simulation {

struct Wire {
  io::TimePoint opened{};
  bool is_used = false;      // the proxy has written to it
  bool is_given_up = false;  // connecting took too long; what becomes of it at Redis is nobody's
  std::uint64_t read = 0;    // bytes of Redis's that the proxy has read
  io::TimePoint read_at{};   // the last of them
  std::optional<RedisEnd> end{};  // the proxy may not know yet
  std::optional<int> client{};    // whose command was the last
  // Where the first -READONLY ended, and when the proxy had read it: nothing new may be sent from
  // then on.
  std::optional<std::uint64_t> refusal_bytes{};
  std::optional<int> refused_client{};
  std::optional<io::TimePoint> retired{};
};

}  // namespace cuckooguard::simulation
