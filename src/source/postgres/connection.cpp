#include "postgres/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "postgres/session.h"
#include "text/try.h"
#include "text/words.h"

namespace cuckooguard::source::postgres {
namespace {

using std::chrono::steady_clock;

// A question and its answer, by libpq's calls that do not wait: no wait is without an end. Who has
// not answered in time is ended.
// Source: libpq 15's documentation, 34.4.
namespace libpq {

constexpr const char* kCopies = "the server sent a COPY instead of a result";

struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, Clear>;

std::string_view field(const PGresult* result, int name) {
  const char* const text = PQresultErrorField(result, name);
  return text == nullptr ? std::string_view{} : text;
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
  return std::unexpected(ended(connection, "the server did not respond in time"));
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

}  // namespace libpq

void append_rows(Answer& answer, const PGresult* result) {
  for (int row = 0; row < PQntuples(result); ++row) {
    auto& values = answer.emplace_back();
    for (int i = 0; i < PQnfields(result); ++i) {
      if (PQgetisnull(result, row, i) != 0) {
        values.emplace_back();
      } else {
        values.emplace_back(std::string(PQgetvalue(result, row, i),
                                        static_cast<std::size_t>(PQgetlength(result, row, i))));
      }
    }
  }
}

}  // namespace

Login login_to(const config::PostgresSource& source) {
  return {.addresses = source.addresses,
          .user = source.user,
          .password = source.password,
          .password_file = source.password_file,
          .database = source.database,
          .tls = source.tls,
          .ca_file = source.ca_file};
}

bool Error::is_refusal() const {
  static constexpr std::array<std::string_view, 7> kStates{
      "0A000",                                      // feature_not_supported
      "3D000",                                      // invalid_catalog_name: no such database
      "3F000",                                      // invalid_schema_name
      "42501",                                      // insufficient_privilege, row security, too
      "42703",                                      // undefined_column
      "42P01",                                      // undefined_table
      "53400"};                                     // configuration_limit_exceeded: no slot is left
  const bool is_let_in = !state.starts_with("28");  // invalid_authorization_specification
  return is_ours || !is_let_in || std::ranges::find(kStates, state) != kStates.end();
}

// --- Rows ---

Rows::Rows(pg_conn* connection, std::chrono::seconds timeout, std::size_t columns)
    : connection_(connection), timeout_(timeout), values_(columns) {}

Rows::Rows(Rows&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)),
      timeout_(other.timeout_),
      row_(std::exchange(other.row_, nullptr)),
      values_(std::move(other.values_)) {}

Rows::~Rows() {
  free_row();
  if (connection_ != nullptr) {
    ::shutdown(PQsocket(connection_), SHUT_RDWR);
  }
}

void Rows::free_row() {
  PQfreemem(std::exchange(row_, nullptr));
}

Expected<std::optional<RowValues>> Rows::next() {
  free_row();
  if (connection_ == nullptr) {
    return std::nullopt;
  }
  int size = 0;
  while ((size = PQgetCopyData(connection_, &row_, 1)) == 0) {
    const bool has_come = wait_for(connection_, false, steady_clock::now() + timeout_);
    if (!has_come) {
      return libpq::is_silent(std::exchange(connection_, nullptr));
    }
    if (PQconsumeInput(connection_) == 0) {
      return std::unexpected(told_by_libpq(std::exchange(connection_, nullptr)));
    }
  }
  if (size < 0) {
    return end();
  }
  const std::size_t without_line_end = static_cast<std::size_t>(size) - 1;
  if (!parse_copy_row({row_, without_line_end}, values_)) {
    return std::unexpected(libpq::ended(std::exchange(connection_, nullptr),
                                        "the server returned a row with unexpected columns"));
  }
  return RowValues(values_);
}

Expected<std::optional<RowValues>> Rows::end() {
  PGconn* const connection = std::exchange(connection_, nullptr);
  TRY(libpq::finish(connection, steady_clock::now() + timeout_));
  return std::nullopt;
}

// --- Connection ---

// What other threads may touch while libpq's own descriptor may be closed under them.
struct Connection::Signals {
  explicit Signals(int libpqs)
      : socket(::fcntl(libpqs, F_DUPFD_CLOEXEC, 0)),
        wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (socket < 0 || wake < 0) {
      const int why = errno;
      ::close(socket);
      ::close(wake);
      throw std::system_error(why, std::system_category(), "a session with PostgreSQL");
    }
  }
  ~Signals() {
    ::close(socket);
    ::close(wake);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int socket;
  int wake;
};

void Connection::FreeMessage::operator()(char* message) const {
  PQfreemem(message);
}

Connection::Connection(Session session, std::chrono::seconds timeout)
    : connection_(std::move(session)),
      timeout_(timeout),
      signals_(std::make_shared<const Signals>(PQsocket(connection_.get()))) {}

Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

Expected<Connection> Connection::open(const Login& login, Purpose purpose) {
  auto session = TRY(begin_session(login, purpose));
  PQsetnonblocking(session.get(), 1);
  Connection opened(std::move(session), login.timeout);
  TRY(opened.run(kSessionSettings));
  return opened;
}

Done Connection::run(const std::string& sql) {
  const Deadline deadline = steady_clock::now() + timeout_;
  TRY(libpq::send_query(connection_.get(), sql, deadline));
  return libpq::finish(connection_.get(), deadline);
}

Done Connection::roll_back() {
  return PQtransactionStatus(connection_.get()) == PQTRANS_IDLE ? Done() : run("ROLLBACK");
}

Expected<Answer> Connection::ask(const std::string& sql) {
  Answer answer;
  TRY(read_results(sql, true, [&answer](const PGresult* result) {
    append_rows(answer, result);
    return answer.size() <= kAnswerRowsMax;
  }));
  return answer;
}

Expected<std::vector<Answer>> Connection::ask_several(const std::string& sql) {
  std::vector<Answer> answers;
  TRY(read_results(sql, false, [&answers](const PGresult* result) {
    append_rows(answers.emplace_back(), result);
    return true;
  }));
  return answers;
}

Done Connection::read_results(const std::string& sql,
                              bool row_by_row,
                              const std::function<bool(const PGresult*)>& take) {
  PGconn* const raw = connection_.get();
  const Deadline deadline = steady_clock::now() + timeout_;
  TRY(libpq::send_query(raw, sql, deadline));
  if (row_by_row) {
    PQsetSingleRowMode(raw);
  }
  std::optional<Error> error;
  while (true) {
    auto result = TRY(libpq::next_result(raw, deadline));
    if (result == nullptr) {
      return error ? Done(std::unexpected(*std::move(error))) : Done();
    }
    if (libpq::is_copy(result.get())) {
      return std::unexpected(libpq::ended(raw, libpq::kCopies));
    }
    if (libpq::has_failed(result.get()) && !error) {
      error = libpq::error_of(raw, result.get());
    }
    if (!take(result.get())) {
      return std::unexpected(libpq::ended(raw, "the server returned too many rows"));
    }
  }
}

Expected<std::optional<std::string>> Connection::value(const std::string& sql) {
  auto answer = TRY(ask(sql));
  if (answer.empty() || answer.front().empty()) {
    return std::nullopt;
  }
  return std::move(answer.front().front());
}

// Until the server says that it is about to copy.
Done Connection::begin(const std::string& sql, int copy_status) {
  PGconn* const raw = connection_.get();
  const Deadline deadline = steady_clock::now() + timeout_;
  TRY(libpq::send_query(raw, sql, deadline));
  auto result = TRY(libpq::next_result(raw, deadline));
  if (PQresultStatus(result.get()) == copy_status) {
    return {};
  }
  if (!libpq::has_failed(result.get())) {
    return std::unexpected(libpq::ended(raw, "the server did not start the COPY: " + sql));
  }
  Error error = libpq::error_of(raw, result.get());
  if (auto done = libpq::finish(raw, deadline); !done && done.error().is_lost()) {
    error.is_connection_gone = true;
  }
  return std::unexpected(std::move(error));
}

Expected<Rows> Connection::stream(const std::string& sql, std::size_t columns) {
  TRY(begin(sql, PGRES_COPY_OUT));
  return Rows(connection_.get(), timeout_, columns);
}

Done Connection::start_stream(const std::string& command) {
  return begin(command, PGRES_COPY_BOTH);
}

Expected<std::optional<std::string_view>> Connection::message(std::chrono::milliseconds wait,
                                                              bool is_in_no_hurry) {
  PGconn* const raw = connection_.get();
  const Deadline deadline = steady_clock::now() + wait;
  bool is_over = false;
  while (true) {
    char* bytes = nullptr;
    const int size = PQgetCopyData(raw, &bytes, 1);
    message_.reset(bytes);
    if (size > 0) {
      return std::string_view(bytes, static_cast<std::size_t>(size));
    }
    if (size < 0) {
      return std::unexpected(finish_stream());
    }
    if (is_over) {
      std::uint64_t calls = 0;
      static_cast<void>(::read(signals_->wake, &calls, sizeof calls));
      return std::nullopt;
    }
    pollfd woken{.fd = signals_->wake, .events = POLLIN, .revents = 0};
    if (is_in_no_hurry) {
      constexpr timespec kFor{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kGather).count()};
      ::ppoll(&woken, 1, &kFor, nullptr);
    }
    // A call of wake() counts until it is answered, also if a message has come with it.
    is_over = !wait_for(raw, false, deadline, signals_->wake) || ::poll(&woken, 1, 0) > 0;
    if (PQconsumeInput(raw) == 0) {
      return std::unexpected(told_by_libpq(raw));
    }
  }
}

// Whatever it says: nothing comes any more.
Error Connection::finish_stream() {
  PGconn* const raw = connection_.get();
  const auto result = libpq::next_result(raw, steady_clock::now() + timeout_);
  if (result && *result != nullptr && libpq::has_failed(result->get())) {
    Error error = libpq::error_of(raw, result->get());
    error.is_connection_gone = true;
    return error;
  }
  return libpq::ended(raw, "the server ended the stream");
}

Done Connection::send(std::string_view message) {
  PGconn* const raw = connection_.get();
  const Deadline deadline = steady_clock::now() + timeout_;
  int done = 0;
  while ((done = PQputCopyData(raw, message.data(), static_cast<int>(message.size()))) ==
         0) {  // its buffer is full
    TRY(libpq::flush(raw, deadline));
  }
  if (done < 0) {
    return std::unexpected(told_by_libpq(raw));
  }
  return libpq::flush(raw, deadline);
}

void Connection::wake() const {
  const std::uint64_t one = 1;
  static_cast<void>(::write(signals_->wake, &one, sizeof one));
}

void Connection::interrupt() const {
  ::shutdown(signals_->socket, SHUT_RDWR);
}

std::function<void()> Connection::interruption() const {
  return [signals = signals_] { ::shutdown(signals->socket, SHUT_RDWR); };
}

std::uint64_t Connection::server_process() const {
  return static_cast<std::uint64_t>(PQbackendPID(connection_.get()));
}

int Connection::server_version() const {
  return PQserverVersion(connection_.get());
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): rests on the session's settings
std::string Connection::quoted(std::string_view text) const {
  const bool has_backslash = text.find('\\') != std::string_view::npos;
  std::string all = has_backslash ? "E'" : "'";
  for (const char byte : text) {
    all.append(byte == '\'' || byte == '\\' ? 2 : 1, byte);
  }
  return all + "'";
}

std::string quoted_name(std::string_view name) {
  return text::quoted(name, '"');
}

Expected<Connection> open_same_server(const Login& login, std::string_view identity) {
  auto opened = Connection::open(login);
  if (!opened) {
    return opened;
  }
  const auto found = TRY(server_identity(*opened));
  if (found != identity) {
    return std::unexpected(Error{.state = {},
                                 .what = "a different server answers than the one followed, or the "
                                         "same server on a different timeline",
                                 .is_connection_gone = true});
  }
  return opened;
}

}  // namespace cuckooguard::source::postgres
