#include "formats/hashes.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::foreign {
namespace {

void append(std::string& to, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) {
    to.push_back(static_cast<char>((value >> (8 * i)) & 0xFF));
  }
}

// SMHasher's VerificationTest (KeysetTest.cpp): hashes of 0, 0 1, 0 1 2 ... with seeds 256, 255 ...
// one after the other, hashed with seed 0; the first four bytes of that.
using Hashed = std::function<std::string(std::string_view, std::uint32_t)>;
std::uint32_t verification(const Hashed& hash) {
  std::string keys;
  std::string hashes;
  for (std::uint32_t i = 0; i < 256; ++i) {
    hashes += hash(keys, 256 - i);
    keys.push_back(static_cast<char>(i));
  }
  const std::string last = hash(hashes, 0);
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) {
    value |= std::uint32_t{static_cast<unsigned char>(last[i])} << (8 * i);
  }
  return value;
}

// SMHasher's main.cpp: "Murmur2B", MurmurHash64A.
TEST(Hashes, murmur_hash_64a_has_the_verification_value_of_smhasher) {
  EXPECT_EQ(verification([](std::string_view bytes, std::uint32_t seed) {
              std::string hash;
              append(hash, murmur_hash_64a(bytes, seed));
              return hash;
            }),
            0x1F0D3804);
}

// SMHasher's main.cpp: "Murmur3F", MurmurHash3_x64_128.
TEST(Hashes, murmur3_has_the_verification_value_of_smhasher) {
  EXPECT_EQ(verification([](std::string_view bytes, std::uint32_t seed) {
              const Hash128 value = Murmur3X64(bytes, seed).hash();
              std::string hash;
              append(hash, value.low);
              append(hash, value.high);
              return hash;
            }),
            0x6384BA69);
}

// spaolacci/murmur3, murmur_test.go: the library that go-zero hashes with.
TEST(Hashes, murmur3_has_the_vectors_of_the_go_library) {
  const auto hash = [](std::string_view text) { return Murmur3X64(text).hash(); };
  EXPECT_EQ(hash(""), (Hash128{.low = 0, .high = 0}));
  EXPECT_EQ(hash("hello"), (Hash128{.low = 0xcbd8a7b341bd9b02, .high = 0x5b1e906a48ae1d19}));
  EXPECT_EQ(hash("hello, world"), (Hash128{.low = 0x342fac623a5ebc8e, .high = 0x4cdcbc079642414d}));
  EXPECT_EQ(hash("19 Jan 2038 at 3:14:07 AM"),
            (Hash128{.low = 0xb89e5988b737affc, .high = 0x664fc2950231b2cb}));
  EXPECT_EQ(hash("The quick brown fox jumps over the lazy dog."),
            (Hash128{.low = 0xcd99481f9ee902c9, .high = 0x695da1a38987b6e7}));
}

TEST(Hashes, one_more_byte_is_hashed_as_if_it_had_stood_there) {
  std::string text;
  for (int i = 0; i < 70; ++i) {
    for (const char last : {'\0', '\1', '\15', '\x7F', '\xFF'}) {
      EXPECT_EQ(Murmur3X64(text).hash_with(last), Murmur3X64(text + last).hash()) << i;
    }
    text.push_back(static_cast<char>(i * 37 + 200));
  }
}

// google/highwayhash, highwayhash_test.cc, kExpected128: "frozen, so the golden values must not
// change". The key is bytes 0 to 31, the n-th input bytes 0 to n - 1.
TEST(Hashes, highway_hash_128_has_its_frozen_values) {
  const HighwayKey key{
      0x0706050403020100, 0x0F0E0D0C0B0A0908, 0x1716151413121110, 0x1F1E1D1C1B1A1918};
  const std::vector<std::pair<std::size_t, Hash128>> expected{
      {0, {.low = 0x0FED268F9D8FFEC7, .high = 0x33565E767F093E6F}},
      {1, {.low = 0xD6B0A8893681E7A8, .high = 0xDC291DF9EB9CDCB4}},
      {2, {.low = 0x3D15AD265A16DA04, .high = 0x78085638DC32E868}},
      {3, {.low = 0x0607621B295F0BEB, .high = 0xBFE69A0FD9CEDD79}},
      {4, {.low = 0x26399EB46DACE49E, .high = 0x2E922AD039319208}},
      {7, {.low = 0x2A401FCA697171B4, .high = 0xBE1F03FF9F02796C}},
      {15, {.low = 0x142237A52BC4AF54, .high = 0xE0796C0B6E26BCD7}},
      {16, {.low = 0x414460FFD5A401AD, .high = 0x029EA3D5019F18C8}},
      {17, {.low = 0xC52A4B96C51C9962, .high = 0xECB878B1169B5EA0}},
      {19, {.low = 0x8AC49D0AE5C0CBF5, .high = 0x3FFDBF8DF51D7C93}},
      {31, {.low = 0x06E7B465E8A57C29, .high = 0x52415E3A07F5D446}},
      {32, {.low = 0x1984DF66C1434AAA, .high = 0x16FC1958F9B3E4B9}},
      {33, {.low = 0x111678AFE0C6C36C, .high = 0xF958B59DE5A2849D}},
      {47, {.low = 0x39C27A27C86D9520, .high = 0x8DB620A45160932E}},
      {63, {.low = 0x74BD7018022F3EF0, .high = 0x3AEA94A8AD5F4BCB}},
      {64, {.low = 0x98BB1F7198D4C4F2, .high = 0xE0BC0571DE918FC8}}};
  for (const auto& [size, hash] : expected) {
    std::string input;
    for (std::size_t i = 0; i < size; ++i) {
      input.push_back(static_cast<char>(i));
    }
    EXPECT_EQ(highway_hash_128(input, key), hash) << size;
  }
}

// jandrewrogers/MetroHash, class MetroHash64: test_string, test_seed_0 and _1, little-endian. The
// 63 bytes take every branch.
TEST(Hashes, metro_hash_64_has_the_values_of_its_author) {
  constexpr std::string_view kText =
      "012345678901234567890123456789012345678901234567890123456789012";
  EXPECT_EQ(metro_hash_64(kText, 0), 0xAD4B7006AE3D756B);
  EXPECT_EQ(metro_hash_64(kText, 1), 0xDFB8B9F41C480D3B);
}

}  // namespace
}  // namespace cuckooguard::foreign
