#include "formats/hashes.h"

#include <algorithm>
#include <bit>

namespace cuckooguard::foreign {

namespace {

// Little-endian, whatever the machine.
template <typename T>
T load(std::string_view from) {
  std::array<char, sizeof(T)> bytes{};
  std::ranges::copy(from.substr(0, sizeof(T)), bytes.begin());
  T value = std::bit_cast<T>(bytes);
  if constexpr (std::endian::native == std::endian::big) {
    value = std::byteswap(value);
  }
  return value;
}

template <std::size_t N>
std::string_view view_of(const std::array<char, N>& bytes) {
  return {bytes.data(), bytes.size()};
}

template <typename T>
T take(std::string_view& bytes) {
  const T value = load<T>(bytes);
  bytes.remove_prefix(sizeof(T));
  return value;
}

std::uint64_t murmur3_final(std::uint64_t x) {
  x = (x ^ (x >> 33U)) * 0xFF51AFD7ED558CCD;
  x = (x ^ (x >> 33U)) * 0xC4CEB9FE1A85EC53;
  return x ^ (x >> 33U);
}

constexpr std::uint64_t kMurmur3First = 0x87C37B91114253D5;
constexpr std::uint64_t kMurmur3Second = 0x4CF5AD432745937F;

std::uint64_t murmur3_low_word(std::uint64_t k) {
  return std::rotl(k * kMurmur3First, 31) * kMurmur3Second;
}

std::uint64_t murmur3_high_word(std::uint64_t k) {
  return std::rotl(k * kMurmur3Second, 33) * kMurmur3First;
}

void mix_block(std::string_view block, std::uint64_t& h1, std::uint64_t& h2) {
  h1 ^= murmur3_low_word(load<std::uint64_t>(block));
  h1 = (std::rotl(h1, 27) + h2) * 5 + 0x52DCE729;
  h2 ^= murmur3_high_word(load<std::uint64_t>(block.substr(sizeof(std::uint64_t))));
  h2 = (std::rotl(h2, 31) + h1) * 5 + 0x38495AB5;
}

Hash128 murmur3_end(std::uint64_t h1, std::uint64_t h2, std::uint64_t length) {
  h1 ^= length;
  h2 ^= length;
  h1 += h2;
  h2 += h1;
  h1 = murmur3_final(h1);
  h2 = murmur3_final(h2);
  h1 += h2;
  h2 += h1;
  return {.low = h1, .high = h2};
}

// The state of HighwayHash: four lanes of four words.
class Highway {
 public:
  using Lanes = std::array<std::uint64_t, 4>;
  static constexpr std::size_t kPacket = 32;

  explicit Highway(const HighwayKey& key) {
    for (std::size_t i = 0; i < key.size(); ++i) {
      v0_[i] = mul0_[i] ^ key[i];
      v1_[i] = mul1_[i] ^ std::rotl(key[i], 32);
    }
  }

  void update(std::string_view packet) {
    Lanes words{};
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = load<std::uint64_t>(packet.substr(i * sizeof(std::uint64_t)));
    }
    update(words);
  }

  // What is left behind the last whole packet: 1 to 31 bytes.
  void update_remainder(std::string_view rest) {
    const std::uint64_t size = rest.size();
    for (std::size_t i = 0; i < v0_.size(); ++i) {
      v0_[i] += (size << 32U) + size;
      v1_[i] = rotate_halves(v1_[i], static_cast<int>(size));
    }
    std::array<char, kPacket> packet{};
    const std::size_t whole = size & ~std::size_t{3};  // four bytes at a time
    const std::size_t odd = size & 3U;
    std::copy_n(rest.begin(), whole, packet.begin());
    if (size >= 16) {  // the last four bytes, some of them once more
      std::copy_n(rest.end() - 4, 4, packet.end() - 4);
    } else if (odd != 0) {  // first, middle and last of one to three
      packet[16] = rest[whole];
      packet[17] = rest[whole + (odd >> 1U)];
      packet[18] = rest.back();
    }
    update(view_of(packet));
  }

  Hash128 finish() {
    for (int round = 0; round < 6; ++round) {
      update({std::rotl(v0_[2], 32),
              std::rotl(v0_[3], 32),
              std::rotl(v0_[0], 32),
              std::rotl(v0_[1], 32)});
    }
    return {.low = v0_[0] + mul0_[0] + v1_[2] + mul1_[2],
            .high = v0_[1] + mul0_[1] + v1_[3] + mul1_[3]};
  }

 private:
  static std::uint64_t rotate_halves(std::uint64_t word, int by) {
    const auto low = std::rotl(static_cast<std::uint32_t>(word), by);
    const auto high = std::rotl(static_cast<std::uint32_t>(word >> 32U), by);
    return (std::uint64_t{high} << 32U) | low;
  }

  // A byte of the 16 of (low, high) for each of the 16 to be added to.
  static void add_zipped(std::uint64_t low, std::uint64_t high, std::uint64_t* to) {
    static constexpr std::array<unsigned, 16> kFrom{
        3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7};
    const auto byte_at = [&](unsigned at) {
      return ((at < 8 ? low : high) >> (at % 8 * 8)) & 0xFFU;
    };
    for (unsigned half = 0; half < 2; ++half) {
      std::uint64_t word = 0;
      for (unsigned i = 0; i < 8; ++i) {
        word |= byte_at(kFrom[half * 8 + i]) << (i * 8);
      }
      to[half] += word;
    }
  }

  void update(const Lanes& words) {
    constexpr std::uint64_t kLow = 0xFFFFFFFF;
    for (std::size_t i = 0; i < words.size(); ++i) {
      v1_[i] += words[i] + mul0_[i];
      mul0_[i] ^= (v1_[i] & kLow) * (v0_[i] >> 32U);
      v0_[i] += mul1_[i];
      mul1_[i] ^= (v0_[i] & kLow) * (v1_[i] >> 32U);
    }
    add_zipped(v1_[0], v1_[1], &v0_[0]);
    add_zipped(v1_[2], v1_[3], &v0_[2]);
    add_zipped(v0_[0], v0_[1], &v1_[0]);
    add_zipped(v0_[2], v0_[3], &v1_[2]);
  }

  // Digits of pi.
  Lanes mul0_{0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3};
  Lanes mul1_{0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377};
  Lanes v0_{};
  Lanes v1_{};
};

}  // namespace

std::uint64_t murmur_hash_64a(std::string_view bytes, std::uint64_t seed) noexcept {
  constexpr std::uint64_t kMultiplier = 0xC6A4A7935BD1E995;
  std::uint64_t hash = seed ^ (bytes.size() * kMultiplier);
  while (bytes.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word = take<std::uint64_t>(bytes) * kMultiplier;
    word = (word ^ (word >> 47U)) * kMultiplier;
    hash = (hash ^ word) * kMultiplier;
  }
  if (!bytes.empty()) {
    std::array<char, sizeof(std::uint64_t)> rest{};
    std::ranges::copy(bytes, rest.begin());
    hash = (hash ^ load<std::uint64_t>(view_of(rest))) * kMultiplier;
  }
  hash = (hash ^ (hash >> 47U)) * kMultiplier;
  return hash ^ (hash >> 47U);
}

Murmur3X64::Murmur3X64(std::string_view bytes, std::uint32_t seed) noexcept
    : h1_(seed), h2_(seed), length_(bytes.size()) {
  for (; bytes.size() >= kBlock; bytes.remove_prefix(kBlock)) {
    mix_block(bytes, h1_, h2_);
  }
  std::ranges::copy(bytes, tail_.begin());
}

Hash128 Murmur3X64::hash() const noexcept {
  // A tail of zeros mixes in nothing, as none at all.
  const std::uint64_t h1 = h1_ ^ murmur3_low_word(load<std::uint64_t>(view_of(tail_)));
  const std::uint64_t h2 = h2_ ^ murmur3_high_word(load<std::uint64_t>(view_of(tail_).substr(8)));
  return murmur3_end(h1, h2, length_);
}

Hash128 Murmur3X64::hash_with(char last) const noexcept {
  Murmur3X64 longer = *this;
  const std::size_t at = length_ % kBlock;
  longer.tail_[at] = last;
  ++longer.length_;
  if (at + 1 == kBlock) {
    mix_block(view_of(longer.tail_), longer.h1_, longer.h2_);
    longer.tail_ = {};
  }
  return longer.hash();
}

Hash128 highway_hash_128(std::string_view bytes, const HighwayKey& key) noexcept {
  Highway state(key);
  for (; bytes.size() >= Highway::kPacket; bytes.remove_prefix(Highway::kPacket)) {
    state.update(bytes);
  }
  if (!bytes.empty()) {
    state.update_remainder(bytes);
  }
  return state.finish();
}

std::uint64_t metro_hash_64(std::string_view bytes, std::uint64_t seed) noexcept {
  constexpr std::uint64_t k0 = 0xD6D018F5;
  constexpr std::uint64_t k1 = 0xA2AA033B;
  constexpr std::uint64_t k2 = 0x62992FC1;
  constexpr std::uint64_t k3 = 0x30BC5B29;
  std::uint64_t hash = (seed + k2) * k0;
  if (bytes.size() >= 32) {
    std::uint64_t a = hash;
    std::uint64_t b = hash;
    std::uint64_t c = hash;
    std::uint64_t d = hash;
    while (bytes.size() >= 32) {
      a = std::rotr(a + take<std::uint64_t>(bytes) * k0, 29) + c;
      b = std::rotr(b + take<std::uint64_t>(bytes) * k1, 29) + d;
      c = std::rotr(c + take<std::uint64_t>(bytes) * k2, 29) + a;
      d = std::rotr(d + take<std::uint64_t>(bytes) * k3, 29) + b;
    }
    c ^= std::rotr((a + d) * k0 + b, 37) * k1;
    d ^= std::rotr((b + c) * k1 + a, 37) * k0;
    a ^= std::rotr((a + c) * k0 + d, 37) * k1;
    b ^= std::rotr((b + d) * k1 + c, 37) * k0;
    hash += a ^ b;
  }
  if (bytes.size() >= 16) {
    std::uint64_t a = std::rotr(hash + take<std::uint64_t>(bytes) * k2, 29) * k3;
    std::uint64_t b = std::rotr(hash + take<std::uint64_t>(bytes) * k2, 29) * k3;
    a ^= std::rotr(a * k0, 21) + b;
    b ^= std::rotr(b * k3, 21) + a;
    hash += b;
  }
  const auto mix = [&hash](std::uint64_t word, int by) {
    hash += word * k3;
    hash ^= std::rotr(hash, by) * k1;
  };
  if (bytes.size() >= 8) {
    mix(take<std::uint64_t>(bytes), 55);
  }
  if (bytes.size() >= 4) {
    mix(take<std::uint32_t>(bytes), 26);
  }
  if (bytes.size() >= 2) {
    mix(take<std::uint16_t>(bytes), 48);
  }
  if (!bytes.empty()) {
    mix(take<std::uint8_t>(bytes), 37);
  }
  hash = (hash ^ std::rotr(hash, 28)) * k0;
  return hash ^ std::rotr(hash, 29);
}

}  // namespace cuckooguard::foreign
