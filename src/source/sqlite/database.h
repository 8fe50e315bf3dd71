// A connection to one SQLite database file, and its statements, as values with destructors.
// Read-only, but for the installing of a trigger log.
//
// Threads: one at a time, except interrupt() (any thread while the object lives).
// Errors: Error; `busy` are those that pass by themselves (a writer holds the lock).
// Traps: never open() the database file by other means in this process: closing that descriptor
// would drop SQLite's
//        POSIX locks (sqlite.org/howtocorrupt.html, 2.2). stat() is fine.
//        No mmap: a file cut short by another process would be a SIGBUS here, and with us dies the
//        application's Redis address. It costs about a tenth: 1,000,000 rows scanned in 115 ms
//        instead of 105.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "text/try.h"

namespace cuckooguard::source::sqlite {

inline constexpr int kPrimaryCode =
    0xff;  // the part of an extended result code that is the primary one

struct Error {
  int code = SQLITE_OK;  // extended result code
  std::string what;

  // A writer is in the way. Who may only read cannot tell the journal of one that is about to write
  // from one that an interrupted writer has left, and is told SQLITE_READONLY_ROLLBACK for both.
  bool is_busy() const {
    const int primary = code & kPrimaryCode;
    return primary == SQLITE_BUSY || primary == SQLITE_LOCKED || primary == SQLITE_PROTOCOL ||
           code == SQLITE_READONLY_ROLLBACK;
  }
};

template <class T>
using Expected = std::expected<T, Error>;
using Done = Expected<void>;

class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  void bind(int parameter, std::string_view text);  // from 1; the text is copied
  void bind(int parameter, std::int64_t number);
  Expected<bool> step();  // whether there is a row
  void reset();

  int type(int column) const { return sqlite3_column_type(statement_.get(), column); }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  // TEXT as UTF-8 or BLOB, as it stands; valid until the next step() or reset().
  std::string_view bytes(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  static Expected<Database> open_read_only(const std::string& path);
  // Of a database that is there. Waits up to `patience` for other writers.
  static Expected<Database> open_to_write(const std::string& path,
                                          std::chrono::milliseconds patience);

  Expected<Statement> prepare(std::string_view sql) const;
  Done run(std::string_view sql) const;        // one statement
  Done run_all(const std::string& sql) const;  // any number

  // SQLite's own word on whether the open file is still the one at its path.
  bool is_still_at_its_path() const;
  // The collation's name of a table's column; nullopt if there is no such column.
  std::optional<std::string> collation(const std::string& table, const std::string& column) const;
  bool is_autoincrement(const std::string& table, const std::string& column) const;

  // Makes a statement that runs at this moment end with SQLITE_INTERRUPT.
  void interrupt() const { sqlite3_interrupt(database_.get()); }
  Error error() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  explicit Database(sqlite3* database) : database_(database) {}
  static Expected<Database> open(const std::string& path, int access);

  std::unique_ptr<sqlite3, Close> database_;
};

// "name", with quotes in it doubled.
std::string quoted_identifier(std::string_view name);
// 'text', likewise.
std::string quoted_text(std::string_view text);

// Every row of `sql` through take(statement); one name is bound, if it is not empty.
template <typename Take>
Done each_row(const Database& database,
              std::string_view sql,
              std::string_view name,
              const Take& take) {
  auto statement = TRY(database.prepare(sql));
  if (!name.empty()) {
    statement.bind(1, name);
  }
  for (;;) {
    if (!TRY(statement.step())) {
      return {};
    }
    take(statement);
  }
}

// The first value of the first row, or 0 if there is none; likewise.
Expected<std::int64_t> number(const Database& database,
                              std::string_view sql,
                              std::string_view name = "");
// The same, of what is never less.
Expected<std::uint64_t> count(const Database& database,
                              std::string_view sql,
                              std::string_view name = "");

}  // namespace cuckooguard::source::sqlite
