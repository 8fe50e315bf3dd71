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

#include "cli/flags.h"
#include "config/config.h"
#include "io/tls_credentials.h"
#include "resp/value.h"
#include "upstream/redis_client.h"

namespace cuckooguard::cli {

class RedisCall {
 public:
  using Reply = std::expected<resp::Value, std::string>;

  // `tls`: by TLS. Logged in.
  static std::expected<RedisCall, std::string> open(
      const config::Address& address,
      std::chrono::milliseconds timeout,
      const std::optional<config::UpstreamTls>& tls = std::nullopt,
      const Login& login = {});
  // As the guard connects to it: upstream.tls, and upstream.control's login.
  static std::expected<RedisCall, std::string> open(const config::Upstream& settings,
                                                    std::chrono::milliseconds timeout);

  // An error of Redis is a reply, too.
  Reply call(const std::vector<std::string_view>& arguments);
  // An error of Redis is an error.
  Reply ask(const std::vector<std::string_view>& arguments);

 private:
  static std::expected<RedisCall, std::string> connect(
      const config::Upstream& settings,
      const std::optional<config::UpstreamTls>& tls,
      std::chrono::milliseconds timeout,
      upstream::RedisClient::Login login);
  RedisCall(std::string address, std::unique_ptr<upstream::RedisClient> redis)
      : address_(std::move(address)), redis_(std::move(redis)) {}

  std::string address_;
  std::unique_ptr<upstream::RedisClient> redis_;
};

}  // namespace cuckooguard::cli
