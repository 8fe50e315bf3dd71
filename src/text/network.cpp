#include "text/network.h"

#include <algorithm>
#include <array>

#include <arpa/inet.h>

namespace cuckooguard::text {
namespace {

std::uint64_t number_of(std::span<const unsigned char> bytes) {
  std::uint64_t number = 0;
  for (const unsigned char byte : bytes) {
    number = number << 8U | byte;
  }
  return number;
}

}  // namespace

Network Network::of_ipv4(std::span<const unsigned char, 4> address) {
  return Network(kIpv4 | number_of(address));
}

Network Network::of_ipv6(std::span<const unsigned char, 16> address) {
  constexpr std::array<unsigned char, 12> kOfIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::ranges::equal(address.first<12>(), kOfIpv4) ? of_ipv4(address.last<4>())
                                                          : Network(number_of(address.first<8>()));
}

std::string Network::text() const {
  if (number_ == kUnix) {
    return "unix";
  }
  const bool is_ipv4 = number_ >> 32U == kIpv4 >> 32U;
  std::array<unsigned char, sizeof(in6_addr)> address{};
  for (std::size_t i = 0; i < sizeof number_; ++i) {
    address.at(i) = static_cast<unsigned char>(number_ >> (8 * (sizeof number_ - 1 - i)));
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(is_ipv4 ? AF_INET : AF_INET6,
              address.data() + (is_ipv4 ? sizeof(in_addr) : 0),
              text.data(),
              text.size());
  return text.data() + std::string(is_ipv4 ? "" : "/64");
}

}  // namespace cuckooguard::text
