#include <algorithm>
#include <string_view>
#include <utility>

#include "sqlite/log_follower.h"
#include "text/try.h"

namespace cuckooguard::source::sqlite {
namespace {

using Event = TouchedRows::Event;

Expected<std::optional<LogMark>> mark_of(const Database& database,
                                         std::string_view sql,
                                         std::int64_t seq) {
  auto statement = TRY(database.prepare(sql));
  statement.bind(1, seq);
  const auto row = TRY(statement.step());
  return row ? std::optional(LogMark{.seq = statement.integer(0), .mark = statement.integer(1)})
             : std::nullopt;
}

}  // namespace

Expected<std::optional<LogMark>> newest_mark(const Database& database) {
  return mark_of(
      database,
      "SELECT seq, mark FROM main.cuckooguard_log WHERE seq >= ?1 ORDER BY seq DESC LIMIT 1",
      0);
}

Expected<bool> has_mark(const Database& database, const LogMark& mark) {
  const std::optional<LogMark> found =
      TRY(mark_of(database, "SELECT seq, mark FROM main.cuckooguard_log WHERE seq = ?1", mark.seq));
  return found == mark;
}

LogReader::LogReader() : name_low_(filter::random_secret()), name_high_(filter::random_secret()) {}

Planned<TouchedRows> LogReader::read(const Database& database,
                                     const LoggedTable& table,
                                     Feed& feed,
                                     const LogMark& from) {
  auto changes = TRY(database.prepare(table.changes_sql()));
  changes.bind(1, from.seq);
  changes.bind(2, table.stream());
  TouchedRows touched;
  Row row(table.plan);
  for (;;) {
    const auto has_row = TRY(changes.step());
    if (!has_row) {
      break;
    }
    TRY(add(table, feed, changes, row, touched));
  }
  if (!touched.is_explained()) {
    return std::unexpected("the trigger log does not explain table \"" + table.plan.table + "\"");
  }
  return touched;
}

std::expected<void, std::string> LogReader::add(
    const LoggedTable& table, Feed& feed, const Statement& change, Row& row, TouchedRows& touched) {
  const int values = static_cast<int>(table.values.size());
  const bool is_there = change.integer(values + 1) != 0;
  if (!row.read(change)) {
    // One that has gone again was never in a filter: no filter is loaded while there is such a row.
    return is_there ? std::expected<void, std::string>(std::unexpected(row.refusal()))
                    : std::expected<void, std::string>();
  }
  if (!row.counts()) {
    return {};
  }
  const auto hash = feed.hash_of(row.values());
  if (!hash) {
    return is_there ? std::expected<void, std::string>(std::unexpected(hash.error()))
                    : std::expected<void, std::string>();
  }
  const auto& known = *hash;
  if (!known) {
    return {};  // a NULL: no key can name this row
  }
  const auto event = static_cast<Event>(std::clamp<std::int64_t>(change.integer(values), -1, 1));
  if (!touched.add(name_of(table, change), *known, event, is_there)) {
    return std::unexpected("the trigger log contradicts itself about table \"" + table.plan.table +
                           "\"");
  }
  return {};
}

// All values as they are stored: the text 7 is another row than the BLOB 7, and a row whose
// condition's columns have changed another than before.
RowName LogReader::name_of(const LoggedTable& table, const Statement& change) {
  bytes_.clear();
  for (int column = 0; column < static_cast<int>(table.values.size()); ++column) {
    bytes_ += static_cast<char>(change.type(column));  // before bytes(), which may convert
    const std::string_view text = change.bytes(column);
    const auto size = static_cast<std::uint32_t>(text.size());
    bytes_.append(reinterpret_cast<const char*>(&size), sizeof size);
    bytes_ += text;
  }
  return {.low = name_low_(bytes_), .high = name_high_(bytes_)};
}

}  // namespace cuckooguard::source::sqlite
