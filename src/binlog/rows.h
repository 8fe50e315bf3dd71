// Reads the rows of a WRITE, UPDATE or DELETE event: of chosen columns the text, of all others only
// where they end.
//
//     reader.open(rows);
//     while (auto more = reader.next(); more && *more) { reader.before(0), reader.after(0) ... }
//
// An update has a row before and one after the change. With binlog_row_image MINIMAL or NOBLOB
// either may lack columns: one that is absent after an update has not changed; one absent before
// it, or after an insert, is not to be known.
//
// With MySQL's binlog_row_value_options = PARTIAL_JSON an update may have of a JSON value only what
// has changed, in as many bytes as it says: that it is there is known, and no more.
//
// A MariaDB table WITH SYSTEM VERSIONING logs its history as rows, too: a DELETE is an update, an
// UPDATE also writes the old row anew. Nothing in the log tells them apart: whoever follows a table
// must know that it is none.
//
// Threads: one.
// Lifetimes: the reader needs the layout only in `make`, an event's bytes from `open` to the last
//   use of a value; values are valid until `next`.
// Errors: for good, until the next `open`.
// Limits: no memory is taken per row, nor per event while the bitmaps of columns stay the same.
// Source: MySQL's "Rows_event" page; row images as recorded from MariaDB 10.11 and MySQL 9.7.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "binlog/byte_cursor.h"
#include "binlog/decode_error.h"
#include "binlog/event.h"
#include "binlog/table_layout.h"
#include "binlog/value_text.h"

namespace cuckooguard::binlog {

// A column whose values are wanted, and what the caller knows of it from elsewhere. The log's own
// word goes first.
struct ColumnChoice {
  std::uint32_t column = 0;
  std::optional<bool> is_unsigned = std::nullopt;  // of an integer
  std::optional<bool> is_binary = std::nullopt;    // BINARY, not CHAR
  bool is_null_only =
      false;  // of any type: its value has no text, but is known to be there or NULL
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
