// What a fleet's log says up to one of its entries: followers have their filters like that, and a
// builder that takes over goes on from there.
//
// A follower begins with a manifest: what the log says up to some entry, and of which snapshots
// tables can be had. A snapshot has the rows of a table as of an entry of its own; that table's
// changes in all later ones are to be applied to it.
//
//   manifest  u64 seq, text tag, u64 epoch, text position, text end,
//             u64 trial_below, text list, u32 how many tables, each: u64 number, TableState,
//             u32 how many snapshots, each: Snapshot; 64 bytes of signature
//
// Threads:   one. Lifetimes: the keys outlive it.
// Errors:    an entry that does not follow is a Break; the chain is as it was before. Bytes that
//            are no manifest, or that no builder has signed, are nothing.
// Limits:    what waits to be erased: a builder's rows that were deleted a moment ago.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "filter/reported_state.h"
#include "fleet/entry.h"

namespace cuckooguard::fleet {

// Hashes, each so many times.
using Hashes = std::unordered_map<std::uint64_t, std::uint64_t>;
// False: it is not there.
bool take_one(Hashes& from, std::uint64_t hash);

struct TableState {
  std::uint64_t version = 0;
  std::uint64_t definition = 0;
  bool is_on_trial = false;
  bool is_ready = false;
  std::string why{};
  std::uint64_t largest_id = 0;
  Digest digest{};
  std::uint64_t changed_at = 0;  // the last entry that says something of its rows
  Hashes deleted{};              // and not erased yet

  // As of the entry `seq`. All but `deleted`.
  void become(const TableChange& change, std::uint64_t seq);

  bool operator==(const TableState&) const = default;
};

// Where a chain begins: behind the entry with this number and tag.
struct ChainBegin {
  std::uint64_t seq = 0;
  std::string tag;
  std::uint64_t epoch = 0;
  std::string position{};
  std::string end{};  // of the database's log; empty: it is not known
  std::uint64_t trial_below = 0;
  std::string list{};
  std::map<TableId, TableState> tables{};

  bool operator==(const ChainBegin&) const = default;
};

// Of all its tables, for people who compare guards: the same at the same entry.
std::string digest_of(const ChainBegin& at);
// How far a guard of a fleet is, of either kind.
void add_facts(std::vector<filter::SourceFact>& facts,
               std::uint64_t epoch,
               std::uint64_t seq,
               std::string digest);

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

// Of a table's filter, as the file of a checkpoint.
struct Snapshot {
  TableId table = 0;
  std::uint64_t version = 0;
  std::uint64_t seq = 0;  // all up to this entry is in it,
  std::string tag{};      // and that is its tag
  Digest digest{};
  std::string name{};          // by which it is kept,
  bool is_at_builder = false;  // in a file of its builder's, and not in Redis
  std::uint64_t bytes = 0;
  std::string hash{};  // of them

  // Of the table alone: for the entries behind it.
  ChainBegin begin() const;

  bool operator==(const Snapshot&) const = default;
};

struct Manifest {
  ChainBegin begin;
  std::vector<Snapshot> snapshots;

  const Snapshot* find(TableId table) const;  // null: there is none
};
std::string signed_manifest(const Manifest& manifest, const SigningKey& key);
std::optional<Manifest> read_manifest(std::string_view bytes, const VerifyingKeys& keys);

}  // namespace cuckooguard::fleet
