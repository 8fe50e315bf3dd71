#include "fleet/chain.h"

#include <utility>

namespace cuckooguard::fleet {
namespace {

// Whether the digest is what comes of it. Of another version nothing is known here.
bool is_right(const TableChange& change, const TableState& before) {
  Digest digest = before.digest;
  for (const std::uint64_t hash : change.inserted) {
    digest.add(hash);
  }
  for (const std::uint64_t hash : change.erased) {
    digest.remove(hash);
  }
  return change.version != before.version || digest == change.digest;
}

void apply(const TableChange& change, TableState& to) {
  to.become(change);
  for (const std::uint64_t hash : change.deleted) {
    ++to.deleted[hash];
  }
  for (const std::uint64_t hash : change.erased) {
    take_one(to.deleted, hash);
  }
}

}  // namespace

bool take_one(Hashes& from, std::uint64_t hash) {
  const auto found = from.find(hash);
  if (found == from.end()) {
    return false;
  }
  if (--found->second == 0) {
    from.erase(found);
  }
  return true;
}

void TableState::become(const TableChange& change) {
  version = change.version;
  is_ready = change.is_ready;
  why = change.why;
  digest = change.digest;
}

std::expected<Entry, Break> Chain::take(std::string_view bytes) {
  auto read = read_entry(bytes, keys_);
  if (!read) {
    return std::unexpected(Break{Break::Kind::forged, "an entry that no builder has signed"});
  }
  Entry& entry = read->entry;
  if (entry.seq <= at_.seq) {
    return std::unexpected(Break{Break::Kind::old, "an entry that has been applied"});
  }
  if (entry.seq != at_.seq + 1) {
    return std::unexpected(Break{
        Break::Kind::gap,
        "entry " + std::to_string(entry.seq) + " comes behind entry " + std::to_string(at_.seq)});
  }
  if (entry.before != at_.tag) {
    return std::unexpected(
        Break{Break::Kind::fork,
              "entry " + std::to_string(entry.seq) + " follows another one than was here"});
  }
  static const TableState kUnknown;
  for (const TableChange& change : entry.tables) {
    const auto known = at_.tables.find(change.table);
    if (!is_right(change, known == at_.tables.end() ? kUnknown : known->second)) {
      return std::unexpected(
          Break{Break::Kind::wrong,
                "the digest of entry " + std::to_string(entry.seq) + " is not what comes of it"});
    }
  }
  for (const TableChange& change : entry.tables) {
    apply(change, at_.tables[change.table]);
  }
  at_.seq = entry.seq;
  at_.tag = std::move(read->tag);
  at_.epoch = entry.epoch;
  at_.resume = entry.resume;
  at_.list = entry.list;
  return std::move(entry);
}

}  // namespace cuckooguard::fleet
