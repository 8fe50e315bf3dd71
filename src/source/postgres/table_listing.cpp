#include "postgres/table_listing.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "postgres/table.h"

namespace cuckooguard::source::postgres {
namespace {

// What is not visible yet the next proof finds, whose fingerprints have it (fingerprints.h).
std::expected<void, TableTrouble> list_until_sure(TableSet<Log>& tables,
                                                  Connection& connection,
                                                  const Place& place) {
  for (int i = 0; i < kListingsMax; ++i) {
    const auto doubt = tables.listing.doubt();
    if (!doubt) {
      return {};
    }
    std::vector<std::vector<std::string>> found;
    for (const Target& target : tables.listing.patterned()) {
      auto listed = list_tables(connection, place, target.settings.source.tables);
      if (!listed) {
        return std::unexpected(std::move(listed.error()));
      }
      found.push_back(*std::move(listed));
    }
    if (tables.listing.set(*doubt, found)) {
      return {};
    }
  }
  return std::unexpected(failed("tables come and go all the time").error());
}

}  // namespace

Done list_tables(TableSet<Log>& tables, Connection& connection, const Place& place) {
  if (!tables.listing.is_due()) {
    return {};
  }
  auto listed = list_until_sure(tables, connection, place);
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

}  // namespace cuckooguard::source::postgres
