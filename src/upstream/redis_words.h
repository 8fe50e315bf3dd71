// A command's words, as hiredis takes them.
//
// Threads: a plain value. Lifetimes: views of the words. Errors: none. Limits: none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {

class RedisWords {
 public:
  // Of strings or views.
  explicit RedisWords(const auto& words) {
    for (const std::string_view word : words) {
      texts_.push_back(word.data());
      sizes_.push_back(word.size());
    }
  }

  // Null: the connection failed.
  Reply call(redisContext& redis) {
    return Reply(
        static_cast<redisReply*>(redisCommandArgv(&redis, count(), texts_.data(), sizes_.data())));
  }
  // Sent with the next call, or when it is written. False: there is no memory.
  bool append_to(redisContext& redis) {
    return redisAppendCommandArgv(&redis, count(), texts_.data(), sizes_.data()) == REDIS_OK;
  }

 private:
  int count() const { return static_cast<int>(texts_.size()); }

  std::vector<const char*> texts_;
  std::vector<std::size_t> sizes_;
};

inline void append(redisContext& redis, const std::vector<std::string>& words) {
  RedisWords(words).append_to(redis);
}

// To what was appended; null: the connection failed.
inline Reply next_reply(redisContext& redis) {
  void* reply = nullptr;
  return redisGetReply(&redis, &reply) == REDIS_OK ? Reply(static_cast<redisReply*>(reply))
                                                   : nullptr;
}

}  // namespace cuckooguard::upstream
