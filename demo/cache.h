// What the application keeps users in: a Redis, a Redis Cluster, or the guard in front of either.
// It cannot tell which.
//
// Threads: one. Errors: std::runtime_error with the server's or the network's words.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "endpoint.h"

namespace cuckooguard::demo {

// It has not answered for so long that the application gives up on one look-up, and goes on with
// the next.
class CacheUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What a cluster's clients do by themselves, and the application does not see.
struct Detours {
  std::uint64_t redirects = 0;  // -MOVED and -ASK followed
  std::uint64_t retries = 0;    // of commands that failed, by a connection or with -CLUSTERDOWN
};

class Cache {
 public:
  Cache() = default;
  virtual ~Cache() = default;
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  virtual std::optional<std::string> get(std::string_view key) = 0;
  virtual void set(std::string_view key, std::string_view value, int ttl_seconds) = 0;

  virtual bool is_empty() = 0;  // all its databases
  // Empties all its databases and sets the counters of commandstats to zero.
  virtual void start_over() = 0;
  // How many GETs Redis has run since then.
  virtual std::uint64_t gets() = 0;

  virtual Detours detours() const { return {}; }
};

std::unique_ptr<Cache> open_cache(const Endpoint& endpoint);

}  // namespace cuckooguard::demo
