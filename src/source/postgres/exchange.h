// A question to PostgreSQL and its answer, by libpq's calls that do not wait: no wait is without an
// end.
//
// Threads: the session's. Errors: Error; who has not answered in time is ended.
// Source: libpq 15's documentation, 34.4.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include <libpq-fe.h>

#include "postgres/connection.h"
#include "postgres/session.h"

namespace cuckooguard::source::postgres::libpq {

inline constexpr const char* kCopies = "a COPY, where an answer was asked for";

struct Clear {
  void operator()(PGresult* result) const;
};
using Result = std::unique_ptr<PGresult, Clear>;

Error error_of(const PGconn* connection, const PGresult* result);
// Ends it: whatever came now would be taken for the answer to something else.
Error ended(const PGconn* connection, std::string why);
std::unexpected<Error> is_silent(const PGconn* connection);

Done flush(PGconn* connection, Deadline deadline);
Done send_query(PGconn* connection, const std::string& sql, Deadline deadline);
// Null: there are no more. What has failed is a result, too.
Expected<Result> next_result(PGconn* connection, Deadline deadline);
bool has_failed(const PGresult* result);
bool is_copy(const PGresult* result);
// Reads what is left of an answer, of which nothing but an error is of interest.
Done finish(PGconn* connection, Deadline deadline);

}  // namespace cuckooguard::source::postgres::libpq
