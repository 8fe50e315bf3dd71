// A Redis and a guard in front of it that enforces, for one application's keys.
//
// Threads: the test's main thread. Errors: std::runtime_error; what does not come true in time
// fails the test.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/configuration.h"
#include "harness/guard_process.h"
#include "harness/redis_server.h"

namespace cuckooguard::harness {

// Where the applications' users are, and how the guard and they come by them.
struct Users {
  std::string guard_source;  // as Configuration::source
  std::string address;       // for the programs
  std::function<void(std::uint64_t id)> insert;
};

// Ids from this one on are nobody's, but for those that a test inserts.
inline constexpr std::uint64_t kFirstAbsent = 1'000'000;

class GuardedCache {
 public:
  // `keys` as the cache layer makes them, with `{id}`. Returns when the guard answers absent keys.
  GuardedCache(const Users& users,
               std::string keys,
               const std::string& absent_reply,
               const std::string& overlay = Guarded().overlay);

  std::string port() const { return std::to_string(guard_.port()); }
  std::string log() const { return guard_.log(); }

  // Of nobody, and the filter does not take them for somebody's.
  std::vector<std::uint64_t> absent_ids(std::size_t count) const;
  // A GET of it is answered by the guard, and does not reach Redis.
  bool answers_absent(std::uint64_t id) const;
  // What a GET of an absent key returns, without its RESP.
  std::string absent_bytes() const;

  // The value that Redis has for it.
  std::string in_redis(std::uint64_t id) const;
  void set(std::uint64_t id, std::string_view value) const;  // through the guard

 private:
  std::string key(const std::string& id) const;
  std::string key(std::uint64_t id) const { return key(std::to_string(id)); }
  std::string yaml(const Users& users,
                   const std::string& absent_reply,
                   const std::string& overlay) const;

  std::string keys_;
  RedisServer redis_;
  GuardProcess guard_;
};

}  // namespace cuckooguard::harness
