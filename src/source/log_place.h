// A place in a server's log files: `binlog.000042` at 1234.
//
// Files are numbered; a longer number is a later one. Positions are 64 bits wide, those in event headers
// 32: LogPlaceCounter tells how often they have wrapped (a transaction larger than 4 GiB).
//
// Called by: LogApplier (counts), read_view.h (where a view stands). Threads: plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "binlog/event.h"

namespace cuckooguard::source {

struct LogPlace {
  std::string file;
  std::uint64_t position = 0;

  bool operator==(const LogPlace&) const = default;
  std::strong_ordering operator<=>(const LogPlace& other) const {
    if (const auto by_length = file.size() <=> other.file.size(); by_length != 0) {
      return by_length;
    }
    if (const auto by_name = file.compare(other.file) <=> 0; by_name != 0) {
      return by_name;
    }
    return position <=> other.position;
  }
};

class LogPlaceCounter {
 public:
  // To be told of each event before what it does, payload events left out.
  void pass(const binlog::Event& event) {
    if (const auto* const rotate = std::get_if<binlog::Rotate>(&event.body)) {
      place_.file = rotate->file;
      place_.position = rotate->position;
      return;
    }
    const std::uint64_t low = event.header.next_position_low32;
    if (low == 0 || event.header.is_artificial()) {
      return;  // in no file
    }
    constexpr std::uint64_t kLow = 0xFFFFFFFF;
    if (low < (place_.position & kLow)) {
      place_.position += kLow + 1;
    }
    place_.position = (place_.position & ~kLow) | low;
  }
  // Where the last event ended. A file's name is empty until the stream has named one.
  const LogPlace& place() const { return place_; }

 private:
  LogPlace place_;
};

}  // namespace cuckooguard::source
