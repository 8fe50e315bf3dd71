// Whether the log has all changes of a table, under its name, and with what is needed of each row:
// the tables below it, its publication, its replica identity.
//
// Threads: free functions. Errors: as in postgres/table.h.
// Source: PostgreSQL 15's system catalogs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "postgres/connection.h"
#include "postgres/table.h"
#include "postgres/xid_snapshot.h"

namespace cuckooguard::source {

// Nothing: it is as it must be.
using PostgresObjection = std::optional<PostgresTrouble>;

struct PostgresUniqueKey {
  std::string name;
  bool is_primary = false;
  bool names_rows = false;  // the replica identity
  bool is_immediate = true;
  std::vector<std::size_t> columns{};  // places in those of the table
  bool can_be_null = false;
  bool is_logged = true;  // all of its columns are
};

// Its partitions, and tables that inherit from it.
PostgresObjection check_tables_below(PostgresConnection& connection, const PostgresTable& table);

// Partitions that have rows themselves; none of a table that is not partitioned.
std::expected<std::vector<std::uint32_t>, PostgresError> parts_of(PostgresConnection& connection,
                                                                  const PostgresTable& table);

// `not_published`: that it does not have the table at all, to be said when it has what it needs to
// be published.
PostgresObjection check_publication(PostgresConnection& connection,
                                    const PostgresPlace& place,
                                    const PostgresTable& table,
                                    std::string& not_published);
// Without a list of columns, and without a condition.
std::string publish_all_sql(const PostgresPlace& place, const PostgresTable& table);

// Whether all of its rows are logged whole; if not, needed() of them.
std::expected<bool, PostgresTrouble> check_replica_identities(
    PostgresConnection& connection,
    const PostgresTable& table,
    std::span<const PostgresUniqueKey> unique_keys);

// Transactions that may have written to it (its oid) by now, and are open.
std::expected<std::vector<Xid>, PostgresError> writers_of(PostgresConnection& connection,
                                                          std::uint32_t table);

}  // namespace cuckooguard::source
