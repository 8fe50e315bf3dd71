// 127.0.0.1, as the kernel takes an address.
#pragma once

#include <cstdint>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace cuckooguard::harness {

// Port 0: any.
inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace cuckooguard::harness
