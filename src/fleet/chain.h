// What a fleet's log says up to one of its entries: followers have their filters like that, and a
// builder that takes over goes on from there.
//
// Threads:   one. Lifetimes: the keys outlive it.
// Errors:    an entry that does not follow is a Break; the chain is as it was before.
// Limits:    what waits to be erased: a builder's rows that were deleted a moment ago.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fleet/entry.h"

namespace cuckooguard::fleet {

// Hashes, each so many times.
using Hashes = std::unordered_map<std::uint64_t, std::uint64_t>;
// False: it is not there.
bool take_one(Hashes& from, std::uint64_t hash);

struct TableState {
  std::uint64_t version = 0;
  bool is_ready = false;
  std::string why{};
  Digest digest{};
  Hashes deleted{};  // and not erased yet

  // All but `deleted`.
  void become(const TableChange& change);
};

// Where a chain begins: behind the entry with this number and tag.
struct ChainBegin {
  std::uint64_t seq = 0;
  std::string tag;
  std::uint64_t epoch = 0;
  std::string resume{};
  std::uint64_t list = 0;
  std::map<std::uint32_t, TableState> tables{};
};

struct Break {
  enum class Kind : std::uint8_t {
    old,     // it has been applied before: nothing is wrong
    gap,     // one before it is missing
    forged,  // nobody with the key has written it
    fork,    // it follows another one than is here
    wrong,   // its digest is not what comes of it
  };
  Kind kind = Kind::gap;
  std::string why;

  // Nothing that happens by itself.
  bool is_alarming() const { return kind == Kind::forged || kind == Kind::wrong; }
};

class Chain {
 public:
  Chain(ChainBegin begin, const VerifyingKeys& keys) : at_(std::move(begin)), keys_(keys) {}

  // The entry, which has been applied to all that this says.
  std::expected<Entry, Break> take(std::string_view bytes);

  const ChainBegin& at() const { return at_; }

 private:
  ChainBegin at_;
  const VerifyingKeys& keys_;
};

}  // namespace cuckooguard::fleet
