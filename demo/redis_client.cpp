#include "redis_client.h"

#include <charconv>
#include <stdexcept>

#include <hiredis/hiredis.h>

namespace cuckooguard::demo {
namespace {

constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0};

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

template <typename... Arguments>
Reply ask(redisContext& context, const char* format, Arguments... arguments) {
  Reply reply(static_cast<redisReply*>(redisCommand(&context, format, arguments...)));
  if (reply == nullptr) {
    throw std::runtime_error(std::string("Redis: ") + context.errstr);
  }
  if (reply->type == REDIS_REPLY_ERROR) {
    throw std::runtime_error("Redis says: " + std::string(reply->str, reply->len));
  }
  return reply;
}

}  // namespace

void RedisClient::Free::operator()(redisContext* context) const {
  redisFree(context);
}

RedisClient::RedisClient(const Endpoint& server)
    : context_(redisConnectWithTimeout(server.host.c_str(), server.port, kPatience)) {
  if (context_ == nullptr || context_->err != 0) {
    throw std::runtime_error("cannot connect to " + server.text());
  }
  redisSetTimeout(context_.get(), kPatience);
}

std::optional<std::string> RedisClient::get(std::string_view key) {
  const Reply reply = ask(*context_, "GET %b", key.data(), key.size());
  if (reply->type == REDIS_REPLY_NIL) {
    return std::nullopt;
  }
  return std::string(reply->str, reply->len);
}

void RedisClient::set(std::string_view key, std::string_view value, int ttl_seconds) {
  ask(*context_,
      "SET %b %b EX %d",
      key.data(),
      key.size(),
      value.data(),
      value.size(),
      ttl_seconds);
}

bool RedisClient::is_alive() {
  return ask(*context_, "PING")->type == REDIS_REPLY_STATUS;
}

bool RedisClient::is_empty() {
  const Reply reply = ask(*context_, "INFO keyspace");
  return std::string_view(reply->str, reply->len).find("keys=") == std::string_view::npos;
}

void RedisClient::start_over() {
  ask(*context_, "FLUSHALL");
  ask(*context_, "CONFIG RESETSTAT");
}

std::uint64_t RedisClient::gets() {
  const Reply reply = ask(*context_, "INFO commandstats");
  const std::string_view text(reply->str, reply->len);
  constexpr std::string_view kField = "cmdstat_get:calls=";
  const std::size_t at = text.find(kField);
  std::uint64_t calls = 0;
  if (at != std::string_view::npos) {
    std::from_chars(text.data() + at + kField.size(), text.data() + text.size(), calls);
  }
  return calls;
}

}  // namespace cuckooguard::demo
