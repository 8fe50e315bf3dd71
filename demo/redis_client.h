// A connection to Redis, or to the guard in front of it: the application cannot tell.
//
// Threads: one. Errors: std::runtime_error with the server's or the network's words.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "endpoint.h"
#include "harness/raw_client.h"

namespace cuckooguard::demo {

class RedisClient {
 public:
  explicit RedisClient(const Endpoint& server)
      : client_(harness::RawClient::to_host(server.host, server.port)) {}

  std::optional<std::string> get(std::string_view key);
  void set(std::string_view key, std::string_view value, int ttl_seconds);

  bool is_empty();  // all its databases

  // Empties all its databases and sets the counters of commandstats to zero.
  void start_over();
  // How many GETs this Redis has run since then.
  std::uint64_t gets();

 private:
  std::string ask(std::initializer_list<std::string_view> arguments);  // its reply

  harness::RawClient client_;
};

}  // namespace cuckooguard::demo
