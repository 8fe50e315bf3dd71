#include "binlog/event_decoder.h"

#include <algorithm>
#include <cstdint>

#include <zlib.h>

#include "binlog/byte_cursor.h"
#include "binlog/event_bodies.h"
#include "binlog/event_header.h"
#include "text/try.h"

namespace cuckooguard::binlog {
namespace {

// MariaDB's compressed block (log_bin_compress): what a compressed QUERY or row event has in place
// of its text or rows.
//     1000 0www | uncompressed length, www bytes (1..4), big-endian | zlib stream to the end
// Threads: any. Errors: `malformed`, `too_large`, `decompression_failed`.
// Limits: the caller's; and no buffer is made larger than what the stream's length could possibly
//   become.
// Source: MariaDB's "Compressing Events to Reduce Size of the Binary Log" page; seen in recordings
//   of 10.11.

constexpr unsigned kMarkMask =
    0xf8;  // of the first byte: "compressed", by zlib; the rest is the length's width
constexpr unsigned kMark = 0x80;
constexpr unsigned kWidthMask = 0x07;
constexpr unsigned kWidthMax = 4;
// Deflate cannot make more out of one byte (RFC 1951: 258 bytes from two bits).
constexpr std::size_t kRatioMax = 1032;

// Into the front of `buffer`, which grows if it must; the result views it.
std::expected<std::string_view, DecodeError> inflate_block(std::string_view block,
                                                           std::size_t bytes_max,
                                                           std::vector<char>& buffer) {
  ByteCursor cursor(block);
  const unsigned first = cursor.u8();
  const unsigned width = first & kWidthMask;
  std::size_t length = 0;
  for (unsigned i = 0; i < std::min(width, kWidthMax); ++i) {
    length = length << 8 | cursor.u8();
  }
  if (!cursor.ok()) {
    return std::unexpected(DecodeError::truncated);
  }
  if ((first & kMarkMask) != kMark || width == 0 || width > kWidthMax) {
    return std::unexpected(DecodeError::malformed);
  }
  if (length > bytes_max) {
    return std::unexpected(DecodeError::too_large);
  }
  const std::string_view stream = cursor.rest();
  if (stream.empty() || length / kRatioMax > stream.size()) {
    return std::unexpected(DecodeError::decompression_failed);
  }
  if (buffer.size() < std::max<std::size_t>(length, 1)) {
    buffer.resize(std::max<std::size_t>(length, 1));
  }
  uLongf written = length;
  uLong taken = stream.size();
  const int status = ::uncompress2(reinterpret_cast<Bytef*>(buffer.data()),
                                   &written,
                                   reinterpret_cast<const Bytef*>(stream.data()),
                                   &taken);
  if (status != Z_OK || written != length || taken != stream.size()) {
    return std::unexpected(DecodeError::decompression_failed);
  }
  return std::string_view(buffer.data(), length);
}

bool is_mariadb_type(EventType type) {
  return static_cast<std::uint8_t>(type) >=
         static_cast<std::uint8_t>(EventType::mariadb_annotate_rows);
}

bool is_compressed_v1(EventType type) {
  return type == EventType::mariadb_write_rows_compressed_v1 ||
         type == EventType::mariadb_update_rows_compressed_v1 ||
         type == EventType::mariadb_delete_rows_compressed_v1;
}

RowsKind kind_of_compressed(EventType type) {
  switch (type) {
    case EventType::mariadb_write_rows_compressed_v1:
    case EventType::mariadb_write_rows_compressed:
      return RowsKind::write;
    case EventType::mariadb_update_rows_compressed_v1:
    case EventType::mariadb_update_rows_compressed:
      return RowsKind::update;
    default:
      return RowsKind::erase;
  }
}

// Of the types that both servers write.
BodyResult decode_any(EventType type, std::string_view body) {
  switch (type) {
    case EventType::table_map:
      return read_table_map(body);
    case EventType::write_rows_v1:
      return read_rows(RowsKind::write, RowsVersion::v1, body);
    case EventType::update_rows_v1:
      return read_rows(RowsKind::update, RowsVersion::v1, body);
    case EventType::delete_rows_v1:
      return read_rows(RowsKind::erase, RowsVersion::v1, body);
    case EventType::write_rows:
      return read_rows(RowsKind::write, RowsVersion::v2, body);
    case EventType::update_rows:
      return read_rows(RowsKind::update, RowsVersion::v2, body);
    case EventType::delete_rows:
      return read_rows(RowsKind::erase, RowsVersion::v2, body);
    case EventType::query:
      return read_query(body);
    case EventType::execute_load_query:
      return read_execute_load_query(body);
    case EventType::xid:
      return read_commit(body);
    case EventType::xa_prepare:
      return read_xa_prepare(body);
    case EventType::incident:
      return read_incident(body);
    case EventType::stop:
      return EventBody(Stop{});
    // Parts of statements that come as a QUERY: it is the one that counts.
    case EventType::intvar:
    case EventType::rand:
    case EventType::user_var:
    case EventType::begin_load_query:
    case EventType::append_block:
    case EventType::delete_file:
    case EventType::ignorable:
    case EventType::rows_query:
      return EventBody(Ignorable{});
    default:
      return EventBody(Unknown{});
  }
}

BodyResult decode_mysql(EventType type, std::string_view body) {
  switch (type) {
    case EventType::mysql_gtid:
      return read_mysql_gtid(false, body);
    case EventType::mysql_anonymous_gtid:
      return read_mysql_gtid(true, body);
    case EventType::mysql_gtid_tagged:
      return read_mysql_gtid_tagged(body);
    case EventType::mysql_previous_gtids:
      return EventBody(PreviousGtids{.set = body});
    case EventType::mysql_transaction_payload:
      return read_transaction_payload(body);
    case EventType::mysql_partial_update_rows:
      return read_rows(RowsKind::update, RowsVersion::partial, body);
    case EventType::mysql_heartbeat_v2:
      return read_heartbeat_v2(body);
    // Group replication's bookkeeping.
    case EventType::mysql_transaction_context:
    case EventType::mysql_view_change:
      return EventBody(Ignorable{});
    default:
      return EventBody(Unknown{});
  }
}

}  // namespace

std::expected<Event, DecodeError> EventDecoder::decode(std::string_view bytes) {
  const auto header = TRY(read_event_header(bytes));
  // A format description always has a checksum, also where the events behind it have none.
  const bool is_format = header.type == EventType::format_description;
  return decode_body(header, bytes, is_format ? ChecksumAlgorithm::crc32 : checksum_);
}

std::expected<Event, DecodeError> EventDecoder::decode_payload_event(std::string_view bytes) {
  const auto header = TRY(read_event_header(bytes));
  // Neither a payload in a payload nor another file's format: no server writes them.
  if (header.type == EventType::mysql_transaction_payload ||
      header.type == EventType::format_description) {
    return std::unexpected(DecodeError::malformed);
  }
  return decode_body(header, bytes, ChecksumAlgorithm::none);
}

std::expected<Event, DecodeError> EventDecoder::decode_body(const EventHeader& header,
                                                            std::string_view bytes,
                                                            ChecksumAlgorithm checksum) {
  const auto body = TRY(checked_body(header, bytes, checksum));
  const auto decoded = TRY(decode_checked(header, body));
  return Event{.header = header, .body = decoded};
}

EventDecoder::Body EventDecoder::decode_checked(const EventHeader& header, std::string_view body) {
  if (header.type == EventType::format_description) {
    const auto format = TRY(read_format_description(body));
    has_format_ = true;
    is_mariadb_ = format.is_mariadb;
    checksum_ = format.checksum;
    return EventBody(format);
  }
  if (header.type == EventType::rotate) {
    return read_rotate(body);
  }
  if (header.type == EventType::heartbeat) {
    return read_heartbeat(header, body);
  }
  if (!has_format_) {
    return std::unexpected(DecodeError::no_format_description);
  }
  Body decoded = decode_any(header.type, body);
  if (decoded && std::holds_alternative<Unknown>(*decoded)) {
    if (is_mariadb_) {
      decoded = decode_mariadb(header, body);
    } else if (!is_mariadb_type(header.type)) {
      decoded = decode_mysql(header.type, body);
    }
  }
  if (decoded && std::holds_alternative<Unknown>(*decoded) && header.is_ignorable()) {
    return EventBody(Ignorable{});
  }
  return decoded;
}

EventDecoder::Body EventDecoder::decode_mariadb(const EventHeader& header, std::string_view body) {
  switch (header.type) {
    case EventType::mariadb_gtid:
      return read_mariadb_gtid(header, body);
    case EventType::mariadb_gtid_list:
      return EventBody(PreviousGtids{.set = body});
    case EventType::mariadb_query_compressed:
      return decode_compressed_query(body);
    case EventType::mariadb_write_rows_compressed_v1:
    case EventType::mariadb_update_rows_compressed_v1:
    case EventType::mariadb_delete_rows_compressed_v1:
    case EventType::mariadb_write_rows_compressed:
    case EventType::mariadb_update_rows_compressed:
    case EventType::mariadb_delete_rows_compressed:
      return decode_compressed_rows(header.type, body);
    case EventType::mariadb_annotate_rows:
    case EventType::mariadb_binlog_checkpoint:
    // A dump connection sends it, and what follows decrypted; read from a file, that is no event
    // any more.
    case EventType::mariadb_start_encryption:
      return EventBody(Ignorable{});
    default:
      return EventBody(Unknown{});
  }
}

EventDecoder::Body EventDecoder::decode_compressed_query(std::string_view body) {
  auto decoded = TRY(read_query(body));
  auto& query = std::get<Query>(decoded);
  query.text = TRY(inflate_block(query.text, options_.decompressed_bytes_max, decompressed_));
  return decoded;
}

EventDecoder::Body EventDecoder::decode_compressed_rows(EventType type, std::string_view body) {
  const auto version = is_compressed_v1(type) ? RowsVersion::v1 : RowsVersion::v2;
  auto decoded = TRY(read_rows(kind_of_compressed(type), version, body));
  auto& rows = std::get<Rows>(decoded);
  rows.images = TRY(inflate_block(rows.images, options_.decompressed_bytes_max, decompressed_));
  return decoded;
}

}  // namespace cuckooguard::binlog
