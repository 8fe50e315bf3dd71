// How one namespace's rows are read from one table of PostgreSQL, and the checks that this can be
// done rightly.
//
// What is refused, each with the SQL that mends it: a table or column that is not there, a view, a
// table with heirs, a partition by itself, an unlogged or temporary one; one without a key that the
// log names deleted rows by (REPLICA IDENTITY), or whose key lacks a column that is needed here;
// row security that would hide rows; a publication that does not have it, or that leaves out
// columns, rows or kinds of changes; a partitioned table without publish_via_partition_root;
// columns that postgres/column.h objects to; `deletes: trusted` where several rows can have one
// identity.
//
// Threads: free functions. Errors: a sentence for the operator; PostgresError if the server itself
// failed.
// Source: PostgreSQL 15's system catalogs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "follow/log.h"
#include "follow/row_plan.h"
#include "postgres/column.h"
#include "postgres/connection.h"
#include "source/keyed_table.h"
#include "source/source.h"

namespace cuckooguard::source {

struct PostgresTable : RowPlan {
  std::string schema;
  std::string name;
  std::uint32_t oid = 0;
  bool is_partitioned = false;
  std::vector<PostgresColumn> columns;  // all that the log shows, in their order
  std::vector<std::uint32_t> parts{};   // oids of all below it that have rows, in their order
  bool has_full_rows = false;           // REPLICA IDENTITY FULL
  std::string fingerprint;              // fingerprints.h

  std::string full_name() const;   // as SQL writes it
  std::string select_sql() const;  // of what is needed(), in that order, without a condition
  std::string copy_sql() const;    // the same
  std::string count_sql() const;
  bool operator==(const PostgresTable&) const = default;

 private:
  std::string listed() const;  // needed()
};

using PostgresTrouble = std::variant<std::string, PostgresError>;

std::string words_of(const PostgresTrouble& trouble);

// Where a source's tables are.
struct PostgresPlace {
  std::string schema;
  std::string publication;
};

std::expected<PostgresTable, PostgresTrouble> plan_postgres_table(PostgresConnection& connection,
                                                                  const PostgresPlace& place,
                                                                  const Target& target,
                                                                  const std::string& table);

// As the server spells them; a name for which there is no table as it is.
std::expected<std::vector<std::string>, PostgresTrouble> list_postgres_tables(
    PostgresConnection& connection,
    const PostgresPlace& place,
    std::span<const std::string> wanted);

// All that this account may see.
std::expected<std::vector<KeyedTable>, PostgresError> list_keyed_tables(
    PostgresConnection& connection, const PostgresPlace& place);

// As the server says.
std::expected<TableEstimate, PostgresError> size_of_postgres_table(PostgresConnection& connection,
                                                                   const PostgresTable& plan);

}  // namespace cuckooguard::source
