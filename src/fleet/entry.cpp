#include "fleet/entry.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "text/little_endian.h"

namespace cuckooguard::fleet {
namespace {

// In front of what is signed: a signature of something else is none of an entry.
constexpr std::string_view kDomain = "cuckooguard fleet entry 1";

using Cursor = text::LittleEndianCursor;
using text::put;
using text::put_text;

void put_hashes(std::string& out, const std::vector<std::uint64_t>& hashes) {
  put(out, static_cast<std::uint32_t>(hashes.size()));
  for (const std::uint64_t hash : hashes) {
    put(out, hash);
  }
}

std::vector<std::uint64_t> take_hashes(Cursor& cursor) {
  const auto count = cursor.take<std::uint32_t>();
  Cursor bytes(cursor.bytes(std::uint64_t{count} * sizeof(std::uint64_t)));
  std::vector<std::uint64_t> hashes(bytes.left() / sizeof(std::uint64_t));
  for (std::uint64_t& hash : hashes) {
    hash = bytes.take<std::uint64_t>();
  }
  return hashes;
}

void put_table(std::string& out, const TableChange& table) {
  put(out, table.table);
  put(out, table.version);
  put(out, table.definition);
  put(out, static_cast<std::uint8_t>(table.is_on_trial));
  put(out, static_cast<std::uint8_t>(table.is_ready));
  put_text(out, table.why);
  put(out, table.largest_id);
  put_text(out, table.isolated);
  put_hashes(out, table.inserted);
  put_hashes(out, table.deleted);
  put_hashes(out, table.erased);
  put_digest(out, table.digest);
}

TableChange take_table(Cursor& cursor) {
  TableChange table;
  table.table = cursor.take<TableId>();
  table.version = cursor.take<std::uint64_t>();
  table.definition = cursor.take<std::uint64_t>();
  table.is_on_trial = cursor.take<std::uint8_t>() != 0;
  table.is_ready = cursor.take<std::uint8_t>() != 0;
  table.why = cursor.take_text();
  table.largest_id = cursor.take<std::uint64_t>();
  table.isolated = cursor.take_text();
  table.inserted = take_hashes(cursor);
  table.deleted = take_hashes(cursor);
  table.erased = take_hashes(cursor);
  table.digest = take_digest(cursor);
  return table;
}

std::optional<Entry> entry_in(std::string_view text) {
  Cursor cursor(text);
  Entry entry;
  entry.seq = cursor.take<std::uint64_t>();
  entry.epoch = cursor.take<std::uint64_t>();
  entry.before = cursor.bytes(kHashBytes);
  entry.position = cursor.take_text();
  entry.end = cursor.take_text();
  entry.root = cursor.take_text();
  entry.trial_below = cursor.take<std::uint64_t>();
  entry.list = cursor.take_text();
  const auto tables = cursor.take<std::uint32_t>();
  if (tables > kTablesMax) {
    return std::nullopt;
  }
  for (std::uint32_t i = 0; i < tables && cursor.ok(); ++i) {
    TableChange table = take_table(cursor);
    if (!entry.tables.empty() && table.table <= entry.tables.back().table) {
      return std::nullopt;
    }
    entry.tables.push_back(std::move(table));
  }
  return cursor.at_end() ? std::optional(std::move(entry)) : std::nullopt;
}

}  // namespace

void put_digest(std::string& out, const Digest& digest) {
  put(out, digest.count);
  put(out, digest.sum);
  put(out, digest.sum_high);
}

Digest take_digest(Cursor& cursor) {
  Digest digest;
  digest.count = cursor.take<std::uint64_t>();
  digest.sum = cursor.take<std::uint64_t>();
  digest.sum_high = cursor.take<std::uint64_t>();
  return digest;
}

NetChange::NetChange(const TableChange& change) : inserted(change.inserted), erased(change.erased) {
  if (inserted.empty() || erased.empty()) {
    return;
  }
  std::ranges::sort(inserted);
  std::ranges::sort(erased);
  std::vector<std::uint64_t> comes;
  std::vector<std::uint64_t> goes;
  std::ranges::set_difference(inserted, erased, std::back_inserter(comes));
  std::ranges::set_difference(erased, inserted, std::back_inserter(goes));
  inserted = std::move(comes);
  erased = std::move(goes);
}

std::uint64_t trial_number(std::string_view name) {
  const std::string hash = hash_of(name);
  return Cursor(hash).take<std::uint64_t>();
}

std::string text_of(const Entry& entry) {
  std::string out;
  put(out, entry.seq);
  put(out, entry.epoch);
  out += entry.before;
  put_text(out, entry.position);
  put_text(out, entry.end);
  put_text(out, entry.root);
  put(out, entry.trial_below);
  put_text(out, entry.list);
  put(out, static_cast<std::uint32_t>(entry.tables.size()));
  for (const TableChange& table : entry.tables) {
    put_table(out, table);
  }
  return out;
}

std::string signed_bytes(std::string_view text, const SigningKey& key) {
  return with_signature(kDomain, text, key);
}

std::optional<SignedEntry> read_entry(std::string_view bytes, const VerifyingKeys& keys) {
  auto read = bytes.size() <= kEntryBytesMax ? read_signed(kDomain, bytes, keys) : std::nullopt;
  auto entry = read ? entry_in(read->text) : std::nullopt;
  if (!entry) {
    return std::nullopt;
  }
  return SignedEntry{.entry = *std::move(entry), .tag = std::move(read->tag)};
}

}  // namespace cuckooguard::fleet
