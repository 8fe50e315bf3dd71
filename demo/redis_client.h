// A connection to one Redis, or to the guard in front of it. See cache.h.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cache.h"
#include "endpoint.h"
#include "harness/raw_client.h"

namespace cuckooguard::demo {

// "$5\r\nvalue\r\n"; nothing of a null.
std::optional<std::string> text_of(const std::string& reply);
// The sum over all databases; 0 of an empty text.
std::uint64_t keys_in(std::string_view info_keyspace);

class RedisClient final : public Cache {
 public:
  explicit RedisClient(Endpoint server) : server_(std::move(server)) {}

  std::optional<std::string> get(std::string_view key) override;
  void set(std::string_view key, std::string_view value, int ttl_seconds) override;
  std::uint64_t keys() override;
  void start_over() override;
  std::uint64_t gets() override;

 private:
  std::string ask(std::initializer_list<std::string_view> arguments);  // its reply

  Endpoint server_;
  std::optional<harness::RawClient> client_;
};

}  // namespace cuckooguard::demo
