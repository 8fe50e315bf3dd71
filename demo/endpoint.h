// Where a server listens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace cuckooguard::demo {

struct Endpoint {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  bool is_of_cluster = false;         // a node, which tells of the others
  std::filesystem::path unix_path{};  // in place of host and port, unless it is empty

  std::string text() const {
    return unix_path.empty() ? host + ":" + std::to_string(port) : unix_path.string();
  }
  bool operator==(const Endpoint&) const = default;

  // host:port. Errors: std::invalid_argument.
  static Endpoint parse(std::string_view text);
};

}  // namespace cuckooguard::demo
