#include "fleet/entry.h"

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
  put(out, static_cast<std::uint8_t>(table.is_ready));
  put_text(out, table.why);
  put_hashes(out, table.inserted);
  put_hashes(out, table.deleted);
  put_hashes(out, table.erased);
  put(out, table.digest.count);
  put(out, table.digest.sum);
  put(out, table.digest.sum_high);
}

TableChange take_table(Cursor& cursor) {
  TableChange table;
  table.table = cursor.take<std::uint32_t>();
  table.version = cursor.take<std::uint64_t>();
  table.is_ready = cursor.take<std::uint8_t>() != 0;
  table.why = cursor.take_text();
  table.inserted = take_hashes(cursor);
  table.deleted = take_hashes(cursor);
  table.erased = take_hashes(cursor);
  table.digest.count = cursor.take<std::uint64_t>();
  table.digest.sum = cursor.take<std::uint64_t>();
  table.digest.sum_high = cursor.take<std::uint64_t>();
  return table;
}

std::string signed_words(std::string_view tag) {
  return std::string(kDomain).append(tag);
}

std::optional<Entry> entry_in(std::string_view text) {
  Cursor cursor(text);
  Entry entry;
  entry.seq = cursor.take<std::uint64_t>();
  entry.epoch = cursor.take<std::uint64_t>();
  entry.before = cursor.bytes(kHashBytes);
  entry.resume = cursor.take_text();
  entry.root = cursor.take_text();
  entry.list = cursor.take<std::uint64_t>();
  const auto tables = cursor.take<std::uint32_t>();
  if (tables > kTablesMax) {
    return std::nullopt;
  }
  for (std::uint32_t i = 0; i < tables && cursor.ok(); ++i) {
    entry.tables.push_back(take_table(cursor));
  }
  return cursor.at_end() ? std::optional(std::move(entry)) : std::nullopt;
}

}  // namespace

std::string text_of(const Entry& entry) {
  std::string out;
  put(out, entry.seq);
  put(out, entry.epoch);
  out += entry.before;
  put_text(out, entry.resume);
  put_text(out, entry.root);
  put(out, entry.list);
  put(out, static_cast<std::uint32_t>(entry.tables.size()));
  for (const TableChange& table : entry.tables) {
    put_table(out, table);
  }
  return out;
}

std::string signed_bytes(std::string_view text, const SigningKey& key) {
  return std::string(text).append(key.sign(signed_words(hash_of(text))));
}

std::optional<SignedEntry> read_entry(std::string_view bytes, const VerifyingKeys& keys) {
  if (bytes.size() < kSignatureBytes || bytes.size() > kEntryBytesMax) {
    return std::nullopt;
  }
  const std::string_view text = bytes.substr(0, bytes.size() - kSignatureBytes);
  std::string tag = hash_of(text);
  if (!keys.has_signed(signed_words(tag), bytes.substr(text.size()))) {
    return std::nullopt;
  }
  auto entry = entry_in(text);
  if (!entry) {
    return std::nullopt;
  }
  return SignedEntry{.entry = *std::move(entry), .tag = std::move(tag)};
}

}  // namespace cuckooguard::fleet
