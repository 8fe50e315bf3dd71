// Reads the events inside a MySQL TRANSACTION_PAYLOAD, one after the other, while decompressing it.
//
// Only the current event is ever held, so a payload of many GiB needs no more memory than its
// largest event.
//
//     reader.open(payload);
//     while (auto bytes = reader.next(); bytes && !bytes->empty()) {
//       decoder.decode_payload_event(*bytes) ...
//     }
//
// Threads: one. Lifetimes: an event's bytes are valid until the next call; the payload must live
// until the last one. Errors: for good, until the next `open`.
// Limits: `event_bytes_max` per event (`too_large`); windows up to kWindowLogMax, zstd's own
//   default.
// Source: MySQL's Transaction_payload_event; its events have no checksum of their own, the
//   payload's covers them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "binlog/event.h"

struct ZSTD_DCtx_s;

namespace cuckooguard::binlog {

class PayloadReader {
 public:
  static constexpr std::size_t kEventBytesMax = std::size_t{1}
                                                << 30;  // MySQL's max_allowed_packet, at most
  static constexpr int kWindowLogMax = 27;

  explicit PayloadReader(std::size_t event_bytes_max = kEventBytesMax);

  void open(const TransactionPayload& payload);

  // No bytes: all have been read, and they were as many as announced.
  std::expected<std::string_view, DecodeError> next();

 private:
  struct Release {
    void operator()(ZSTD_DCtx_s* stream) const;
  };

  // Makes `count` bytes of events available behind `begin_`; false: the payload ends before.
  std::expected<bool, DecodeError> demand(std::size_t count);
  std::expected<bool, DecodeError> decompress_some();
  std::unexpected<DecodeError> refuse(DecodeError error);

  std::size_t event_bytes_max_;
  std::unique_ptr<ZSTD_DCtx_s, Release> stream_;
  TransactionPayload payload_;
  std::size_t consumed_ = 0;     // of the compressed bytes
  std::uint64_t delivered_ = 0;  // of the uncompressed ones, into the buffer
  bool frame_is_open_ = false;   // the compressed bytes so far end inside a frame
  std::optional<DecodeError> error_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of the next event, in the buffer
  std::size_t end_ = 0;    // of what is decompressed
};

}  // namespace cuckooguard::binlog
