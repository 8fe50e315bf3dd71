#include "text/network.h"

#include <algorithm>
#include <string_view>

namespace cuckooguard::text {
namespace {

constexpr unsigned kByteBits = 8;
constexpr unsigned kGroupBits = 16;
constexpr unsigned kGroups = 4;  // of a /64
constexpr std::string_view kHex = "0123456789abcdef";

std::uint64_t number_of(std::span<const unsigned char> bytes) {
  std::uint64_t number = 0;
  for (const unsigned char byte : bytes) {
    number = number << kByteBits | byte;
  }
  return number;
}

std::string group_text(std::uint64_t group) {
  std::string text;
  for (unsigned shift = kGroupBits; shift != 0;) {
    shift -= 4;
    const std::uint64_t digit = group >> shift & 15U;
    if (digit != 0 || !text.empty() || shift == 0) {
      text += kHex[digit];
    }
  }
  return text;
}

}  // namespace

Network Network::of_ipv6(std::span<const unsigned char, 16> address) {
  constexpr std::array<unsigned char, 12> kOfIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::ranges::equal(address.first<12>(), kOfIpv4)
             ? of_ipv4(static_cast<std::uint32_t>(number_of(address.last<4>())))
             : Network(number_of(address.first<8>()));
}

std::string Network::text() const {
  if (number_ == kUnix) {
    return "unix";
  }
  std::string text;
  if (number_ >> 32U == kIpv4 >> 32U) {
    for (unsigned shift = 4 * kByteBits; shift != 0;) {
      shift -= kByteBits;
      text += std::to_string(number_ >> shift & 0xffU) + (shift == 0 ? "" : ".");
    }
    return text;
  }
  if (number_ == 0) {
    return "::/64";
  }
  for (unsigned group = kGroups; group != 0;) {
    --group;
    text += group_text(number_ >> (kGroupBits * group) & 0xffffU) + ":";
  }
  return text + ":/64";
}

}  // namespace cuckooguard::text
