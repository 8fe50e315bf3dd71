// Says what a QUERY event does, by its first words: no SQL is parsed. Row changes do not come as
// text; what comes is transaction control, DDL, and, where a session has left the row format, DML.
//
// It is conservative: `unknown` is never wrong, since it makes the caller read the tables again. So
// words in a version comment (/*! */, /*M! */), which one server executes and another does not, are
// believed only where they make things worse.
//
// Threads: any. Lifetimes: nothing is kept. Limits: none; only the first words are looked at, but
// for `may_name`, which searches the text once.
// Source: MySQL's and MariaDB's statement syntax pages; the texts in tests/binlog/recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "binlog/event.h"
#include "binlog/xid.h"

namespace cuckooguard::binlog {

enum class QueryKind : std::uint8_t {
  // Transaction control: exactly this and nothing else.
  begin,
  commit,
  rollback,   // of what was logged in this group; rows of tables without transactions stay
  savepoint,  // SAVEPOINT, RELEASE SAVEPOINT
  rollback_to_savepoint,  // takes back rows that were logged before it
  xa_begin,               // XA START; MariaDB's GTID event says it in another way
  xa_end,
  xa_prepare,
  xa_commit,    // with its xid
  xa_rollback,  // with its xid
  // DDL that may name a table, also by way of its schema.
  truncate,
  drop,
  alter,
  rename,
  create,
  other_definition,
  // Changes no row of any table: users, grants, views, routines, triggers, statistics.
  administrative,
  // Rows changed by a text: which ones is not to be known.
  dml,
  unknown,
};

struct QueryVerdict {
  QueryKind kind = QueryKind::unknown;
  std::optional<Xid> xid;
};

QueryVerdict judge_query(std::string_view text);

// Whether the text may have `name` as a whole name, in whatever quotes and letters: false only
// where it cannot.
bool may_name(std::string_view text, std::string_view name);
// Whether DDL may be about this table: it may name it, or its schema as a whole (DROP DATABASE).
bool may_be_about(const Query& query, std::string_view schema, std::string_view table);

}  // namespace cuckooguard::binlog
