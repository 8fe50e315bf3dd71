#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mysql/log_follower.h"
#include "mysql/server_probe.h"
#include "mysql/tables.h"

namespace cuckooguard::source::mysql {
namespace {

// A definition in the log may be visible a moment later: MySQL commits it after it has logged it.
Expected<bool> shows_all_that_was_applied(TableSet<Log>& tables, Connection& connection) {
  if (!tables.log.has_begun()) {
    return true;
  }
  const LogPosition applied = tables.log.position();
  const auto position = server_position(connection);
  if (!position) {
    return std::unexpected(position.error());
  }
  return position->covers(applied);
}

std::expected<void, TableTrouble> list_until_sure(TableSet<Log>& tables, Connection& connection) {
  const OpenTable open = [&](const std::string& table) -> Done {
    const auto opened = connection.ask("SELECT 1 FROM " + quoted_name(table) + " LIMIT 0");
    return opened ? Done() : std::unexpected(opened.error());
  };
  for (int i = 0; i < kListingsMax; ++i) {
    const auto doubt = tables.listing.doubt();
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
    for (const Target& target : tables.listing.patterned()) {
      auto listed = list_tables(connection, target.settings.source.tables);
      if (!listed) {
        return std::unexpected(std::move(listed.error()));
      }
      found.push_back(*std::move(listed));
    }
    const auto are_gone = are_all_gone(tables.listing.missing_from(found), open);
    if (!are_gone) {
      return std::unexpected(are_gone.error());
    }
    if (*are_gone && tables.listing.set(*doubt, found)) {
      return {};
    }
  }
  return std::unexpected(failed("the server does not show the tables that its log has").error());
}

}  // namespace

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

Done list_tables(TableSet<Log>& tables, Connection& connection) {
  if (!tables.listing.is_due()) {
    return {};
  }
  auto listed = list_until_sure(tables, connection);
  if (listed) {
    return {};
  }
  const auto* const error = std::get_if<Error>(&listed.error());
  if (error != nullptr) {
    tables.listing.fail(error->what, error->is_refusal());
  } else {
    tables.listing.fail(std::get<std::string>(listed.error()), true);
  }
  if (error != nullptr && error->is_lost()) {
    return std::unexpected(*error);
  }
  return {};
}

}  // namespace cuckooguard::source::mysql
