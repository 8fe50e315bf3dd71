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

namespace cuckooguard::source::postgres {

struct UniqueKey {
  std::string name;
  bool is_primary = false;
  bool names_rows = false;  // the replica identity
  bool is_immediate = true;
  std::vector<std::size_t> columns{};  // places in those of the table
  bool can_be_null = false;
  bool is_logged = true;  // all of its columns are
};

// Its partitions, and tables that inherit from it.
Planned<void> check_tables_below(Connection& connection, const TablePlan& table);

// Partitions that have rows themselves; none of a table that is not partitioned.
Expected<std::vector<std::uint32_t>> parts_of(Connection& connection, const TablePlan& table);

// `not_published`: that it does not have the table at all, to be said when it has what it needs to
// be published.
Planned<void> check_publication(Connection& connection,
                                const Place& place,
                                const TablePlan& table,
                                std::string& not_published);
// Without a list of columns, and without a condition.
std::string publish_all_sql(const Place& place, const TablePlan& table);

// Whether all of its rows are logged whole; if not, needed() of them.
Planned<bool> check_replica_identities(Connection& connection,
                                       const TablePlan& table,
                                       std::span<const UniqueKey> unique_keys);

// Transactions that may have written to it (its oid) by now, and are open.
Expected<std::vector<Xid>> writers_of(Connection& connection, std::uint32_t table);

}  // namespace cuckooguard::source::postgres
