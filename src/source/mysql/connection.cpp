#include "mysql/connection.h"

#include <algorithm>
#include <array>
#include <utility>

#include <mysql.h>
#include <sys/socket.h>

#include "config/password_file.h"
#include "text/number.h"
#include "text/try.h"
#include "text/words.h"

namespace cuckooguard::source::mysql {

namespace {

// A server's own settings must not change what is read in a session of ours.
//
// The settings of a session begin as the server's global ones, as the account's limits, or as
// init_connect leaves them: a limit on rows, half a second for a statement, a sql_mode by which
// CHAR is padded, no autocommit ... Each that could change a value, a number of rows, or whether
// anything is read at all is given the value that the guard relies on. A setting that this release
// does not know is left out. Source: `SHOW SESSION VARIABLES` of MariaDB 10.11 and MySQL 9.7, gone
// through one by one.

constexpr unsigned kUnknownVariable = 1193;

// DEFAULT would be the server's global value.
constexpr auto kEverywhere = std::to_array<std::string_view>({
    // Bytes as the columns hold them, in results and in the log alike; what we write is UTF-8.
    "NAMES utf8mb4 COLLATE utf8mb4_general_ci",
    "character_set_results = NULL",
    "sql_mode = ''",
    "time_zone = '+00:00'",
    "sql_quote_show_create = 1",
    // All rows, in the right order, whatever it costs.
    "sql_select_limit = 18446744073709551615",
    "max_join_size = 18446744073709551615",
    "sql_big_selects = 1",  // behind max_join_size, which changes it
    "sql_buffer_result = 0",
    "sql_auto_is_null = 0",
    "max_sort_length = 1024",  // more than any name has
    "group_concat_max_len = 1048576",
    // Transactions that begin and end where we say.
    "autocommit = 1",
    "completion_type = 0",
    // How long we may think, or wait; what waits for the server ends with Login::timeout.
    "wait_timeout = 28800",
    "net_read_timeout = 60",
    "net_write_timeout = 600",
    "lock_wait_timeout = 86400",
});

constexpr auto kMariaDb = std::to_array<std::string_view>({
    "max_statement_time = 0",
    "max_error_count = 64",  // Rows looks for warnings; MySQL lets administrators alone set it
    "idle_transaction_timeout = 0",
    "idle_readonly_transaction_timeout = 0",
    "idle_write_transaction_timeout = 0",
    "query_cache_type = 0",
    "system_versioning_asof = DEFAULT",  // of this one it is "now", in sessions, too
});

constexpr auto kMySql = std::to_array<std::string_view>({
    "max_execution_time = 0",
    "information_schema_stats_expiry = 0",  // else what it says of sizes may be a day old
});

std::string statement(std::span<const std::string_view> settings) {
  std::string sql;
  for (const std::string_view setting : settings) {
    sql += (sql.empty() ? "SET " : ", ") + std::string(setting);
  }
  return sql;
}

Done run(Connection& connection, const std::string& sql) {
  auto done = connection.run(sql);
  if (!done) {
    done.error().what += " (" + sql.substr(0, 100) + ")";
  }
  return done;
}

// At once, or one by one where the server does not know them all.
Done set(Connection& connection, std::span<const std::string_view> settings) {
  const auto done = run(connection, statement(settings));
  if (done || done.error().code != kUnknownVariable) {
    return done;
  }
  for (const std::string_view setting : settings) {
    if (auto one = run(connection, "SET " + std::string(setting));
        !one && one.error().code != kUnknownVariable) {
      return one;
    }
  }
  return {};
}

Done settle_session(Connection& connection, std::string_view database) {
  // First what ends statements, and a transaction that init_connect may have begun.
  const std::span<const std::string_view> own =
      connection.is_mariadb() ? std::span<const std::string_view>(kMariaDb) : kMySql;
  TRY(set(connection, own));
  TRY(set(connection, kEverywhere));
  for (const char* const sql :
       {"ROLLBACK", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"}) {
    TRY(run(connection, sql));
  }
  return database.empty() ? Done{} : run(connection, "USE " + quoted_name(database));
}

constexpr unsigned char kOkPacket = 0x00;
constexpr unsigned char kEndPacket = 0xFE;

void set(MYSQL* connection, enum mysql_option option, unsigned value) {
  mysql_optionsv(connection, option, &value);
}

void set_tls(MYSQL* connection, const Login& login) {
  if (login.tls == config::Tls::off) {
    return;
  }
  const my_bool yes = 1;
  const my_bool verifies = login.tls == config::Tls::verified ? 1 : 0;
  mysql_optionsv(connection, MYSQL_OPT_SSL_ENFORCE, &yes);
  mysql_optionsv(connection, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verifies);
  if (!login.ca_file.empty()) {
    mysql_optionsv(connection, MYSQL_OPT_SSL_CA, login.ca_file.c_str());
  }
}

const char* text_or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

}  // namespace

Login login_to(const config::MysqlSource& source, const config::Address& address) {
  return {.host = address.host,
          .port = address.port,
          .unix_path = address.unix_path,
          .user = source.user,
          .password = source.password,
          .password_file = source.password_file,
          .database = source.database,
          .tls = source.tls,
          .ca_file = source.ca_file};
}

namespace {

std::string address_of(const Login& login) {
  return login.unix_path.empty() ? login.host + ":" + std::to_string(login.port)
                                 : "unix:" + login.unix_path;
}

// The server's words with what they leave out: which server, or what mends it.
Error told_in_full(Error error, const Login& login, std::string_view password) {
  constexpr unsigned kDatabaseDenied = 1044;
  constexpr unsigned kUserDenied = 1045;
  constexpr std::string_view kUser = "for user ";
  constexpr std::string_view kDatabase = " to database ";
  if (error.is_lost()) {
    error.what = address_of(login) + ": " + error.what;
  }
  const std::size_t user = error.what.find(kUser);
  const std::size_t database = error.what.find(kDatabase);
  if (error.code == kDatabaseDenied && user != std::string::npos && database != std::string::npos &&
      user + kUser.size() < database) {
    const std::size_t begin = user + kUser.size();
    error.what += ": GRANT SELECT ON " + quoted_name(login.database) + ".* TO " +
                  error.what.substr(begin, database - begin);
  }
  if (error.code == kUserDenied && password.empty() && !login.password_file.empty()) {
    error.what += ": " + login.password_file + " is empty or unreadable";
  }
  return error;
}

}  // namespace

bool Error::is_lost() const {
  // CR_SERVER_GONE_ERROR, CR_SERVER_LOST and their like; of the server's, a shutdown and a kill.
  constexpr unsigned kServerShutdown = 1053;
  constexpr unsigned kConnectionKilled = 1927;
  return (code >= 2000 && code < 3000) || code >= 5000 || code == kServerShutdown ||
         code == kConnectionKilled;
}

Error Error::last_of(st_mysql* connection) {
  return {.code = mysql_errno(connection), .what = mysql_error(connection)};
}

bool Error::is_refusal() const {
  static constexpr std::array kCodes{
      kRefusedByUs,
      1044U,  // ER_DBACCESS_DENIED_ERROR
      1045U,  // ER_ACCESS_DENIED_ERROR
      1049U,  // ER_BAD_DB_ERROR
      1130U,  // ER_HOST_NOT_PRIVILEGED
      1142U,  // ER_TABLEACCESS_DENIED_ERROR
      1143U,  // ER_COLUMNACCESS_DENIED_ERROR
      1227U,  // ER_SPECIFIC_ACCESS_DENIED_ERROR
      1251U,  // ER_NOT_SUPPORTED_AUTH_MODE
      1698U,  // ER_ACCESS_DENIED_NO_PASSWORD_ERROR
      1820U,  // ER_MUST_CHANGE_PASSWORD
      1862U,  // ER_MUST_CHANGE_PASSWORD_LOGIN
      3118U,  // MySQL: ER_ACCOUNT_HAS_BEEN_LOCKED
      3159U,  // MySQL: ER_SECURE_TRANSPORT_REQUIRED
      4151U,  // MariaDB: ER_ACCOUNT_HAS_BEEN_LOCKED
  };
  return std::ranges::find(kCodes, code) != kCodes.end();
}

void Connection::Close::operator()(st_mysql* connection) const {
  mysql_close(connection);
}

Connection::Connection(std::unique_ptr<st_mysql, Close> connection)
    : connection_(std::move(connection)), socket_(mysql_get_socket(connection_.get())) {}

Expected<Connection> Connection::open(const Login& login) {
  std::unique_ptr<st_mysql, Close> connection(mysql_init(nullptr));
  if (connection == nullptr) {
    throw std::bad_alloc();
  }
  MYSQL* const raw = connection.get();
  const auto seconds = static_cast<unsigned>(login.timeout.count());
  set(raw, MYSQL_OPT_CONNECT_TIMEOUT, seconds);
  set(raw, MYSQL_OPT_READ_TIMEOUT, seconds);
  set(raw, MYSQL_OPT_WRITE_TIMEOUT, seconds);
  set(raw, MYSQL_OPT_LOCAL_INFILE, 0);  // a server may ask for files of ours
  mysql_optionsv(raw, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  set_tls(raw, login);
  const std::string password = config::password_of(login.password_file, login.password);
  if (mysql_real_connect(raw,
                         text_or_null(login.host),
                         login.user.c_str(),
                         password.c_str(),
                         text_or_null(login.database),
                         login.port,
                         text_or_null(login.unix_path),
                         0) == nullptr) {
    return std::unexpected(told_in_full(Error::last_of(raw), login, password));
  }
  Connection opened(std::move(connection));
  TRY(settle_session(opened, login.database));
  return opened;
}

Done Connection::run(std::string_view sql) {
  auto rows = ask(sql);
  return rows ? Done() : std::unexpected(std::move(rows.error()));
}

Expected<Answer> Connection::ask(std::string_view sql) {
  auto rows = TRY(stream(sql));
  return rows.all();
}

std::vector<Record> Result::records() && {
  std::vector<Record> all;
  for (auto& row : rows) {
    Record& record = all.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) {
      record.emplace(names[i], std::move(row[i]));
    }
  }
  return all;
}

Expected<std::vector<Record>> Connection::ask_by_name(std::string_view sql) {
  auto all = TRY(result(stream(sql)));
  return std::move(all).records();
}

Done Connection::allow_several() {
  if (mysql_set_server_option(connection_.get(), MYSQL_OPTION_MULTI_STATEMENTS_ON) != 0) {
    return std::unexpected(error());
  }
  return {};
}

Expected<std::vector<Result>> Connection::ask_several(std::string_view sql) {
  MYSQL* const raw = connection_.get();
  std::vector<Result> all;
  int left = mysql_real_query(raw, sql.data(), sql.size());
  for (; left == 0; left = mysql_next_result(raw)) {
    auto one = result(rows());
    if (!one) {
      ::shutdown(socket_, SHUT_RDWR);  // what is left would be taken for the next answer
      return std::unexpected(std::move(one.error()));
    }
    all.push_back(*std::move(one));
  }
  if (left > 0) {
    return std::unexpected(error());
  }
  return all;
}

// Of the statement that was run last.
Expected<Rows> Connection::rows() {
  MYSQL* const raw = connection_.get();
  MYSQL_RES* const begun = mysql_use_result(raw);
  if (begun == nullptr && mysql_errno(raw) != 0) {
    return std::unexpected(error());
  }
  return Rows(raw, begun);
}

Expected<Result> Connection::result(Expected<Rows> answer) {
  auto rows = TRY(std::move(answer));
  std::vector<std::string> names = rows.names();
  auto all = TRY(rows.all());
  return Result{.names = std::move(names), .rows = std::move(all)};
}

Expected<std::optional<std::string>> Connection::value(std::string_view sql) {
  auto answer = TRY(ask(sql));
  if (answer.empty() || answer.front().empty()) {
    return std::nullopt;
  }
  return answer.front().front();
}

Expected<Rows> Connection::stream(std::string_view sql) {
  if (mysql_real_query(connection_.get(), sql.data(), sql.size()) != 0) {
    return std::unexpected(error());
  }
  return rows();
}

Done Connection::send_command(std::uint8_t command, std::span<const std::byte> payload) {
  MYSQL* const raw = connection_.get();
  const int failed = raw->methods->db_command(raw,
                                              static_cast<enum_server_command>(command),
                                              reinterpret_cast<const char*>(payload.data()),
                                              payload.size(),
                                              1,
                                              nullptr);
  if (failed != 0) {
    return std::unexpected(error());
  }
  return {};
}

Expected<std::optional<std::span<const std::byte>>> Connection::read_packet() {
  MYSQL* const raw = connection_.get();
  const unsigned long size = mysql_net_read_packet(raw);
  if (size == packet_error || size == 0) {
    return std::unexpected(error());
  }
  const unsigned char* const bytes = raw->net.read_pos;
  if (bytes[0] == kEndPacket && size < 9) {
    return std::nullopt;
  }
  if (bytes[0] != kOkPacket) {
    return std::unexpected(
        Error{.code = 2027, .what = "the server sent a packet of an unknown type"});
  }
  return std::as_bytes(std::span(bytes + 1, size - 1));
}

void Connection::interrupt() const {
  ::shutdown(socket_, SHUT_RDWR);
}

bool Connection::is_mariadb() const {
  return mariadb_connection(connection_.get()) != 0;
}

std::string Connection::server_version() const {
  return mysql_get_server_info(connection_.get());
}

std::string Connection::escaped(std::string_view text) const {
  std::string all(2 * text.size() + 1, '\0');
  all.resize(mysql_real_escape_string(connection_.get(), all.data(), text.data(), text.size()));
  return all;
}

Error Connection::error() const {
  return Error::last_of(connection_.get());
}

std::string quoted_name(std::string_view name) {
  return text::quoted(name, '`');
}

namespace {

// A result may end early without an error: information_schema leaves out what it cannot look at for
// now, and what comes behind the moment at which a statement is stopped. It says so in a warning.
std::optional<Error> why_cut_short(MYSQL* connection) {
  // A wait for a lock, a deadlock, KILL QUERY, a table that is being defined; limits on time.
  constexpr std::array<unsigned, 6> kCutShort{1205, 1213, 1317, 1684, 1969, 3024};
  if (mysql_warning_count(connection) == 0) {
    return std::nullopt;
  }
  if (mysql_query(connection, "SHOW WARNINGS") != 0) {
    return Error::last_of(connection);
  }
  const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> warnings(
      mysql_store_result(connection), &mysql_free_result);
  while (MYSQL_ROW row = warnings == nullptr ? nullptr : mysql_fetch_row(warnings.get())) {
    const auto code = text::leading_number<unsigned>(row[1]);
    if (std::ranges::find(kCutShort, code) != kCutShort.end()) {
      return Error{.code = code, .what = row[2]};
    }
  }
  return std::nullopt;
}

}  // namespace

void Rows::Free::operator()(st_mysql_res* result) const {
  mysql_free_result(result);
}

Rows::Rows(st_mysql* connection, st_mysql_res* result)
    : connection_(connection),
      result_(result),
      values_(result == nullptr ? 0 : mysql_num_fields(result)) {}

Expected<std::optional<Row>> Rows::next() {
  if (result_ == nullptr) {  // the statement has no result at all
    return std::nullopt;
  }
  char** const row = mysql_fetch_row(result_.get());
  if (row == nullptr) {
    if (mysql_errno(connection_) != 0) {
      return std::unexpected(Error::last_of(connection_));
    }
    if (auto why = why_cut_short(connection_)) {
      return std::unexpected(*std::move(why));
    }
    return std::nullopt;
  }
  const unsigned long* const lengths = mysql_fetch_lengths(result_.get());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i] =
        row[i] == nullptr ? std::nullopt : std::optional(std::string_view(row[i], lengths[i]));
  }
  return Row(values_);
}

std::vector<std::string> Rows::names() const {
  std::vector<std::string> names;
  names.reserve(values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    names.emplace_back(mysql_fetch_field_direct(result_.get(), static_cast<unsigned>(i))->name);
  }
  return names;
}

Expected<Answer> Rows::all() {
  Answer answer;
  while (answer.size() < kAnswerRowsMax) {
    const std::optional<Row> row = TRY(next());
    if (!row) {
      break;
    }
    answer.emplace_back(row->begin(), row->end());
  }
  return answer;
}

}  // namespace cuckooguard::source::mysql
