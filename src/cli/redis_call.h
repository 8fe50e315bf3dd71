// One connection to a guard or a Redis for a command of ours that asks one thing and ends.
//
// Threads: one. Errors: a sentence that begins with the address. Limits: the time-out is for the
// connect, and again for each reply.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "io/tls_credentials.h"
#include "upstream/redis_client.h"

namespace cuckooguard::cli {

// As whom Redis is asked.
struct Login {
  std::string user{};           // empty: the default one
  std::string password_file{};  // its first line is the password
  std::string password{};       // if there is no such file; empty, and no user: no AUTH

  // AUTH and its arguments; nothing: it is not needed.
  std::expected<std::vector<std::string>, std::string> words() const;
};

class RedisCall {
 public:
  using Reply = upstream::Reply;

  // `tls`: by TLS.
  static std::expected<RedisCall, std::string> open(
      const config::Address& address,
      std::chrono::milliseconds timeout,
      const std::optional<config::UpstreamTls>& tls = std::nullopt);

  // Never null; an error of Redis is a reply, too.
  std::expected<Reply, std::string> call(const std::vector<std::string_view>& arguments);
  // An error of Redis is an error.
  std::expected<Reply, std::string> ask(const std::vector<std::string_view>& arguments);

 private:
  RedisCall(std::string address, std::unique_ptr<upstream::RedisClient> redis)
      : address_(std::move(address)), redis_(std::move(redis)) {}

  std::string address_;
  std::unique_ptr<upstream::RedisClient> redis_;
};

}  // namespace cuckooguard::cli
