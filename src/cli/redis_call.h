// One connection to a guard or a Redis for a command of ours that asks one thing and ends, by
// hiredis.
//
// Threads: one. Errors: a sentence that begins with the address. Limits: the time-out is for the
// connect, and again for each reply; looking a name up may take the system's own time.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "upstream/tls_relay.h"

struct redisContext;
struct redisReply;

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
  struct FreeReply {
    void operator()(redisReply* reply) const;
  };
  using Reply = std::unique_ptr<redisReply, FreeReply>;

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
  struct Close {
    void operator()(redisContext* connection) const;
    std::shared_ptr<upstream::TlsRelay> relay;  // of its socket, by TLS
  };
  using Connection = std::unique_ptr<redisContext, Close>;

  static std::expected<Connection, std::string> connect_by_tls(const config::Address& address,
                                                               std::chrono::milliseconds timeout,
                                                               const config::UpstreamTls& tls);

  RedisCall(std::string address, Connection connection);

  std::string address_;
  Connection connection_;
};

}  // namespace cuckooguard::cli
