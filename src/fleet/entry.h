// An entry of a fleet's log: what a builder has done to its filters since the one before.
//
// Entries are a chain: each names the tag of its predecessor, and so the state that it is to be
// applied to. Their numbers are dense. A tag is the hash of the text; the signature is of the tag.
//
//   text    u64 seq, u64 epoch, 32 bytes before, text position, text end, text root,
//           u64 trial_below, text list, u32 how many tables, each: TableChange, by their numbers
//           and none twice: its digest is that of all that the entry does to it
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

#include "filter/cuckoo_filter.h"
#include "fleet/signature.h"
#include "text/little_endian.h"

namespace cuckooguard::fleet {

inline constexpr std::size_t kEntryBytesMax = std::size_t{64} << 20U;
inline constexpr std::uint32_t kTablesMax = 65536;

using filter::Digest;

// Builders of the same database give a table the same number.
using TableId = std::uint64_t;

// A row that goes is deleted first, by its transaction; it is erased from the filter when its
// deletion is known to be visible to all, which may be some entries later.
struct TableChange {
  TableId table = 0;
  // Of its rows: the number of the entry in which they are as a snapshot has them; each later entry
  // says what comes to them. 0: there is none, and what happens to the table is not said.
  std::uint64_t version = 0;
  std::uint64_t definition = 0;  // of that version's rows (source/publication.h); 0: not known
  bool is_on_trial = false;      // only Entry::trial_below compare it, the others' keys pass
  bool is_ready = false;         // else its keys pass
  std::string why{};             // if it is not; for people
  std::uint64_t largest_id = 0;  // that is known, of ids that grow
  std::string isolated{};        // rows; empty: those of before
  std::vector<std::uint64_t> inserted{};
  std::vector<std::uint64_t> deleted{};  // and will be erased
  std::vector<std::uint64_t> erased{};   // after the insertions
  Digest digest{};                       // after all that
};

// What it comes to for a filter: without what comes and goes, of which a filter would keep copies.
struct NetChange {
  explicit NetChange(const TableChange& change);

  std::vector<std::uint64_t> inserted;
  std::vector<std::uint64_t> erased;
};

struct Entry {
  std::uint64_t seq = 0;
  std::uint64_t epoch = 0;  // of the builder that has made it
  std::string before;       // the predecessor's tag
  std::string position;     // how far the database's log is in it, as its clients write it
  std::string end;          // the last transaction of that, by which its builder knows it again
  std::string root;         // of the questions that it answers; empty: none
  std::uint64_t trial_below = 0;  // followers with smaller trial_number() try what is on trial
  std::string list;  // which tables there are, in their builder's words; empty: as before
  std::vector<TableChange> tables;
};

// Of a follower's name.
std::uint64_t trial_number(std::string_view name);

std::string text_of(const Entry& entry);

// As they stand in texts.
void put_digest(std::string& out, const Digest& digest);
Digest take_digest(text::LittleEndianCursor& cursor);

struct SignedEntry {
  Entry entry;
  std::string tag;
};
// What goes into the log; the tag is that of the text.
std::string signed_bytes(std::string_view text, const SigningKey& key);
std::optional<SignedEntry> read_entry(std::string_view bytes, const VerifyingKeys& keys);

}  // namespace cuckooguard::fleet
