// Makes an Event of an event's bytes, as a dump connection sends it (without the packet's leading
// 0) or a file has it.
//
// The stream must begin with its format description, which says whether events have checksums; only
// a Rotate and a heartbeat made for the connection may come before. Rows and queries that MariaDB
// has compressed come out as any others; MySQL's transaction payload is opened by a PayloadReader.
//
// Threads: one. Lifetimes: see event.h.
// Errors: DecodeError; the decoder itself is as before, and may go on with a stream's next event
//   (but should it? see DecodeError).
// Limits: `decompressed_bytes_max` for one compressed event of MariaDB; the buffer is kept between
//   events.
#pragma once

#include <cstddef>
#include <expected>
#include <string_view>
#include <vector>

#include "binlog/event.h"

namespace cuckooguard::binlog {

class EventDecoder {
 public:
  struct Options {
    // For events before the format description: as the connection has asked.
    ChecksumAlgorithm checksum = ChecksumAlgorithm::none;
    std::size_t decompressed_bytes_max = std::size_t{1} << 30;
  };

  EventDecoder() : EventDecoder(Options{}) {}
  explicit EventDecoder(Options options) : options_(options), checksum_(options.checksum) {}

  std::expected<Event, DecodeError> decode(std::string_view bytes);

  // An event that a PayloadReader has read.
  std::expected<Event, DecodeError> decode_payload_event(std::string_view bytes);

  // From the last format description.
  bool is_mariadb() const { return is_mariadb_; }
  ChecksumAlgorithm checksum() const { return checksum_; }

 private:
  using Body = std::expected<EventBody, DecodeError>;

  std::expected<Event, DecodeError> decode_body(const EventHeader& header,
                                                std::string_view bytes,
                                                ChecksumAlgorithm checksum);
  Body decode_checked(const EventHeader& header, std::string_view body);
  Body decode_mariadb(const EventHeader& header, std::string_view body);
  Body decode_compressed_query(std::string_view body);
  Body decode_compressed_rows(EventType type, std::string_view body);

  Options options_;
  ChecksumAlgorithm checksum_;
  bool has_format_ = false;
  bool is_mariadb_ = false;
  std::vector<char> decompressed_;
};

}  // namespace cuckooguard::binlog
