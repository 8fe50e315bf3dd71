#include "binlog/decode_error.h"

namespace cuckooguard::binlog {

std::string_view describe(DecodeError error) {
  switch (error) {
    case DecodeError::length_mismatch:
      return "the event is not as long as its header says";
    case DecodeError::checksum_mismatch:
      return "the event's checksum does not match";
    case DecodeError::no_format_description:
      return "an event came before the format description";
    case DecodeError::unsupported_format:
      return "the format description is not one of MariaDB 10.5+ or MySQL 8+";
    case DecodeError::truncated:
      return "a field reaches beyond the event";
    case DecodeError::trailing_bytes:
      return "bytes are left behind the last field";
    case DecodeError::malformed:
      return "a field has a value that no server writes";
    case DecodeError::too_large:
      return "the event is larger than allowed";
    case DecodeError::decompression_failed:
      return "the event cannot be decompressed";
    case DecodeError::unknown_table:
      return "rows came without a fitting table map";
    case DecodeError::old_temporal:
      return "the table has a TIME, DATETIME or TIMESTAMP column in the format of before MariaDB "
             "10.1";
    case DecodeError::no_text_form:
      return "the column's type has no text that can be told from the log";
    case DecodeError::signedness_unknown:
      return "whether the integer column is unsigned is not known";
    case DecodeError::charset_unknown:
      return "whether the column is CHAR or BINARY is not known";
    case DecodeError::no_such_column:
      return "the table has no such column";
  }
  return "unknown error";
}

}  // namespace cuckooguard::binlog
