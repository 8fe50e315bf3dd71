#include "cli/redis_call.h"

#include <utility>

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include "config/password_file.h"
#include "io/tls_credentials.h"
#include "upstream/redis_words.h"

namespace cuckooguard::cli {

std::expected<std::vector<std::string>, std::string> Login::words() const {
  const std::string word = config::password_of(password_file, password);
  if (word.empty() && !password_file.empty()) {
    return std::unexpected(password_file + ": its first line must be the password");
  }
  if (word.empty()) {
    if (!user.empty()) {
      return std::unexpected("--user " + user +
                             " needs a password: --password-file FILE, or REDISCLI_AUTH");
    }
    return {};
  }
  return user.empty() ? std::vector<std::string>{"AUTH", word}
                      : std::vector<std::string>{"AUTH", user, word};
}

void RedisCall::FreeReply::operator()(redisReply* reply) const {
  freeReplyObject(reply);
}

void RedisCall::Close::operator()(redisContext* connection) const {
  redisFree(connection);
}

RedisCall::RedisCall(std::string address, Connection connection)
    : address_(std::move(address)), connection_(std::move(connection)) {}

std::expected<RedisCall::Connection, std::string> RedisCall::connect_by_tls(
    const config::Address& address,
    std::chrono::milliseconds timeout,
    const config::UpstreamTls& tls) {
  const io::TlsCredentials::Loaded credentials = io::TlsCredentials::load(tls);
  if (!credentials) {
    return std::unexpected(credentials.error());
  }
  upstream::TlsRelay::Opened relay =
      upstream::TlsRelay::open({.address = address, .connect_timeout = timeout}, *credentials);
  if (!relay) {
    return std::unexpected(fmt::format("{}: cannot connect: {}", address.text(), relay.error()));
  }
  redisContext* const connection = redisConnectFd((*relay)->take_socket());
  return Connection(connection, Close{std::move(*relay)});
}

std::expected<RedisCall, std::string> RedisCall::open(
    const config::Address& address,
    std::chrono::milliseconds timeout,
    const std::optional<config::UpstreamTls>& tls) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const std::chrono::microseconds rest = timeout - seconds;
  const timeval limit{.tv_sec = seconds.count(), .tv_usec = rest.count()};
  Connection connection;
  if (tls) {
    auto connected = connect_by_tls(address, timeout, *tls);
    if (!connected) {
      return std::unexpected(std::move(connected.error()));
    }
    connection = std::move(*connected);
  } else {
    connection.reset(address.is_unix()
                         ? redisConnectUnixWithTimeout(address.unix_path.c_str(), limit)
                         : redisConnectWithTimeout(address.host.c_str(), address.port, limit));
  }
  if (connection == nullptr) {
    return std::unexpected("there is not enough memory");
  }
  if (connection->err != 0) {
    return std::unexpected(
        fmt::format("{}: cannot connect: {}", address.text(), connection->errstr));
  }
  redisSetTimeout(connection.get(), limit);
  return RedisCall(address.text(), std::move(connection));
}

std::expected<RedisCall::Reply, std::string> RedisCall::call(
    const std::vector<std::string_view>& arguments) {
  Reply reply(upstream::RedisWords(arguments).call(*connection_).release());
  if (reply == nullptr) {
    return std::unexpected(fmt::format("{}: no reply: {}", address_, connection_->errstr));
  }
  return reply;
}

std::expected<RedisCall::Reply, std::string> RedisCall::ask(
    const std::vector<std::string_view>& arguments) {
  auto reply = call(arguments);
  if (reply && (*reply)->type == REDIS_REPLY_ERROR) {
    return std::unexpected(
        fmt::format("{}: {}", address_, std::string_view((*reply)->str, (*reply)->len)));
  }
  return reply;
}

}  // namespace cuckooguard::cli
