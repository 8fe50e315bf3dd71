// Reads the rows of a WRITE, UPDATE or DELETE event: of chosen columns the text, of all others only
// where they end.
//
//     reader.open(rows);
//     while (auto more = reader.next(); more && *more) { reader.before(0), reader.after(0) ... }
//
// An update has a row before and one after the change. With binlog_row_image MINIMAL or NOBLOB
// either may lack columns: a column that is missing after an update has not changed; one that is
// missing before it, or after an insert, is unknown.
//
// With MySQL's binlog_row_value_options = PARTIAL_JSON an update may contain only the changed part
// of a JSON value, in as many bytes as it says: that the value exists is known, and no more.
//
// A MariaDB table WITH SYSTEM VERSIONING logs its history as rows, too: a DELETE is an update, an
// UPDATE also writes the old row again. Nothing in the log shows the difference: a follower must
// know that its table is not versioned.
//
// Threads: one.
// Lifetimes: the reader needs the layout only in `make`, an event's bytes from `open` to the last
//   use of a value; values are valid until `next`.
// Errors: for good, until the next `open`.
// Limits: no memory is taken per row, nor per event while the bitmaps of columns stay the same.
// Source: MySQL's "Rows_event" page; row images as recorded from MariaDB 10.11 and MySQL 9.7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "binlog/byte_cursor.h"
#include "binlog/event.h"
#include "binlog/event_header.h"
#include "binlog/table_layout.h"

namespace cuckooguard::binlog {

// Writes one stored value as the text that the server's text protocol gives for it: a row from the
// log and the same row from a SELECT become the same identity, byte for byte.
//
// Some have that text only where the SELECT is made for it, which is good enough to tell rows by
// (the caller refuses them as identities): TIMESTAMP in UTC, ENUM, SET and BIT as CAST(... AS
// UNSIGNED) gives them. What is not here has none: FLOAT's digits are the client library's, and so
// on. The caller refuses what a table map does not tell: ZEROFILL, YEAR(2), MariaDB's UUID and INET
// types, which look like BINARY here and are not, and a session with sql_mode
// PAD_CHAR_TO_FULL_LENGTH.
//
// Threads: any. Lifetimes: the text views the value or the scratch bytes given.
// Errors: `malformed`.
// Limits: the value has as many bytes as table_layout.h says for its type.
// Source: MySQL's "Data Type Storage Requirements" and "Date and Time Data Type Representation";
//   checked against SELECT in tests/binlog/recorded and integration/mariadb_keys_test.
enum class TextForm : std::uint8_t {
  none,
  bytes,        // CHAR without its trailing blanks, VARCHAR, VARBINARY: as it is
  zero_padded,  // BINARY: the log leaves out trailing zeros
  signed_int,
  unsigned_int,
  big_endian,  // BIT: an unsigned integer, its first byte the highest
  decimal,
  date,
  year,
  datetime,
  timestamp,  // in UTC
  time,
};

struct TextRule {
  TextForm form = TextForm::none;
  std::uint16_t length = 0;  // zero_padded: bytes; decimal: digits
  std::uint8_t scale = 0;    // digits behind the point

  // How much scratch `write_text` may need.
  std::size_t scratch_bytes() const;
};

using ValueText = std::expected<std::string_view, DecodeError>;
ValueText write_text(const TextRule& rule, std::string_view value, char* scratch);

// A column whose values are wanted, and what the caller knows of it from elsewhere. The log's own
// word goes first.
struct ColumnChoice {
  std::uint32_t column = 0;
  std::optional<bool> is_unsigned = std::nullopt;  // of an integer
  std::optional<bool> is_binary = std::nullopt;    // BINARY, not CHAR
  // Of any type: its value has no text, but it is known whether it is there or NULL.
  bool is_null_only = false;
};

struct Value {
  enum class State : std::uint8_t { absent, null, present };
  State state = State::absent;
  std::string_view text;
};

class RowReader {
 public:
  // Errors: `no_such_column` (also of a column that is chosen twice), `no_text_form`,
  //   `signedness_unknown`, `charset_unknown`.
  static std::expected<RowReader, DecodeError> make(const TableLayout& layout,
                                                    std::span<const ColumnChoice> choices);

  // Errors: `unknown_table`: these are not this layout's rows.
  std::expected<void, DecodeError> open(const Rows& rows);

  // False: there are no more rows.
  std::expected<bool, DecodeError> next();

  // By place among the choices. A written row has no `before`, an erased one no `after`: all
  // absent.
  const Value& before(std::size_t choice) const { return before_.values[choice]; }
  const Value& after(std::size_t choice) const { return after_.values[choice]; }

 private:
  struct Step {
    ColumnStorage storage;
    std::int32_t choice = -1;  // where its text goes, if anywhere
  };
  // How to walk one kind of image, and what it held.
  struct Image {
    bool is_known = false;
    std::string columns;  // the bitmap that `steps` are for
    std::vector<Step> steps;
    std::vector<Value> values;
    std::vector<char> scratch;
  };

  RowReader() = default;

  void prepare(Image& image, std::string_view columns) const;
  std::expected<void, DecodeError> read(Image& image);
  std::expected<void, DecodeError> skip_partial_values();
  std::expected<void, DecodeError> write(Image& image,
                                         std::size_t choice,
                                         std::string_view value) const;

  std::vector<Step> columns_;
  std::vector<TextRule> rules_;          // of the choices
  std::vector<std::size_t> scratch_at_;  // of the choices, in an image's scratch
  std::size_t scratch_bytes_ = 0;
  Image before_;
  Image after_;
  RowsKind kind_ = RowsKind::write;
  bool is_partial_ = false;
  std::size_t json_columns_ = 0;
  ByteCursor images_{{}};
};

}  // namespace cuckooguard::binlog
