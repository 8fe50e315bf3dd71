#include "upstream/redis_calls.h"

#include <utility>

#include "upstream/redis_words.h"

namespace cuckooguard::upstream {
namespace {

using Kind = resp::Value::Kind;

// hiredis has bounded the depth.
resp::Value value_of(const redisReply& reply) {  // NOLINT(misc-no-recursion)
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      return {.kind = Kind::number, .number = reply.integer};
    case REDIS_REPLY_ERROR:
      return {.kind = Kind::error, .text = std::string(text_of(reply))};
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      return {.kind = Kind::text, .text = std::string(text_of(reply))};
    case REDIS_REPLY_ARRAY:
      break;
    default:
      return {};
  }
  resp::Value list{.kind = Kind::list};
  for (const redisReply* const element : elements_of(reply)) {
    list.list.push_back(value_of(*element));
  }
  return list;
}

}  // namespace

std::expected<RedisCalls, std::string> RedisCalls::open(const config::Upstream& settings,
                                                        const io::TlsSlot& tls) {
  const RedisConnector connector(settings, &tls, kCallTimeout);
  std::string why;
  RedisConnector::Redis redis = connector.open(why);
  if (!redis) {
    return std::unexpected(settings.address.text() + ": " + why);
  }
  if (auto refusal = connector.log_in(*redis)) {
    return std::unexpected(settings.address.text() + ": " + refusal->why);
  }
  return RedisCalls(std::move(redis));
}

std::expected<resp::Value, std::string> RedisCalls::call(
    std::span<const std::string_view> command) {
  const Reply reply = RedisWords(command).call(*redis_);
  if (!reply) {
    return std::unexpected(why_failed(*redis_, kCallTimeout));
  }
  return value_of(*reply);
}

}  // namespace cuckooguard::upstream
