// An entry of a fleet's log: what a builder has done to its filters since the one before.
//
// Entries are a chain: each names the tag of its predecessor, and so the state that it is to be
// applied to. Their numbers are dense. A tag is the hash of the text; the signature is of the tag.
//
//   text    u64 seq, u64 epoch, 32 bytes before, text resume, text root, u64 list,
//           u32 how many tables, each: TableChange
//   bytes   text, 64 bytes of signature
//
// Threads:   plain values and free functions. Lifetimes: none.
// Errors:    bytes that are no entry, or that no builder has signed, are nothing.
// Limits:    kEntryBytesMax; kTablesMax tables. A set of hashes is not limited by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/signature.h"

namespace cuckooguard::fleet {

inline constexpr std::size_t kEntryBytesMax = std::size_t{8} << 20U;
inline constexpr std::uint32_t kTablesMax = 65536;

// What a table's filter has been given, whatever it makes of it: how many, and the sum of their
// hashes modulo 2^128. In which order does not matter.
struct Digest {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t sum_high = 0;

  void add(std::uint64_t hash) {
    ++count;
    sum += hash;
    sum_high += sum < hash ? 1U : 0U;
  }
  void remove(std::uint64_t hash) {
    --count;
    sum_high -= sum < hash ? 1U : 0U;
    sum -= hash;
  }
  bool operator==(const Digest&) const = default;
};

// A table is known by a number, which the list of tables gives it. Its filter is made anew from
// time to time: its version is another one then, and both are given what follows.
//
// A row that goes is deleted first, by its transaction; it is erased from the filter when its
// deletion is known to be visible to all, which may be some entries later.
struct TableChange {
  std::uint32_t table = 0;
  std::uint64_t version = 0;  // that is to be used
  bool is_ready = false;      // else its namespace passes
  std::string why{};          // if it is not; for people
  std::vector<std::uint64_t> inserted{};
  std::vector<std::uint64_t> deleted{};  // and will be erased
  std::vector<std::uint64_t> erased{};   // after the insertions
  Digest digest{};                       // after all that
};

struct Entry {
  std::uint64_t seq = 0;
  std::uint64_t epoch = 0;  // of the builder that has made it
  std::string before;       // the predecessor's tag
  std::string resume;       // how far the database's log is in it, as a builder goes on from there
  std::string root;         // of the questions that it answers; empty: none
  std::uint64_t list = 0;   // which tables there are: the number of their list
  std::vector<TableChange> tables;
};

std::string text_of(const Entry& entry);

struct SignedEntry {
  Entry entry;
  std::string tag;
};
// What goes into the log; the tag is that of the text.
std::string signed_bytes(std::string_view text, const SigningKey& key);
std::optional<SignedEntry> read_entry(std::string_view bytes, const VerifyingKeys& keys);

}  // namespace cuckooguard::fleet
