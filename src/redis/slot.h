// Which of a cluster's slots a key is in: CRC16 of the key, or of its hash tag.
//
// The tag is what stands between the first '{' and the first '}' behind it, unless that is empty:
// {user:42}:cart and {user:42}:name are in one slot.
//
// Threads: any. Cost: a table look-up per byte that is hashed; at a key's size, which its client
//   chooses, no more than hashing it for the filter.
// Source: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec ("Key
//   distribution model", "Hash tags"); Redis 7.0.15 cluster.c (keyHashSlot), crc16.c (XMODEM).
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string_view>

namespace cuckooguard::redis {

inline constexpr std::uint16_t kSlots = 16384;

using Slots = std::bitset<kSlots>;  // by number

std::uint16_t slot_of(std::string_view key) noexcept;

// Whether Redis would run one command on all of them; true if there are none.
bool are_of_one_slot(std::span<const std::string_view> keys) noexcept;

}  // namespace cuckooguard::redis
