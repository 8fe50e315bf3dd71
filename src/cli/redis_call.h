// One connection to a guard or a Redis for a command of ours that asks one thing and ends, by hiredis.
//
// Called by: ping.cpp, explain.cpp. Threads: one. Errors: a sentence that begins with the address. Limits: the time-out is for the
// connect, and again for each reply; looking a name up may take the system's own time.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

struct redisContext;
struct redisReply;

namespace cuckooguard::cli {

class RedisCall {
 public:
  struct FreeReply {
    void operator()(redisReply* reply) const;
  };
  using Reply = std::unique_ptr<redisReply, FreeReply>;

  static std::expected<RedisCall, std::string> open(const config::Address& address,
                                                    std::chrono::milliseconds timeout);

  // Never null; an error of Redis is a reply, too.
  std::expected<Reply, std::string> call(const std::vector<std::string_view>& arguments);

 private:
  struct Close {
    void operator()(redisContext* connection) const;
  };

  RedisCall(std::string address, std::unique_ptr<redisContext, Close> connection);

  std::string address_;
  std::unique_ptr<redisContext, Close> connection_;
};

}  // namespace cuckooguard::cli
