// Cuts a text file into records: lines, or CSV records of fields.
//
//   lines  a record is a line without its LF or CR LF, and has one field. Empty lines are skipped.
//   csv    RFC 4180: fields between commas; a field in double quotes may hold commas, line ends and
//          "" for a quote. A quote inside an unquoted field, or text behind a closing quote, is an
//          error. Empty lines are skipped.
// A UTF-8 byte order mark at the start is skipped. The last record needs no line end.
//
// Threads: one. Lifetimes: fields are valid until the next call.
// Errors: a sentence with the line's number; the reader is then at its end.
// Limits: kRecordBytesMax per record, kFieldsMax fields.
// Source: RFC 4180, section 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace cuckooguard::source {

class RecordReader {
 public:
  using Fields = std::span<const std::string_view>;
  // Fills the front of the buffer; the bytes read, 0 at the end, or a sentence why not.
  using Read = std::function<std::expected<std::size_t, std::string>(std::span<char>)>;

  static constexpr std::size_t kChunkBytes = 256 * 1024;
  static constexpr std::size_t kRecordBytesMax = 1024 * 1024;
  static constexpr std::size_t kFieldsMax = 4096;

  RecordReader(config::FileFormat format, Read read);

  // No fields: the end of the file.
  std::expected<Fields, std::string> next();
  std::uint64_t line() const { return record_line_; }  // of the last record's first line, from 1

 private:
  std::expected<bool, std::string> find_record();  // false: the end of the file
  std::expected<bool, std::string> fill();
  std::expected<void, std::string> split(std::string_view record);
  // Add the field that begins there, and return where it ends: at a comma or the record's end.
  std::expected<std::size_t, std::string> take_plain(std::string_view record, std::size_t begin);
  std::expected<std::size_t, std::string> take_quoted(std::string_view record, std::size_t begin);
  std::string failure(std::string_view what) const;

  config::FileFormat format_;
  Read read_;
  std::string buffer_;
  std::size_t begin_ = 0;   // of the current record
  std::size_t end_ = 0;     // of it, without its LF
  std::size_t resume_ = 0;  // where the next record begins
  std::uint64_t line_ = 1;  // of resume_
  std::uint64_t record_line_ = 1;
  bool at_end_ = false;
  bool is_first_ = true;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unquoted_;  // the texts of quoted fields; a deque, since fields view them
};

}  // namespace cuckooguard::source
