#include "sqlite/database.h"

#include <algorithm>

#include "text/words.h"

namespace cuckooguard::source::sqlite {

void Statement::bind(int parameter, std::string_view text) {
  // A failure (no memory, no such parameter) leaves NULL, which no name in a schema equals.
  sqlite3_bind_text(statement_.get(),
                    parameter,
                    text.data(),
                    static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);  // NOLINT(performance-no-int-to-ptr): SQLite's own constant
}

void Statement::bind(int parameter, std::int64_t number) {
  sqlite3_bind_int64(statement_.get(), parameter, number);
}

Expected<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code == SQLITE_DONE) {
    return false;
  }
  sqlite3* database = sqlite3_db_handle(statement_.get());
  return std::unexpected(
      Error{.code = sqlite3_extended_errcode(database), .what = sqlite3_errmsg(database)});
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

std::string_view Statement::bytes(int column) const {
  // Text first: it converts UTF-16 databases, and only then is the byte count that of UTF-8.
  const void* begin = type(column) == SQLITE_BLOB
                          ? sqlite3_column_blob(statement_.get(), column)
                          : static_cast<const void*>(sqlite3_column_text(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return begin == nullptr
             ? std::string_view{}
             : std::string_view{static_cast<const char*>(begin), static_cast<std::size_t>(size)};
}

Expected<Database> Database::open_read_only(const std::string& path) {
  return open(path, SQLITE_OPEN_READONLY);
}

Expected<Database> Database::open_to_write(const std::string& path,
                                           std::chrono::milliseconds patience) {
  auto database = open(path, SQLITE_OPEN_READWRITE);
  if (database) {
    sqlite3_busy_timeout(database->database_.get(), static_cast<int>(patience.count()));
  }
  return database;
}

Expected<Database> Database::open(const std::string& path, int access) {
  // Some builds of SQLite read every name that begins with "file:" as a URI.
  const std::string name = path.starts_with("file:") ? "./" + path : path;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(
      name.c_str(), &raw, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) {
    return std::unexpected(database.error());
  }
  // No checkpoint is ours to make, and nothing the schema holds may run code of its own choosing.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return database;
}

Expected<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(
      database_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) {
    return std::unexpected(error());
  }
  return Statement(statement);
}

Done Database::run(std::string_view sql) const {
  return each_row(*this, sql, "", [](Statement&) {});
}

Done Database::run_all(const std::string& sql) const {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return std::unexpected(error());
  }
  return {};
}

bool Database::is_still_at_its_path() const {
  int has_moved = 1;
  const int code =
      sqlite3_file_control(database_.get(), nullptr, SQLITE_FCNTL_HAS_MOVED, &has_moved);
  return code == SQLITE_OK && has_moved == 0;
}

std::optional<std::string> Database::collation(const std::string& table,
                                               const std::string& column) const {
  const char* name = nullptr;
  const int code = sqlite3_table_column_metadata(database_.get(),
                                                 "main",
                                                 table.c_str(),
                                                 column.c_str(),
                                                 nullptr,
                                                 &name,
                                                 nullptr,
                                                 nullptr,
                                                 nullptr);
  if (code != SQLITE_OK || name == nullptr) {
    return std::nullopt;
  }
  return name;
}

bool Database::is_autoincrement(const std::string& table, const std::string& column) const {
  int autoincrement = 0;
  const int code = sqlite3_table_column_metadata(database_.get(),
                                                 "main",
                                                 table.c_str(),
                                                 column.c_str(),
                                                 nullptr,
                                                 nullptr,
                                                 nullptr,
                                                 nullptr,
                                                 &autoincrement);
  return code == SQLITE_OK && autoincrement != 0;
}

Error Database::error() const {
  if (database_ == nullptr) {
    return {.code = SQLITE_NOMEM, .what = "out of memory"};
  }
  return {.code = sqlite3_extended_errcode(database_.get()),
          .what = sqlite3_errmsg(database_.get())};
}

std::string quoted_identifier(std::string_view name) {
  return text::quoted(name, '"');
}

std::string quoted_text(std::string_view text) {
  return text::quoted(text, '\'');
}

Expected<std::int64_t> number(const Database& database,
                              std::string_view sql,
                              std::string_view name) {
  auto statement = TRY(database.prepare(sql));
  if (!name.empty()) {
    statement.bind(1, name);
  }
  const bool has_row = TRY(statement.step());
  return has_row ? statement.integer(0) : 0;
}

Expected<std::uint64_t> count(const Database& database,
                              std::string_view sql,
                              std::string_view name) {
  const std::int64_t found = TRY(number(database, sql, name));
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, found));
}

}  // namespace cuckooguard::source::sqlite
