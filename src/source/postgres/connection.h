// One session with PostgreSQL, by libpq: questions, one streamed COPY, and a replication stream.
//
// Sessions have settings of their own (postgres/session.cpp): row security that is an
// error instead of fewer rows, UTF-8 (bytes as they are, where a database has no encoding), ISO
// dates, no search path, no time-outs of the role's.
//
// Threads: one at a time, except interrupt(): any thread while the object lives and is not moved;
// what interruption() gives: any, whenever. Lifetimes: a row or a message is valid until the next
// call; a stream ends before anything else is asked. Errors: PostgresError; is_lost() says that the
// session is of no more use.
// Limits: kPostgresAnswerRowsMax rows of ask(); every wait ends with PostgresLogin::timeout, but
// that for a message of a replication stream, whose caller has its own. Source: libpq 15;
// PostgreSQL's documentation, 34 and 55.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "follow/log.h"

struct pg_conn;

namespace cuckooguard::source {

// A row of COPY … TO STDOUT in text format: values between tabs, NULL as \N, other bytes that mean
// something behind backslashes.
//
// Threads: free functions. Errors: false, of a row with another number of columns.
// Source: PostgreSQL's documentation of COPY, "Text Format", and what CopyAttributeOutText writes.

// Values are undone in place: views into `row`, which has no line end.
bool parse_copy_row(std::span<char> row, std::span<std::optional<std::string_view>> values);

struct PostgresLogin {
  std::vector<config::Address> addresses;  // several: the first that is no standby
  std::string user;
  std::string password;
  std::string password_file;  // instead; read at every connect, without a line end
  std::string database;
  config::Tls tls = config::Tls::off;
  std::string ca_file;               // empty: the system's
  std::chrono::seconds timeout{10};  // of the connect, and of each answer

  bool operator==(const PostgresLogin&) const = default;
};

PostgresLogin login_to(const config::PostgresSource& source);

struct PostgresError {
  std::string state;  // SQLSTATE; empty: the library's, or ours
  std::string what;
  bool is_connection_gone = false;
  bool is_ours = false;  // refused by ourselves

  bool is_lost() const { return is_connection_gone; }
  // Somebody must mend something before we are served: the account, its rights, the server's
  // settings.
  bool is_refusal() const;
};

// What neither the server nor the library has said.
inline std::unexpected<PostgresError> postgres_failed(std::string why) {
  return std::unexpected(PostgresError{.state = {}, .what = std::move(why)});
}
inline std::unexpected<PostgresError> postgres_refused(std::string why) {
  return std::unexpected(PostgresError{.state = {}, .what = std::move(why), .is_ours = true});
}

inline constexpr std::size_t kPostgresAnswerRowsMax = 100'000;

using PostgresAnswer = std::vector<std::vector<std::optional<std::string>>>;

class PostgresConnection;

struct ClosePostgres {
  void operator()(pg_conn* connection) const;
};
using PostgresSession = std::unique_ptr<pg_conn, ClosePostgres>;

// Rows of a COPY … TO STDOUT, in text, as they come.
class PostgresRows {
 public:
  PostgresRows(PostgresRows&& other) noexcept;
  PostgresRows(const PostgresRows&) = delete;
  PostgresRows& operator=(const PostgresRows&) = delete;
  PostgresRows& operator=(PostgresRows&&) = delete;
  ~PostgresRows();  // what is left is not read: the session is interrupted

  // Nothing at the end.
  std::expected<std::optional<RowValues>, PostgresError> next();

 private:
  friend class PostgresConnection;
  PostgresRows(pg_conn* connection, std::chrono::seconds timeout, std::size_t columns);
  std::expected<std::optional<RowValues>, PostgresError> end();
  void free_row();

  pg_conn* connection_;  // null: ended
  std::chrono::seconds timeout_;
  char* row_ = nullptr;  // the library's
  std::vector<std::optional<std::string_view>> values_;
};

class PostgresConnection {
 public:
  enum class Purpose : std::uint8_t { questions, replication };

  static std::expected<PostgresConnection, PostgresError> open(
      const PostgresLogin& login, Purpose purpose = Purpose::questions);
  // And it is the server that has this identity (server_identity()).
  static std::expected<PostgresConnection, PostgresError> open_same(const PostgresLogin& login,
                                                                    std::string_view identity);
  PostgresConnection(PostgresConnection&& other) noexcept;
  PostgresConnection& operator=(PostgresConnection&& other) noexcept;
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;
  ~PostgresConnection();

  // From now on, instead of PostgresLogin::timeout.
  void wait_for_answers(std::chrono::seconds timeout) { timeout_ = timeout; }

  std::expected<void, PostgresError> run(const std::string& sql);
  std::expected<PostgresAnswer, PostgresError> ask(const std::string& sql);
  // Several statements in one round trip, each with a snapshot of its own; an answer of each.
  std::expected<std::vector<PostgresAnswer>, PostgresError> ask_several(const std::string& sql);
  // The first value of the first row; nothing if there is no row, or it is NULL.
  std::expected<std::optional<std::string>, PostgresError> value(const std::string& sql);
  // `sql` is a COPY (…) TO STDOUT of so many columns.
  std::expected<PostgresRows, PostgresError> stream(const std::string& sql, std::size_t columns);

  // --- replication ---
  // START_REPLICATION …: it can do nothing else from now on.
  std::expected<void, PostgresError> start_stream(const std::string& command);
  // The next message of the stream, nothing if none has come within `wait`, or wake() was called.
  // If it `is_in_no_hurry` and none is here, others may gather for kGather: the server sends each
  // by itself, and for each we would be woken.
  static constexpr std::chrono::microseconds kGather{100};
  std::expected<std::optional<std::string_view>, PostgresError> message(
      std::chrono::milliseconds wait, bool is_in_no_hurry = false);
  std::expected<void, PostgresError> send(std::string_view message);
  // Any thread: message() returns at once, now or the next time.
  void wake() const;

  // Any thread: ends whatever waits for the server: it is lost from then on.
  void interrupt() const;
  // The same of this session, wherever it is moved to, and when it is gone.
  std::function<void()> interruption() const;

  // The server's process that serves it.
  std::uint64_t server_process() const;
  int server_version() const;  // 150004 for 15.4
  // With its quotes: 'it''s', E'…' where it needs that.
  std::string quoted(std::string_view text) const;

 private:
  struct FreeMessage {
    void operator()(char* message) const;
  };
  struct Signals;
  PostgresConnection(PostgresSession session, std::chrono::seconds timeout);
  std::expected<void, PostgresError> begin(const std::string& sql, int copy_status);
  PostgresError finish_stream();

  PostgresSession connection_;
  std::chrono::seconds timeout_;
  std::shared_ptr<const Signals> signals_;
  std::unique_ptr<char, FreeMessage> message_;
};

// "name", with quotes in it doubled.
std::string quoted_postgres_name(std::string_view name);

// Tells one server, and one history of it, from another: its system identifier, its timeline, and
// when it was started.
std::expected<std::string, PostgresError> server_identity(PostgresConnection& connection);
// Without the last, which does not outlive a restart.
std::string timeline_of(std::string_view identity);

}  // namespace cuckooguard::source
