#include "cli/redis_call.h"

#include <utility>

#include <fmt/format.h>

#include "config/password_file.h"
#include "text/try.h"

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

std::expected<RedisCall, std::string> RedisCall::open(
    const config::Address& address,
    std::chrono::milliseconds timeout,
    const std::optional<config::UpstreamTls>& tls) {
  io::TlsSlot credentials;
  if (tls) {
    credentials.set(TRY(io::TlsCredentials::load(*tls)));
  }
  auto redis = upstream::RedisClient::open(&credentials,
                                           {.address = address, .connect_timeout = timeout},
                                           timeout,
                                           upstream::RedisClient::Login::none);
  if (!redis) {
    return std::unexpected(
        fmt::format("{}: cannot connect: {}", address.text(), redis.error().why));
  }
  return RedisCall(address.text(), *std::move(redis));
}

std::expected<RedisCall::Reply, std::string> RedisCall::call(
    const std::vector<std::string_view>& arguments) {
  Reply reply = redis_->call(arguments);
  if (reply == nullptr) {
    return std::unexpected(fmt::format(
        "{}: {}{}", address_, redis_->has_timed_out() ? "" : "no reply: ", redis_->why_lost()));
  }
  return reply;
}

std::expected<RedisCall::Reply, std::string> RedisCall::ask(
    const std::vector<std::string_view>& arguments) {
  auto reply = call(arguments);
  if (reply && upstream::is_error(**reply)) {
    return std::unexpected(fmt::format("{}: {}", address_, upstream::text_of(**reply)));
  }
  return reply;
}

}  // namespace cuckooguard::cli
