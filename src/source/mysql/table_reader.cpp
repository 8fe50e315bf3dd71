#include "mysql/log_follower.h"
#include "mysql/server_probe.h"
#include "mysql/table.h"
#include "text/try.h"
#include "text/words.h"

namespace cuckooguard::source::mysql {

Expected<bool> TableReader::shows_all_of(const TableSetLog<Log>& log) {
  if (!log.has_begun()) {
    return true;
  }
  const LogPosition applied = log.position();
  const LogPosition position = TRY(server_position(connection_));
  return position.covers(applied);
}

Expected<bool> TableReader::are_gone(Listing& listing, const Listing::Tables& found) {
  return are_all_gone(listing.missing_from(found), [this](const std::string& table) {
    return connection_.run("SELECT 1 FROM " + quoted_name(table) + " LIMIT 0");
  });
}

Expected<bool> are_all_gone(const std::vector<std::string>& tables, const OpenTable& open) {
  constexpr unsigned kNoSuchTable = 1146;
  constexpr unsigned kNoSuchDatabase = 1049;
  for (const std::string& table : tables) {
    const auto opened = open(table);
    if (opened) {
      return false;
    }
    const unsigned code = opened.error().code;
    if (code != kNoSuchTable && code != kNoSuchDatabase) {
      return std::unexpected(opened.error());
    }
  }
  return true;
}

namespace {

// As write_uuid() writes it. NULL of NULL.
std::string uuid_sql(const std::string& column, config::UuidOrder order) {
  const auto group = [&column](const char* place) {
    return "HEX(SUBSTR(" + column + ", " + place + "))";
  };
  const bool is_plain = order == config::UuidOrder::plain;
  return "LOWER(CONCAT(" + group(is_plain ? "1, 4" : "5, 4") + ", '-', " +
         group(is_plain ? "5, 2" : "3, 2") + ", '-', " + group(is_plain ? "7, 2" : "1, 2") +
         ", '-', " + group("9, 2") + ", '-', " + group("11, 6") + "))";
}

}  // namespace

// Where its text is for nothing but to tell rows apart, it is made the log's.
std::string TablePlan::selected(std::size_t column) const {
  const std::string quoted = quoted_name(columns[column].name);
  if (is_null_only(column)) {
    return "IF(" + quoted + " IS NULL, NULL, 1)";
  }
  if (is_uuid(column)) {
    return uuid_sql(quoted, uuid_order);
  }
  const bool is_number = key_text(columns[column]) == KeyText::number;
  return is_number ? "CAST(" + quoted + " AS UNSIGNED)" : quoted;
}

// The condition itself is not for the server: it is the guard that decides, as of rows in the log.
std::string TablePlan::select_sql() const {
  const auto listed = [this](std::size_t place) { return selected(place); };
  return "SELECT " + text::joined(needed(), ", ", listed) + " FROM " + quoted_name(schema) + "." +
         quoted_name(name);
}

std::string TablePlan::count_sql() const {
  return "SELECT COUNT(*) FROM " + quoted_name(schema) + "." + quoted_name(name);
}

}  // namespace cuckooguard::source::mysql
