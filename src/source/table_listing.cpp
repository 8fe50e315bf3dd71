#include "source/table_listing.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "source/mysql_tables.h"

namespace cuckooguard::source {

std::expected<void, MysqlError> list_tables(TableSet& tables, MysqlConnection& connection) {
  for (int i = 0; i < kListingsMax; ++i) {
    const auto doubt = tables.doubt();
    if (!doubt) {
      return {};
    }
    std::vector<std::vector<std::string>> found;
    for (const Target& target : tables.patterned()) {
      auto listed = list_mysql_tables(connection, target.settings.source.tables);
      if (!listed) {
        const auto* const why = std::get_if<std::string>(&listed.error());
        return std::unexpected(why != nullptr ? MysqlError{.code = 0, .what = *why}
                                              : std::get<MysqlError>(listed.error()));
      }
      found.push_back(*std::move(listed));
    }
    if (tables.set_tables(*doubt, found)) {
      return {};
    }
  }
  return {};
}

}  // namespace cuckooguard::source
