// One session with PostgreSQL, by libpq: questions, one streamed COPY, and a replication stream.
//
// Sessions have settings of their own (postgres/session.cpp): row security that is an
// error instead of fewer rows, UTF-8 (bytes as they are, where a database has no encoding), ISO
// dates, no search path, no time-outs of the role's.
//
// Threads: one at a time, except interrupt(): any thread while the object lives and is not moved;
// what interruption() gives: any, whenever. Lifetimes: a row or a message is valid until the next
// call; a stream ends before anything else is asked. Errors: Error; is_lost() says that the
// session is of no more use.
// Limits: kAnswerRowsMax rows of ask(); every wait ends with Login::timeout, but
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
struct pg_result;

namespace cuckooguard::source::postgres {

// A row of COPY … TO STDOUT in text format: values between tabs, NULL as \N, other bytes that mean
// something behind backslashes.
//
// Threads: free functions. Errors: false, of a row with another number of columns.
// Source: PostgreSQL's documentation of COPY, "Text Format", and what CopyAttributeOutText writes.

// Values are undone in place: views into `row`, which has no line end.
bool parse_copy_row(std::span<char> row, std::span<std::optional<std::string_view>> values);

struct Login {
  std::vector<config::Address> addresses;  // several: the first that is no standby
  std::string user;
  std::string password;
  std::string password_file;  // instead; read at every connect, without a line end
  std::string database;
  config::Tls tls = config::Tls::off;
  std::string ca_file;               // empty: the system's
  std::chrono::seconds timeout{10};  // of the connect, and of each answer

  bool operator==(const Login&) const = default;
};

Login login_to(const config::PostgresSource& source);

struct Error {
  std::string state;  // SQLSTATE; empty: the library's, or ours
  std::string what;
  bool is_connection_gone = false;
  bool is_ours = false;  // refused by ourselves

  static Error refusal(std::string why) {
    return {.state = {}, .what = std::move(why), .is_ours = true};
  }
  bool is_lost() const { return is_connection_gone; }
  // Somebody must mend something before we are served: the account, its rights, the server's
  // settings.
  bool is_refusal() const;
};

template <class T>
using Expected = std::expected<T, Error>;
using Done = Expected<void>;

// What neither the server nor the library has said.
inline std::unexpected<Error> failed(std::string why) {
  return std::unexpected(Error{.state = {}, .what = std::move(why)});
}
inline std::unexpected<Error> refused(std::string why) {
  return std::unexpected(Error::refusal(std::move(why)));
}

inline constexpr std::size_t kAnswerRowsMax = 100'000;

using Answer = std::vector<std::vector<std::optional<std::string>>>;

class Connection;

struct CloseSession {
  void operator()(pg_conn* connection) const;
};
using Session = std::unique_ptr<pg_conn, CloseSession>;

// Rows of a COPY … TO STDOUT, in text, as they come.
class Rows {
 public:
  Rows(Rows&& other) noexcept;
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  Rows& operator=(Rows&&) = delete;
  ~Rows();  // what is left is not read: the session is interrupted

  // Nothing at the end.
  Expected<std::optional<RowValues>> next();

 private:
  friend class Connection;
  Rows(pg_conn* connection, std::chrono::seconds timeout, std::size_t columns);
  Expected<std::optional<RowValues>> end();
  void free_row();

  pg_conn* connection_;  // null: ended
  std::chrono::seconds timeout_;
  char* row_ = nullptr;  // the library's
  std::vector<std::optional<std::string_view>> values_;
};

class Connection {
 public:
  enum class Purpose : std::uint8_t { questions, replication };

  static Expected<Connection> open(const Login& login, Purpose purpose = Purpose::questions);
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // From now on, instead of Login::timeout.
  void wait_for_answers(std::chrono::seconds timeout) { timeout_ = timeout; }

  Done run(const std::string& sql);
  // Asks nothing where no transaction is open: the server would write a warning into its log.
  Done roll_back();
  Expected<Answer> ask(const std::string& sql);
  // Several statements in one round trip, each with a snapshot of its own; an answer of each.
  Expected<std::vector<Answer>> ask_several(const std::string& sql);
  // The first value of the first row; nothing if there is no row, or it is NULL.
  Expected<std::optional<std::string>> value(const std::string& sql);
  // `sql` is a COPY (…) TO STDOUT of so many columns.
  Expected<Rows> stream(const std::string& sql, std::size_t columns);

  // --- replication ---
  // START_REPLICATION …: it can do nothing else from now on.
  Done start_stream(const std::string& command);
  // The next message of the stream, nothing if none has come within `wait`, or wake() was called.
  // If it `is_in_no_hurry` and none is here, others may gather for kGather: the server sends each
  // by itself, and for each we would be woken.
  static constexpr std::chrono::microseconds kGather{100};
  Expected<std::optional<std::string_view>> message(std::chrono::milliseconds wait,
                                                    bool is_in_no_hurry = false);
  Done send(std::string_view message);
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
  Connection(Session session, std::chrono::seconds timeout);
  Done begin(const std::string& sql, int copy_status);
  // `take`: of each result; false: these are too many.
  Done read_results(const std::string& sql,
                    bool row_by_row,
                    const std::function<bool(const pg_result*)>& take);
  Error finish_stream();

  Session connection_;
  std::chrono::seconds timeout_;
  std::shared_ptr<const Signals> signals_;
  std::unique_ptr<char, FreeMessage> message_;
};

// "name", with quotes in it doubled.
std::string quoted_name(std::string_view name);

// Tells one server, and one history of it, from another: its system identifier, its timeline, and
// when it was started.
Expected<std::string> server_identity(Connection& connection);
// An error if it is another one that answers.
Expected<Connection> open_same_server(const Login& login, std::string_view identity);
// Without the last, which does not outlive a restart.
std::string timeline_of(std::string_view identity);

}  // namespace cuckooguard::source::postgres
