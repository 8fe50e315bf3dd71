// Which tables of a MariaDB or MySQL database a namespace has, by its list of names and patterns.
//
// Patterns find views too: that those cannot be read is plan_table()'s to say, since to leave
// them out would hide their rows. A server shows an account the tables alone that it has a right
// to; so patterns need a right to all: rows of a table that is not shown would be hidden. Names
// need no more than before.
//
// What it gives is as the database was at some moment between question and answer, after any
// definition that was in the log before. A follower must take the set of tables for unknown
// (LiveParts::set_complete) from a definition in its log until it has asked again, and nothing of
// the kind has come meanwhile.
//
// Threads: free functions. Errors: a sentence for the operator; Error if the server itself
// failed.
// Source: information_schema of MariaDB 10.11.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "follow/log.h"
#include "mysql/connection.h"
#include "mysql/table.h"
#include "source/source_kind.h"

namespace cuckooguard::source::mysql {

// As the server spells them; a name for which there is no table as it is. Case counts if it does on
// the server (lower_case_table_names).
Planned<std::vector<std::string>> find_tables(Connection& connection,
                                              std::span<const std::string> wanted);

// All that this account may see.
Expected<std::vector<KeyedTable>> list_keyed_tables(Connection& connection);

// As the server says, of a table of the connection's database.
Expected<TableEstimate> size_of_table(Connection& connection, const TablePlan& plan);

}  // namespace cuckooguard::source::mysql
