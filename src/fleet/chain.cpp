#include "fleet/chain.h"

#include <algorithm>
#include <utility>

#include "text/hex.h"
#include "text/little_endian.h"

namespace cuckooguard::fleet {
namespace {

constexpr std::string_view kManifestDomain = "cuckooguard fleet manifest 1";

using text::put;
using text::put_text;
using Cursor = text::LittleEndianCursor;

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

void apply(const TableChange& change, std::uint64_t seq, TableState& to) {
  if (change.version != to.version) {
    to.deleted.clear();
  }
  to.become(change, seq);
  for (const std::uint64_t hash : change.deleted) {
    ++to.deleted[hash];
  }
  for (const std::uint64_t hash : change.erased) {
    take_one(to.deleted, hash);
  }
}

void put_state(std::string& out, const TableState& state) {
  put(out, state.version);
  put(out, state.definition);
  put(out, static_cast<std::uint8_t>(state.is_on_trial));
  put(out, static_cast<std::uint8_t>(state.is_ready));
  put_text(out, state.why);
  put(out, state.largest_id);
  put_digest(out, state.digest);
  put(out, state.changed_at);
  put(out, static_cast<std::uint32_t>(state.deleted.size()));
  for (const auto& [hash, count] : state.deleted) {
    put(out, hash);
    put(out, count);
  }
}

TableState take_state(Cursor& cursor) {
  TableState state;
  state.version = cursor.take<std::uint64_t>();
  state.definition = cursor.take<std::uint64_t>();
  state.is_on_trial = cursor.take<std::uint8_t>() != 0;
  state.is_ready = cursor.take<std::uint8_t>() != 0;
  state.why = cursor.take_text();
  state.largest_id = cursor.take<std::uint64_t>();
  state.digest = take_digest(cursor);
  state.changed_at = cursor.take<std::uint64_t>();
  for (auto left = cursor.take<std::uint32_t>(); left > 0 && cursor.ok(); --left) {
    const auto hash = cursor.take<std::uint64_t>();
    state.deleted[hash] = cursor.take<std::uint64_t>();
  }
  return state;
}

std::string text_of(const Manifest& manifest) {
  std::string out;
  put(out, manifest.begin.seq);
  put_text(out, manifest.begin.tag);
  put(out, manifest.begin.epoch);
  put_text(out, manifest.begin.position);
  put_text(out, manifest.begin.end);
  put(out, manifest.begin.trial_below);
  put_text(out, manifest.begin.list);
  put(out, static_cast<std::uint32_t>(manifest.begin.tables.size()));
  for (const auto& [number, state] : manifest.begin.tables) {
    put(out, number);
    put_state(out, state);
  }
  put(out, static_cast<std::uint32_t>(manifest.snapshots.size()));
  for (const Snapshot& snapshot : manifest.snapshots) {
    put(out, snapshot.table);
    put(out, snapshot.version);
    put(out, snapshot.seq);
    put_text(out, snapshot.tag);
    put_digest(out, snapshot.digest);
    put_text(out, snapshot.name);
    put(out, static_cast<std::uint8_t>(snapshot.is_at_builder));
    put(out, snapshot.bytes);
    put_text(out, snapshot.hash);
  }
  return out;
}

Snapshot take_snapshot(Cursor& cursor) {
  Snapshot snapshot;
  snapshot.table = cursor.take<TableId>();
  snapshot.version = cursor.take<std::uint64_t>();
  snapshot.seq = cursor.take<std::uint64_t>();
  snapshot.tag = cursor.take_text();
  snapshot.digest = take_digest(cursor);
  snapshot.name = cursor.take_text();
  snapshot.is_at_builder = cursor.take<std::uint8_t>() != 0;
  snapshot.bytes = cursor.take<std::uint64_t>();
  snapshot.hash = cursor.take_text();
  return snapshot;
}

std::optional<Manifest> manifest_in(std::string_view text) {
  Cursor cursor(text);
  Manifest manifest;
  manifest.begin.seq = cursor.take<std::uint64_t>();
  manifest.begin.tag = cursor.take_text();
  manifest.begin.epoch = cursor.take<std::uint64_t>();
  manifest.begin.position = cursor.take_text();
  manifest.begin.end = cursor.take_text();
  manifest.begin.trial_below = cursor.take<std::uint64_t>();
  manifest.begin.list = cursor.take_text();
  for (auto left = cursor.take<std::uint32_t>(); left > 0 && cursor.ok(); --left) {
    const auto number = cursor.take<TableId>();
    manifest.begin.tables[number] = take_state(cursor);
  }
  for (auto left = cursor.take<std::uint32_t>(); left > 0 && cursor.ok(); --left) {
    manifest.snapshots.push_back(take_snapshot(cursor));
  }
  return cursor.at_end() ? std::optional(std::move(manifest)) : std::nullopt;
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

void TableState::become(const TableChange& change, std::uint64_t seq) {
  if (change.version != version || !change.inserted.empty() || !change.deleted.empty() ||
      !change.erased.empty()) {
    changed_at = seq;
  }
  version = change.version;
  definition = change.definition;
  is_on_trial = change.is_on_trial;
  is_ready = change.is_ready;
  why = change.why;
  largest_id = change.largest_id;
  digest = change.digest;
}

std::string digest_of(const ChainBegin& at) {
  std::string all;
  for (const auto& [number, table] : at.tables) {
    put(all, number);
    put(all, table.version);
    put_digest(all, table.digest);
  }
  constexpr std::size_t kBytesShown = 8;
  return text::hex_of(hash_of(all).substr(0, kBytesShown));
}

void add_facts(std::vector<filter::SourceFact>& facts,
               std::uint64_t epoch,
               std::uint64_t seq,
               std::string digest) {
  facts.push_back({.name = "fleet_epoch", .value = epoch});
  facts.push_back({.name = "fleet_entry",
                   .value = seq,
                   .metric = "fleet_entry",
                   .help = "Number of the last entry of the fleet's log that was appended "
                           "(builder) or applied (follower)."});
  facts.push_back({.name = "fleet_digest", .value = std::move(digest)});
}

std::expected<Entry, Break> Chain::take(std::string_view bytes) {
  auto read = read_entry(bytes, keys_);
  if (!read) {
    return std::unexpected(Break{Break::Kind::forged, "an entry that is not signed by a builder"});
  }
  Entry& entry = read->entry;
  if (entry.seq <= at_.seq) {
    return std::unexpected(Break{Break::Kind::old, "an entry that was already applied"});
  }
  if (entry.seq != at_.seq + 1) {
    return std::unexpected(Break{
        Break::Kind::gap,
        "entry " + std::to_string(entry.seq) + " arrived after entry " + std::to_string(at_.seq)});
  }
  if (entry.before != at_.tag) {
    return std::unexpected(Break{
        Break::Kind::fork,
        "entry " + std::to_string(entry.seq) + " does not follow the last entry applied here"});
  }
  static const TableState kUnknown;
  for (const TableChange& change : entry.tables) {
    const auto known = at_.tables.find(change.table);
    if (!is_right(change, known == at_.tables.end() ? kUnknown : known->second)) {
      return std::unexpected(Break{
          Break::Kind::wrong,
          "the digest of entry " + std::to_string(entry.seq) + " does not match its contents"});
    }
  }
  for (const TableChange& change : entry.tables) {
    apply(change, entry.seq, at_.tables[change.table]);
  }
  at_.seq = entry.seq;
  at_.tag = std::move(read->tag);
  at_.epoch = entry.epoch;
  at_.position = entry.position;
  at_.end = entry.end;
  at_.trial_below = entry.trial_below;
  if (!entry.list.empty()) {
    at_.list = entry.list;
  }
  return std::move(entry);
}

ChainBegin Snapshot::begin() const {
  return {.seq = seq,
          .tag = tag,
          .tables = {{table, {.version = version, .is_ready = true, .digest = digest}}}};
}

const Snapshot* Manifest::find(TableId table) const {
  const auto found = std::ranges::find(snapshots, table, &Snapshot::table);
  return found == snapshots.end() ? nullptr : &*found;
}

std::string signed_manifest(const Manifest& manifest, const SigningKey& key) {
  return with_signature(kManifestDomain, text_of(manifest), key);
}

std::optional<Manifest> read_manifest(std::string_view bytes, const VerifyingKeys& keys) {
  const auto read = read_signed(kManifestDomain, bytes, keys);
  return read ? manifest_in(read->text) : std::nullopt;
}

}  // namespace cuckooguard::fleet
