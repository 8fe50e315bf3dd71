// Where SCAN is in a cluster: the cursor that a client has of a port which is one Redis to it.
//
//   63 ........ 25      24         23       22 .. 10   9 .. 0
//   node's cursor   is_second  has_moved   map tag    place of the node among the masters, by id
//
// The guard keeps nothing of a SCAN, so any guard in front of the cluster goes on with it, and what
// a client makes up is at worst a SCAN that begins elsewhere.
//
// A key that is moved from a master not yet scanned to one that was would be missed. So a pass over
// all masters counts only if the map's tag is what it was: who has which slots, and which are on
// their way. If some are on their way, it takes two such passes in a row: a key that the first has
// not found at its old node was at the new one by then. The tag is that of a map for which the
// nodes were asked after the last of them was scanned. (Of one master alone the map need not be
// new: a second one cannot join and get slots so soon.) Else another pass follows, in which keys
// are returned again, as SCAN may.
//
// Limits: a node's cursor below 2^39. Redis's own has no more bits than its table of keys; one that
//   has a table for each slot adds 14. Below 2^28 (Redis 7: 250 million keys on a node) ours is
//   below 2^53, which is exact also as a double.
// Source: Redis 7.0.15 dict.c (dictScan), Redis 8 and Valkey 8 kvstore.c (addDictIndexToCursor).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cuckooguard::routing {

struct ScanCursor {
  static constexpr unsigned kPlaceBits = 10;
  static constexpr unsigned kTagBits = 13;
  static constexpr unsigned kNodeShift = kPlaceBits + kTagBits + 2;
  static constexpr std::uint64_t kNodeMax = (std::uint64_t{1} << (64U - kNodeShift)) - 1;
  static constexpr std::uint64_t kPlaceMax = (1U << kPlaceBits) - 1;
  static constexpr std::uint64_t kTagMax = (1U << kTagBits) - 1;

  std::uint64_t node = 0;  // its cursor; 0: from its first key
  std::uint16_t place = 0;
  std::uint16_t tag = 0;   // never 0 of a map: a cursor of 0 is the beginning, and the end
  bool has_moved = false;  // something, in this pass
  bool is_second = false;  // nothing has in the one before, but slots were on their way

  static constexpr ScanCursor of(std::uint64_t number) {
    return {.node = number >> kNodeShift,
            .place = static_cast<std::uint16_t>(number & kPlaceMax),
            .tag = static_cast<std::uint16_t>((number >> kPlaceBits) & kTagMax),
            .has_moved = ((number >> (kNodeShift - 2)) & 1U) != 0,
            .is_second = ((number >> (kNodeShift - 1)) & 1U) != 0};
  }
  constexpr std::uint64_t number() const {
    return node << kNodeShift | std::uint64_t{is_second} << (kNodeShift - 1) |
           std::uint64_t{has_moved} << (kNodeShift - 2) | std::uint64_t{tag} << kPlaceBits | place;
  }
};

// A node's reply to SCAN: its cursor, and what stands behind that. Nothing: malformed.
struct ScanReply {
  std::uint64_t cursor = 0;
  std::string_view keys;  // the array, to the reply's end
};
std::optional<ScanReply> scan_reply(std::string_view reply);
std::string scan_reply_with(std::uint64_t cursor, std::string_view keys);

}  // namespace cuckooguard::routing
