#include "cli/redis_call.h"

#include <utility>

#include <fmt/format.h>

#include "text/try.h"

namespace cuckooguard::cli {

std::expected<RedisCall, std::string> RedisCall::connect(
    const config::Upstream& settings,
    const std::optional<config::UpstreamTls>& tls,
    std::chrono::milliseconds timeout,
    upstream::RedisClient::Login login) {
  io::TlsSlot credentials;
  if (tls) {
    credentials.set(TRY(io::TlsCredentials::load(*tls)));
  }
  auto redis = upstream::RedisClient::open(&credentials, settings, timeout, login);
  if (!redis) {
    return std::unexpected(fmt::format("{}: {}{}",
                                       settings.address.text(),
                                       redis.error().is_connected ? "" : "cannot connect: ",
                                       redis.error().why));
  }
  return RedisCall(settings.address.text(), *std::move(redis));
}

std::expected<RedisCall, std::string> RedisCall::open(const config::Upstream& settings,
                                                      std::chrono::milliseconds timeout) {
  return connect(settings, settings.tls, timeout, upstream::RedisClient::Login::as_control);
}

std::expected<RedisCall, std::string> RedisCall::open(const config::Address& address,
                                                      std::chrono::milliseconds timeout,
                                                      const std::optional<config::UpstreamTls>& tls,
                                                      const Login& login) {
  const auto login_words = TRY(login.words());
  RedisCall opened = TRY(connect({.address = address, .connect_timeout = timeout},
                                 tls,
                                 timeout,
                                 upstream::RedisClient::Login::none));
  if (!login_words.empty()) {
    TRY(opened.ask({login_words.begin(), login_words.end()}));
  }
  return opened;
}

RedisCall::Reply RedisCall::call(const std::vector<std::string_view>& arguments) {
  const upstream::Reply reply = redis_->call(arguments);
  if (reply == nullptr) {
    return std::unexpected(fmt::format(
        "{}: {}{}", address_, redis_->has_timed_out() ? "" : "no reply: ", redis_->why_lost()));
  }
  return upstream::value_of(*reply);
}

RedisCall::Reply RedisCall::ask(const std::vector<std::string_view>& arguments) {
  auto reply = call(arguments);
  if (reply && reply->is_error()) {
    return std::unexpected(fmt::format("{}: {}", address_, reply->text));
  }
  return reply;
}

}  // namespace cuckooguard::cli
