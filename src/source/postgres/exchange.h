// A question to PostgreSQL and its answer, by libpq's calls that do not wait: no wait is without an
// end.
//
// Threads: the session's. Errors: PostgresError; who has not answered in time is ended.
// Source: libpq 15's documentation, 34.4.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include <libpq-fe.h>

#include "postgres/connection.h"
#include "postgres/session.h"

namespace cuckooguard::source::libpq {

inline constexpr const char* kCopies = "a COPY, where an answer was asked for";

struct Clear {
  void operator()(PGresult* result) const;
};
using Result = std::unique_ptr<PGresult, Clear>;

PostgresError error_of(const PGconn* connection, const PGresult* result);
// Ends it: whatever came now would be taken for the answer to something else.
PostgresError ended(const PGconn* connection, std::string why);
std::unexpected<PostgresError> is_silent(const PGconn* connection);

std::expected<void, PostgresError> flush(PGconn* connection, PostgresDeadline deadline);
std::expected<void, PostgresError> send_query(PGconn* connection,
                                              const std::string& sql,
                                              PostgresDeadline deadline);
// Null: there are no more. What has failed is a result, too.
std::expected<Result, PostgresError> next_result(PGconn* connection, PostgresDeadline deadline);
bool has_failed(const PGresult* result);
bool is_copy(const PGresult* result);
// Reads what is left of an answer, of which nothing but an error is of interest.
std::expected<void, PostgresError> finish(PGconn* connection, PostgresDeadline deadline);

}  // namespace cuckooguard::source::libpq
