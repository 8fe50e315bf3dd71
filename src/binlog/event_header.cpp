#include "binlog/event_header.h"

#include <zlib.h>

#include "binlog/byte_cursor.h"
#include "binlog/event.h"

namespace cuckooguard::binlog {

namespace {

constexpr std::size_t kFlagsOffset = 17;

std::uint32_t crc32_of(std::uint32_t so_far, std::string_view bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(so_far, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// The server sets the in-use flag in the file, and clears it there, without a new checksum: it
// counts as cleared.
std::uint32_t checksum_of(const EventHeader& header, std::string_view bytes) {
  if (header.type != EventType::format_description || (header.flags & EventHeader::kInUse) == 0) {
    return crc32_of(0, bytes);
  }
  const char cleared = static_cast<char>(static_cast<unsigned char>(bytes[kFlagsOffset]) &
                                         ~static_cast<unsigned>(EventHeader::kInUse));
  std::uint32_t sum = crc32_of(0, bytes.substr(0, kFlagsOffset));
  sum = crc32_of(sum, std::string_view(&cleared, 1));
  return crc32_of(sum, bytes.substr(kFlagsOffset + 1));
}

}  // namespace

std::expected<EventHeader, DecodeError> read_event_header(std::string_view bytes) {
  ByteCursor cursor(bytes);
  EventHeader header;
  header.timestamp = cursor.u32();
  header.type = static_cast<EventType>(cursor.u8());
  header.server_id = cursor.u32();
  header.event_bytes = cursor.u32();
  header.next_position_low32 = cursor.u32();
  header.flags = cursor.u16();
  if (!cursor.ok()) {
    return std::unexpected(DecodeError::truncated);
  }
  if (header.event_bytes < kEventHeaderBytes) {
    return std::unexpected(DecodeError::length_mismatch);
  }
  return header;
}

std::expected<std::string_view, DecodeError> checked_body(const EventHeader& header,
                                                          std::string_view event,
                                                          ChecksumAlgorithm algorithm) {
  if (header.event_bytes != event.size()) {
    return std::unexpected(DecodeError::length_mismatch);
  }
  if (algorithm == ChecksumAlgorithm::none) {
    return event.substr(kEventHeaderBytes);
  }
  if (event.size() < kEventHeaderBytes + kChecksumBytes) {
    return std::unexpected(DecodeError::truncated);
  }
  const std::string_view covered = event.substr(0, event.size() - kChecksumBytes);
  if (ByteCursor(event.substr(covered.size())).u32() != checksum_of(header, covered)) {
    return std::unexpected(DecodeError::checksum_mismatch);
  }
  return covered.substr(kEventHeaderBytes);
}

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
      return "extra bytes follow the last field";
    case DecodeError::malformed:
      return "a field has a value that no server writes";
    case DecodeError::too_large:
      return "the event is larger than allowed";
    case DecodeError::decompression_failed:
      return "the event cannot be decompressed";
    case DecodeError::unknown_table:
      return "rows arrived without a matching table map";
    case DecodeError::old_temporal:
      return "the table has a TIME, DATETIME or TIMESTAMP column in the format used before MariaDB "
             "10.1";
    case DecodeError::no_text_form:
      return "the text of the column's type cannot be derived from the log";
    case DecodeError::signedness_unknown:
      return "the log does not specify whether the integer column is unsigned";
    case DecodeError::charset_unknown:
      return "the log does not specify whether the column is CHAR or BINARY";
    case DecodeError::no_such_column:
      return "the table has no such column";
  }
  return "unknown error";
}

}  // namespace cuckooguard::binlog
