#include "text/network.h"

#include <array>

#include <gtest/gtest.h>

namespace cuckooguard::text {
namespace {

using Ipv4 = std::array<unsigned char, 4>;
using Bytes = std::array<unsigned char, 16>;

TEST(Network, is_an_ipv4_address_however_the_socket_has_it) {
  EXPECT_EQ(Network::of_ipv4(Ipv4{10, 0, 0, 7}).text(), "10.0.0.7");
  const Bytes mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 7};
  EXPECT_EQ(Network::of_ipv6(mapped), Network::of_ipv4(Ipv4{10, 0, 0, 7}));
}

TEST(Network, is_the_first_half_of_an_ipv6_address) {
  Bytes address{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0x12, 0, 1, 2, 3, 4, 5, 6, 7, 8};
  const Network one = Network::of_ipv6(address);
  EXPECT_EQ(one.text(), "2001:db8:0:1200::/64");
  address[15] = 9;
  EXPECT_EQ(Network::of_ipv6(address), one) << "another host of the same network";
  address[7] = 1;
  EXPECT_NE(Network::of_ipv6(address), one);
}

TEST(Network, loopback_and_unix_are_networks_of_their_own) {
  const Bytes loopback{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(Network::of_ipv6(loopback).text(), "::/64");
  EXPECT_EQ(Network().text(), "unix");
  EXPECT_NE(Network(), Network::of_ipv6(loopback));
  EXPECT_NE(Network(), Network::of_ipv4(Ipv4{}));
}

}  // namespace
}  // namespace cuckooguard::text
