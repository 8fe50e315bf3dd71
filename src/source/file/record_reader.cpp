#include "file/record_reader.h"

#include <algorithm>
#include <utility>

#include "text/try.h"

namespace cuckooguard::source {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

RecordReader::RecordReader(config::FileFormat format, Read read)
    : format_(format), read_(std::move(read)) {}

std::expected<RecordReader::Fields, std::string> RecordReader::next() {
  for (;;) {
    if (!TRY(find_record())) {
      return Fields{};
    }
    std::string_view record(buffer_.data() + begin_, end_ - begin_);
    if (std::exchange(is_first_, false) && record.starts_with(kByteOrderMark)) {
      record.remove_prefix(kByteOrderMark.size());
    }
    if (record.ends_with('\r')) {
      record.remove_suffix(1);
    }
    if (record.empty()) {
      continue;
    }
    TRY(split(record));
    return Fields(fields_);
  }
}

std::expected<bool, std::string> RecordReader::find_record() {
  begin_ = resume_;
  record_line_ = line_;
  bool quoted = false;
  std::uint64_t line_ends = 0;
  for (std::size_t at = begin_;; ++at) {
    while (at == buffer_.size()) {
      const std::size_t scanned = at - begin_;
      const auto filled = TRY(fill());
      at = begin_ + scanned;
      if (!filled) {
        end_ = resume_ = at;
        line_ += line_ends;
        return end_ != begin_;
      }
    }
    const char byte = buffer_[at];
    quoted ^= byte == '"' && format_ == config::FileFormat::csv;
    if (byte != '\n') {
      continue;
    }
    ++line_ends;
    if (!quoted) {
      end_ = at;
      resume_ = at + 1;
      line_ += line_ends;
      return true;
    }
  }
}

// Drops what is before the current record and reads more behind it; false at the end of the file.
std::expected<bool, std::string> RecordReader::fill() {
  if (at_end_) {
    return false;
  }
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t kept = buffer_.size();
  if (kept > kRecordBytesMax) {
    at_end_ = true;
    return std::unexpected(failure("a record is longer than 1 MiB"));
  }
  buffer_.resize(kept + kChunkBytes);
  auto bytes = read_(std::span(buffer_).subspan(kept));
  buffer_.resize(kept + bytes.value_or(0));
  at_end_ = !bytes || *bytes == 0;
  const std::size_t count = TRY(std::move(bytes));
  return count > 0;
}

std::expected<void, std::string> RecordReader::split(std::string_view record) {
  fields_.clear();
  unquoted_.clear();
  if (format_ == config::FileFormat::lines) {
    fields_.push_back(record);
    return {};
  }
  for (std::size_t at = 0;; ++at) {
    if (fields_.size() == kFieldsMax) {
      return std::unexpected(failure("more than 4096 fields"));
    }
    const bool is_quoted = at < record.size() && record[at] == '"';
    const auto end = TRY(is_quoted ? take_quoted(record, at + 1) : take_plain(record, at));
    if (end == record.size()) {
      return {};
    }
    at = end;
  }
}

std::expected<std::size_t, std::string> RecordReader::take_plain(std::string_view record,
                                                                 std::size_t begin) {
  const std::size_t end = std::min(record.find(',', begin), record.size());
  fields_.push_back(record.substr(begin, end - begin));
  if (fields_.back().contains('"')) {
    return std::unexpected(failure("a quote inside an unquoted field"));
  }
  return end;
}

// `begin` is behind the opening quote.
std::expected<std::size_t, std::string> RecordReader::take_quoted(std::string_view record,
                                                                  std::size_t begin) {
  std::string field;
  for (std::size_t at = begin;;) {
    const std::size_t quote = record.find('"', at);
    if (quote == std::string_view::npos) {
      return std::unexpected(failure("a quoted field has no closing quote"));
    }
    field += record.substr(at, quote - at);
    at = quote + 1;
    if (at < record.size() && record[at] == '"') {
      field += '"';
      ++at;
      continue;
    }
    if (at < record.size() && record[at] != ',') {
      return std::unexpected(failure("text after a closing quote"));
    }
    fields_.push_back(unquoted_.emplace_back(std::move(field)));
    return at;
  }
}

std::string RecordReader::failure(std::string_view what) const {
  return "line " + std::to_string(record_line_) + ": " + std::string(what);
}

}  // namespace cuckooguard::source
