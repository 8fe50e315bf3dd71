#include "postgres/exchange.h"

#include <string_view>
#include <utility>

#include <sys/socket.h>

#include "text/try.h"

namespace cuckooguard::source::postgres::libpq {
namespace {

std::string_view field(const PGresult* result, int name) {
  const char* const text = PQresultErrorField(result, name);
  return text == nullptr ? std::string_view{} : text;
}

}  // namespace

void Clear::operator()(PGresult* result) const {
  PQclear(result);
}

Error error_of(const PGconn* connection, const PGresult* result) {
  Error error{.state = std::string(field(result, PG_DIAG_SQLSTATE)),
              .what = std::string(field(result, PG_DIAG_MESSAGE_PRIMARY)),
              .is_connection_gone = PQstatus(connection) == CONNECTION_BAD};
  if (error.state.empty()) {
    return told_by_libpq(connection);
  }
  for (const int more : {int{PG_DIAG_MESSAGE_DETAIL}, int{PG_DIAG_MESSAGE_HINT}}) {
    if (const std::string_view words = field(result, more); !words.empty()) {
      error.what.append(": ").append(words);
    }
  }
  const std::string_view severity = field(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  error.is_connection_gone |= severity == "FATAL" || severity == "PANIC";
  return error;
}

Error ended(const PGconn* connection, std::string why) {
  ::shutdown(PQsocket(connection), SHUT_RDWR);
  return {.state = {}, .what = std::move(why), .is_connection_gone = true};
}

std::unexpected<Error> is_silent(const PGconn* connection) {
  return std::unexpected(ended(connection, "the server has not answered in time"));
}

Done flush(PGconn* connection, Deadline deadline) {
  int left = 0;
  while ((left = PQflush(connection)) > 0) {
    if (!wait_for(connection, true, deadline)) {
      return is_silent(connection);
    }
    if (PQconsumeInput(connection) == 0) {
      break;
    }
  }
  if (left != 0) {
    return std::unexpected(told_by_libpq(connection));
  }
  return {};
}

Done send_query(PGconn* connection, const std::string& sql, Deadline deadline) {
  if (PQsendQuery(connection, sql.c_str()) == 0) {
    return std::unexpected(told_by_libpq(connection));
  }
  return flush(connection, deadline);
}

Expected<Result> next_result(PGconn* connection, Deadline deadline) {
  while (PQisBusy(connection) != 0) {
    if (!wait_for(connection, false, deadline)) {
      return is_silent(connection);
    }
    if (PQconsumeInput(connection) == 0) {
      break;  // the result says so
    }
  }
  return Result(PQgetResult(connection));
}

bool has_failed(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE;
}

bool is_copy(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COPY_OUT || status == PGRES_COPY_IN || status == PGRES_COPY_BOTH;
}

Done finish(PGconn* connection, Deadline deadline) {
  Done done;
  while (true) {
    auto result = TRY(next_result(connection, deadline));
    if (result == nullptr) {
      return done;
    }
    if (is_copy(result.get())) {
      return std::unexpected(ended(connection, kCopies));
    }
    if (done && has_failed(result.get())) {
      done = std::unexpected(error_of(connection, result.get()));
    }
  }
}

}  // namespace cuckooguard::source::postgres::libpq
