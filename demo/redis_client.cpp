#include "redis_client.h"

#include <charconv>
#include <stdexcept>

#include "harness/interrupt.h"
#include "harness/redis_command.h"

namespace cuckooguard::demo {

std::string RedisClient::ask(std::initializer_list<std::string_view> arguments) {
  std::string reply;
  try {
    if (!client_) {
      client_.emplace(server_.unix_path.empty()
                          ? harness::RawClient::to_host(server_.host, server_.port)
                          : harness::RawClient::to_unix(server_.unix_path));
    }
    reply = client_->call(arguments);
  } catch (const harness::Interrupted&) {
    throw;
  } catch (const std::runtime_error& trouble) {
    client_.reset();
    throw Unavailable(trouble.what());
  }
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

std::uint64_t keys_in(std::string_view info_keyspace) {
  constexpr std::string_view kName = "keys=";
  std::uint64_t all = 0;
  for (std::size_t at = info_keyspace.find(kName); at != std::string_view::npos;
       at = info_keyspace.find(kName, at)) {
    at += kName.size();
    std::uint64_t keys = 0;
    std::from_chars(info_keyspace.data() + at, info_keyspace.data() + info_keyspace.size(), keys);
    all += keys;
  }
  return all;
}

std::optional<std::string> RedisClient::get(std::string_view key) {
  return text_of(ask({"GET", key}));
}

void RedisClient::set(std::string_view key, std::string_view value, int ttl_seconds) {
  ask({"SET", key, value, "EX", std::to_string(ttl_seconds)});
}

std::uint64_t RedisClient::keys() {
  return keys_in(ask({"INFO", "keyspace"}));
}

void RedisClient::start_over() {
  ask({"FLUSHALL"});
  ask({"CONFIG", "RESETSTAT"});
}

std::uint64_t RedisClient::gets() {
  return harness::calls_in(ask({"INFO", "commandstats"}), "get");
}

}  // namespace cuckooguard::demo
