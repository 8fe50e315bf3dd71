// Where a client connects from, as far as clients are told apart: an IPv4 address, the /64 of an
// IPv6 address (one site has all of its 2^64), or any Unix socket.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace cuckooguard::text {

class Network {
 public:
  Network() = default;  // a Unix socket, or not known
  // In network order. One of IPv6 that stands for an IPv4 address is that.
  static Network of_ipv4(std::span<const unsigned char, 4> address);
  static Network of_ipv6(std::span<const unsigned char, 16> address);

  // Differ wherever networks do.
  std::uint64_t number() const { return number_; }
  std::string text() const;  // "10.0.0.7", "2001:db8:0:1::/64", "unix"

  bool operator==(const Network&) const = default;

 private:
  // In 0::/8, of which only the loopback's ::/64 is anybody's.
  static constexpr std::uint64_t kIpv4 = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kUnix = std::uint64_t{2} << 32;

  explicit Network(std::uint64_t number) : number_(number) {}

  std::uint64_t number_ = kUnix;
};

}  // namespace cuckooguard::text
