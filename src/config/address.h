// Where something listens.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <string>

namespace cuckooguard::config {

struct Address {  // host:port or unix:/path
  std::string host;
  std::uint16_t port = 0;
  std::string unix_path;

  bool is_unix() const { return !unix_path.empty(); }
  std::string text()
      const;  // as it is written in the file: 127.0.0.1:6379, [::1]:6379, unix:/run/redis.sock
  bool operator==(const Address&) const = default;
};

}  // namespace cuckooguard::config
