// The application: reads users cache-aside, as most applications do.
//
//   GET user:<id>      a value: that is the user
//                      __ABSENT__: there is no such user (agreed with the guard: `absent_reply:
//                      "bytes:__ABSENT__"`) nil: ask the database; a row: SET user:<id> … EX 300
// It does not know whether it talks to Redis or to the guard.
//
// Threads: one per object; the connections are its own. Errors: std::runtime_error, of which
// CacheUnavailable is no reason to end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cache.h"
#include "users_database.h"

namespace cuckooguard::demo {

inline constexpr std::string_view kAbsentReply = "__ABSENT__";
inline constexpr int kTtlSeconds = 300;

enum class Answer : std::uint8_t {
  in_cache,
  in_database,
  not_in_database,  // the database was asked in vain
  declared_absent,  // by the agreed bytes
};

inline bool is_absent(Answer answer) {
  return answer == Answer::not_in_database || answer == Answer::declared_absent;
}

class CacheAside {
 public:
  CacheAside(const Endpoint& cache, const UsersDatabase& database)
      : cache_(open_cache(cache)), database_(database.reader()) {}

  // Throws if what it finds is another user's.
  Answer look_up(std::uint64_t id);

  Detours detours() const { return cache_->detours(); }

 private:
  std::unique_ptr<Cache> cache_;
  std::unique_ptr<UserReader> database_;
  std::string key_;
};

}  // namespace cuckooguard::demo
