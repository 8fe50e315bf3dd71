#include "fleet/chain.h"

#include <utility>

namespace cuckooguard::fleet {

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

bool apply(const TableChange& change, TableState& to) {
  Digest digest = to.digest;
  for (const std::uint64_t hash : change.inserted) {
    digest.add(hash);
  }
  for (const std::uint64_t hash : change.erased) {
    digest.remove(hash);
  }
  // Of another version nothing is known here.
  if (change.version == to.version && digest != change.digest) {
    return false;
  }
  to.version = change.version;
  to.is_ready = change.is_ready;
  to.why = change.why;
  to.digest = change.digest;
  for (const std::uint64_t hash : change.deleted) {
    ++to.deleted[hash];
  }
  for (const std::uint64_t hash : change.erased) {
    take_one(to.deleted, hash);
  }
  return true;
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
  std::map<std::uint32_t, TableState> changed;
  for (const TableChange& change : entry.tables) {
    const auto known = at_.tables.find(change.table);
    TableState& table =
        changed.emplace(change.table, known == at_.tables.end() ? TableState{} : known->second)
            .first->second;
    if (!apply(change, table)) {
      return std::unexpected(
          Break{Break::Kind::wrong,
                "the digest of entry " + std::to_string(entry.seq) + " is not what comes of it"});
    }
  }
  for (auto& [number, table] : changed) {
    at_.tables.insert_or_assign(number, std::move(table));
  }
  at_.seq = entry.seq;
  at_.tag = std::move(read->tag);
  at_.epoch = entry.epoch;
  at_.resume = entry.resume;
  at_.list = entry.list;
  return std::move(entry);
}

}  // namespace cuckooguard::fleet
