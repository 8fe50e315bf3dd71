// Where a server listens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cuckooguard::demo {

struct Endpoint {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  bool is_of_cluster = false;  // a node, which tells of the others

  std::string text() const { return host + ":" + std::to_string(port); }
  bool operator==(const Endpoint&) const = default;

  // host:port. Errors: std::invalid_argument.
  static Endpoint parse(std::string_view text);
};

}  // namespace cuckooguard::demo
