// What a FilterLog has Redis do at one blow: its keys, and its scripts in Lua.
//
// Each is harmless when what it is told does not hold any more, and says so. All keys are in one
// slot of a cluster by their hash tag; those of a snapshot's pieces are made from KEYS' first.
//
// Threads: plain values. Errors: what has failed with an error of Redis has not appended anything.
// Source: https://redis.io/docs/latest/develop/interact/programmability/eval-intro.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cuckooguard::upstream {

inline constexpr std::uint64_t kPiecesMax = 65536;
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;

struct LogKeys {
  explicit LogKeys(const std::string& prefix);

  std::string piece(std::string_view set, std::uint64_t number) const {
    return pieces + std::string(set) + ":" + std::to_string(number);
  }

  std::string log;
  std::string meta;
  std::string lock;
  std::string pieces;  // of snapshots, in two sets
};

// KEYS meta log lock pieces; ARGV generation, proof. Begins this generation if there is none.
// Says which one there is: generation, proof, snapshot, set.
std::string_view begin_script();
// KEYS meta log; ARGV generation, after, window, writer, counter, body, tag. The entry's number; 0:
// it is another generation; -1: the writer is too far behind, or knows of what is not there.
std::string_view append_script();
// KEYS meta lock piece; ARGV token, set, bytes, milliseconds that piece and lock stay if no more
// come. 0: the lock is not the token's, or the set is the one that stands.
std::string_view put_piece_script();
// KEYS lock; ARGV token.
std::string_view unlock_script();
// KEYS meta log lock pieces; ARGV generation, token, set, how many pieces, snapshot, its seq, its
// id, the tag of that entry. 0: it does not stand. What is behind it in the log goes, and the
// pieces of the one before.
std::string_view stand_script();

}  // namespace cuckooguard::upstream
