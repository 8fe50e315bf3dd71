// What PostgreSQL's catalog says of tables, as one text each: if it is another one, rows may have
// come or gone without a word in the log.
//
// pgoutput does not tell of a partition that is attached with its rows, of a table renamed into
// another one's place before its next row, of a rewrite, of a publication that leaves out deletes
// from now on. So the catalog is asked with every proof (postgres/log_follower.h), and a table of
// another fingerprint than it was planned with is read again.
//
// What has changed and changed back, between two questions or while nobody looked, is known by the
// transaction that has written it last (xmin): partitions, the publication, labels of enums, and,
// of a table's name, schema and owner, the type of its rows, which ALTER TABLE ... RENAME, SET
// SCHEMA and OWNER write anew and GRANT, CREATE INDEX, ANALYZE and VACUUM do not. What columns were
// called meanwhile, and by what the log named rows, the log says itself
// (postgres/log_applier.h).
//
// In it: oid, kind, owner, columns with types, collations and labels of enums, unique keys, the
// file of rows, persistence, replica identity, row security, the tree of partitions and heirs; and
// what the publication sends of it: which rows, which columns, what kinds of changes. What does not
// change rows is not: other indexes, statistics, VACUUM.
//
// Threads: free functions.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "postgres/connection.h"

namespace cuckooguard::source::postgres {

// By the name of the table; one that is not there is not in it.
using TableFingerprints = std::map<std::string, std::string, std::less<>>;

// Of the schema's tables and views that these names and patterns (config/table_pattern.h) match;
// without partitions of tables that a pattern matches as well, for their rows are those tables'.
Expected<TableFingerprints> ask_fingerprints(Connection& connection,
                                             std::string_view schema,
                                             std::string_view publication,
                                             std::span<const std::string> tables);

// The same over and over in one session, as `fingerprints`: planning it costs the server more than
// answering.
Done prepare_fingerprints(Connection& connection,
                          std::string_view schema,
                          std::string_view publication,
                          std::span<const std::string> tables);
// What it answers.
TableFingerprints fingerprints_of(const Answer& answer, std::span<const std::string> tables);
// The condition by which they are found, of `c`, a row of pg_class; false if there are none.
std::string is_wanted_sql(const Connection& connection, std::span<const std::string> tables);

}  // namespace cuckooguard::source::postgres
