// What the application caches rows in: a Redis, a Redis Cluster, or the guard in front of either.
// It cannot tell which.
//
// Threads: one. Errors: Unavailable with the network's words, after which the next call connects
// again; std::runtime_error with the server's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "endpoint.h"

namespace cuckooguard::demo {

// The application cannot answer one request, and goes on with the next.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Cache {
 public:
  Cache() = default;
  virtual ~Cache() = default;
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  virtual std::optional<std::string> get(std::string_view key) = 0;
  virtual void set(std::string_view key, std::string_view value, int ttl_seconds) = 0;

  virtual std::uint64_t keys() = 0;  // in all its databases
  // Empties all its databases and sets the counters of commandstats to zero.
  virtual void start_over() = 0;
  // How many GETs Redis has run since then.
  virtual std::uint64_t gets() = 0;
};

std::unique_ptr<Cache> open_cache(const Endpoint& endpoint);

}  // namespace cuckooguard::demo
