// One connection to MariaDB or MySQL, by MariaDB Connector/C: questions, one streamed result, and
// the raw packets of a binary log dump.
//
// The library's own replication functions are not used: they decode common schemas wrongly (notes
// on change following, 2). Packets are read here and decoded in binlog/.
//
// Threads: one at a time, except interrupt(): any thread while the object lives. Lifetimes: a
// stream or packet is valid until the next call; a stream ends before anything else is asked.
// Errors: Error, also for a result that the server has cut short; is_lost() says that the
// connection is of no more use.
// Limits: kAnswerRowsMax rows of ask(); every wait ends with Login::timeout; packets up to the
// library's max_allowed_packet (1 GiB).
// Source: https://mariadb.com/kb/en/mariadb-connectorc-api-functions; MySQL's COM_BINLOG_DUMP_GTID
// payload, https://dev.mysql.com/doc/dev/mysql-server (page_protocol_com_binlog_dump_gtid).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

struct st_mysql;
struct st_mysql_res;

namespace cuckooguard::source::mysql {

inline constexpr std::size_t kAnswerRowsMax = 100'000;

struct Login {
  std::string host;
  std::uint16_t port = 3306;
  std::string unix_path;  // instead of host and port
  std::string user;
  std::string password;
  std::string password_file;  // instead; read at every connect, without a line end
  std::string database;
  config::Tls tls = config::Tls::off;
  std::string ca_file;
  std::chrono::seconds timeout{10};  // of the connect, and of each read and write
};

// To one of a source's servers.
Login login_to(const config::MysqlSource& source, const config::Address& address);

struct Error {
  unsigned code = 0;  // the server's, or the library's from 2000 to 2999 and from 5000
  std::string what;

  static Error last_of(st_mysql* connection);
  static Error refusal(std::string why);  // our own
  bool is_lost() const;
  // Somebody must mend something before we are served: the account, its rights, the server's
  // settings.
  bool is_refusal() const;
};

template <class T>
using Expected = std::expected<T, Error>;
using Done = Expected<void>;

// The code of what we refuse ourselves (mysql/server.h); neither the server nor the library has it.
inline constexpr unsigned kRefusedByUs = 1;

// What neither the server nor the library has said.
inline std::unexpected<Error> failed(std::string why) {
  return std::unexpected(Error{.code = 0, .what = std::move(why)});
}

inline Error Error::refusal(std::string why) {
  return {.code = kRefusedByUs, .what = std::move(why)};
}

// A row's values as text, nullopt for NULL; views into the library's buffer.
using Row = std::span<const std::optional<std::string_view>>;
using Answer = std::vector<std::vector<std::optional<std::string>>>;
using Record = std::map<std::string, std::optional<std::string>, std::less<>>;

struct Result {
  std::vector<std::string> names;  // of its columns
  Answer rows;

  std::vector<Record> records() &&;  // by those names
};

// Rows as they come from the server, which is made to wait for whoever reads them.
class Rows {
 public:
  // Nothing at the end.
  Expected<std::optional<Row>> next();
  // What is left, up to kAnswerRowsMax.
  Expected<Answer> all();
  std::vector<std::string> names() const;

 private:
  friend class Connection;
  struct Free {
    void operator()(st_mysql_res* result) const;  // reads what is left
  };
  Rows(st_mysql* connection, st_mysql_res* result);

  st_mysql* connection_;
  std::unique_ptr<st_mysql_res, Free> result_;
  std::vector<std::optional<std::string_view>> values_;
};

class Connection {
 public:
  // With settings of its own (connection.cpp).
  static Expected<Connection> open(const Login& login);

  Done run(std::string_view sql);
  Expected<Answer> ask(std::string_view sql);
  // The same, by the names of the columns: what SHOW gives differs between servers and releases.
  Expected<std::vector<Record>> ask_by_name(std::string_view sql);
  // Several statements in one round trip, run in this order until one fails; behind
  // allow_several(), for text that is ours alone.
  Expected<std::vector<Result>> ask_several(std::string_view sql);
  Done allow_several();
  // The first value of the first row; nothing if there is no row, or it is NULL.
  Expected<std::optional<std::string>> value(std::string_view sql);
  Expected<Rows> stream(std::string_view sql);

  // A command whose reply is packets without end: COM_BINLOG_DUMP (18), COM_BINLOG_DUMP_GTID (30).
  Done send_command(std::uint8_t command, std::span<const std::byte> payload);
  // The next packet without its first byte, which said "ok"; nothing at the end of a log that is
  // dumped without waiting for more.
  Expected<std::optional<std::span<const std::byte>>> read_packet();

  // Ends whatever waits for the server: it is lost from then on.
  void interrupt() const;

  bool is_mariadb() const;
  std::string server_version() const;
  // For use inside '...' under the connection's character set.
  std::string escaped(std::string_view text) const;

 private:
  struct Close {
    void operator()(st_mysql* connection) const;
  };
  explicit Connection(std::unique_ptr<st_mysql, Close> connection);
  Error error() const;
  Expected<Rows> rows();
  static Expected<Result> result(Expected<Rows> answer);

  std::unique_ptr<st_mysql, Close> connection_;
  int socket_ = -1;
};

// `name`, with back quotes in it doubled.
std::string quoted_name(std::string_view name);

}  // namespace cuckooguard::source::mysql
