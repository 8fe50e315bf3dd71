// Where something listens, or is reached.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace cuckooguard::config {

struct Address {  // host:port or unix:/path
  std::string host;
  std::uint16_t port = 0;
  std::string unix_path;
  std::string tls_name{};  // for whom its certificate must be; empty: the host

  bool is_unix() const { return !unix_path.empty(); }
  const std::string& certified_name() const { return tls_name.empty() ? host : tls_name; }
  std::string text()
      const;  // as it is written in the file: 127.0.0.1:6379, [::1]:6379, unix:/run/redis.sock
  bool operator==(const Address&) const = default;
};

// Ports in a row, one for each node of a Redis Cluster, or for a master and each of its replicas.
struct NodePorts {
  std::string host;
  std::uint16_t first = 0;
  std::uint16_t last = 0;

  std::size_t count() const { return std::size_t{last} - first + 1; }
  std::string text() const;  // 127.0.0.1:7000-7063
  bool operator==(const NodePorts&) const = default;
};

}  // namespace cuckooguard::config
