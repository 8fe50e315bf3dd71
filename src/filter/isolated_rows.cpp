#include "filter/isolated_rows.h"

#include <algorithm>
#include <utility>

#include "text/little_endian.h"

namespace cuckooguard::filter {
namespace {

constexpr std::string_view kFormat = "isolated 2\n";  // the first one had no name

}  // namespace

bool IsolatedRows::may_be(std::string_view identity,
                          const CuckooFilter& filter,
                          bool any) const noexcept {
  return std::ranges::any_of(rows_, [&](const Row& row) {
    return (any || row.pattern.matches(identity)) && filter.may_contain(row.hash);
  });
}

bool IsolatedRows::has(std::uint64_t hash) const noexcept {
  return std::ranges::binary_search(rows_, hash, {}, &Row::hash);
}

std::size_t IsolatedRows::count_in(const CuckooFilter& filter) const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(
      rows_, [&filter](const Row& row) { return filter.may_contain(row.hash); }));
}

void IsolatedRows::add(std::uint64_t hash, keyspace::IdentityPattern pattern) {
  const auto place = std::ranges::lower_bound(rows_, hash, {}, &Row::hash);
  if (place == rows_.end() || place->hash != hash) {
    rows_.insert(place, {.hash = hash, .pattern = std::move(pattern)});
  }
}

void IsolatedRows::add(const IsolatedRows& others) {
  for (const Row& row : others.rows_) {
    add(row.hash, row.pattern);
  }
}

bool IsolatedRows::leave_those_in(const CuckooFilter& filter) {
  return std::erase_if(rows_, [&filter](const Row& row) { return !filter.may_contain(row.hash); }) >
         0;
}

std::string IsolatedRows::bytes() const {
  std::string bytes(rows_.empty() ? std::string_view() : kFormat);
  for (const Row& row : rows_) {
    text::put(bytes, row.hash);
    row.pattern.write(bytes);
  }
  return bytes;
}

std::optional<IsolatedRows> IsolatedRows::parse(std::string_view bytes) {
  IsolatedRows rows;
  if (bytes.empty()) {
    return rows;
  }
  if (!bytes.starts_with(kFormat) || bytes.size() == kFormat.size()) {
    return std::nullopt;
  }
  text::LittleEndianCursor left(bytes.substr(kFormat.size()));
  while (!left.at_end()) {
    const auto hash = left.take<std::uint64_t>();
    auto pattern = keyspace::IdentityPattern::read(left);
    if (!pattern || rows.size() == kParsedMax) {
      return std::nullopt;
    }
    rows.add(hash, *std::move(pattern));
  }
  return rows;
}

}  // namespace cuckooguard::filter
