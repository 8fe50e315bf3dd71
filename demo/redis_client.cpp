#include "redis_client.h"

#include <stdexcept>

#include "harness/redis_command.h"

namespace cuckooguard::demo {

std::string RedisClient::ask(std::initializer_list<std::string_view> arguments) {
  std::string reply = client_.call(arguments);
  if (reply.starts_with('-')) {
    throw std::runtime_error("Redis says: " + reply.substr(1, reply.size() - 3));
  }
  return reply;
}

std::optional<std::string> text_of(const std::string& reply) {
  if (reply == harness::kNil) {
    return std::nullopt;
  }
  const std::size_t begin = reply.find("\r\n") + 2;
  return reply.substr(begin, reply.size() - begin - 2);
}

std::optional<std::string> RedisClient::get(std::string_view key) {
  return text_of(ask({"GET", key}));
}

void RedisClient::set(std::string_view key, std::string_view value, int ttl_seconds) {
  ask({"SET", key, value, "EX", std::to_string(ttl_seconds)});
}

bool RedisClient::is_empty() {
  return !ask({"INFO", "keyspace"}).contains("keys=");
}

void RedisClient::start_over() {
  ask({"FLUSHALL"});
  ask({"CONFIG", "RESETSTAT"});
}

std::uint64_t RedisClient::gets() {
  return harness::calls_in(ask({"INFO", "commandstats"}), "get");
}

}  // namespace cuckooguard::demo
