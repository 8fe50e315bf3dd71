#include "source/table_listing.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "source/mysql_tables.h"
#include "source/server_probe.h"

namespace cuckooguard::source {

namespace {

// A definition in the log may be visible a moment later: MySQL commits it after it has logged it.
std::expected<bool, MysqlError> shows_all_that_was_applied(TableSet& tables,
                                                           MysqlConnection& connection) {
  if (!tables.has_begun()) {
    return true;
  }
  const LogPosition applied = tables.position();
  const auto position = server_position(connection);
  if (!position) {
    return std::unexpected(position.error());
  }
  return position->covers(applied);
}

std::expected<void, MysqlTrouble> list_until_sure(TableSet& tables, MysqlConnection& connection) {
  for (int i = 0; i < kListingsMax; ++i) {
    const auto doubt = tables.doubt();
    if (!doubt) {
      return {};
    }
    const auto is_visible = shows_all_that_was_applied(tables, connection);
    if (!is_visible) {
      return std::unexpected(is_visible.error());
    }
    if (!*is_visible) {
      continue;
    }
    std::vector<std::vector<std::string>> found;
    for (const Target& target : tables.patterned()) {
      auto listed = list_mysql_tables(connection, target.settings.source.tables);
      if (!listed) {
        return std::unexpected(std::move(listed.error()));
      }
      found.push_back(*std::move(listed));
    }
    if (tables.set_tables(*doubt, found)) {
      return {};
    }
  }
  return std::unexpected(std::string("the server does not show the tables that its log has"));
}

}  // namespace

std::expected<void, MysqlError> list_tables(TableSet& tables, MysqlConnection& connection) {
  if (!tables.is_listing_due()) {
    return {};
  }
  auto listed = list_until_sure(tables, connection);
  if (listed) {
    return {};
  }
  const auto* const error = std::get_if<MysqlError>(&listed.error());
  tables.listing_failed(error != nullptr ? error->what : std::get<std::string>(listed.error()));
  if (error != nullptr && error->is_lost()) {
    return std::unexpected(*error);
  }
  return {};
}

}  // namespace cuckooguard::source
