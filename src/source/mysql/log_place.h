// A place in a server's log files: `binlog.000042` at 1234.
//
// Files are numbered; a longer number is a later one. Positions are 64 bits wide, those in event
// headers 32: LogPlaceCounter tells how often they have wrapped (a transaction larger than 4 GiB).
//
// Threads: plain values.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <utility>

#include "binlog/event.h"
#include "text/number.h"

namespace cuckooguard::source::mysql {

struct LogPlace {
  std::string file;
  std::uint64_t position = 0;

  // Of a log that has just begun, or has begun anew; also if the file has no number.
  bool is_in_first_file() const {
    return text::leading_number(std::string_view(file).substr(file.rfind('.') + 1)) <= 1;
  }

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
  // To be told of each event before what it does, payload events left out. False: the stream goes
  // back to an earlier file or place, as no log does that only grows.
  [[nodiscard]] bool pass(const binlog::Event& event) {
    if (const auto* const rotate = std::get_if<binlog::Rotate>(&event.body)) {
      LogPlace next{.file = std::string(rotate->file), .position = rotate->position};
      const bool is_further = next >= place_;
      place_ = std::move(next);
      return is_further;
    }
    if (const auto* const heartbeat = std::get_if<binlog::Heartbeat>(&event.body)) {
      pass_heartbeat(*heartbeat);
      return true;
    }
    const std::uint64_t low = event.header.next_position_low32;
    if (low == 0 || event.header.is_artificial()) {
      return true;  // in no file
    }
    if (low < (place_.position & kLow)) {
      place_.position += kLow + 1;
    }
    place_.position = (place_.position & ~kLow) | low;
    return true;
  }
  // Where the last event ended. A file's name is empty until the stream has named one.
  const LogPlace& place() const { return place_; }

 private:
  static constexpr std::uint64_t kLow = 0xFFFFFFFF;

  // How far a server has come that sends none of what it skips. It may be of the file before.
  void pass_heartbeat(const binlog::Heartbeat& heartbeat) {
    if (heartbeat.file != place_.file || !heartbeat.position) {
      return;
    }
    const bool is_whole = *heartbeat.position > kLow;
    const std::uint64_t position =
        is_whole ? *heartbeat.position : (place_.position & ~kLow) | *heartbeat.position;
    place_.position = std::max(place_.position, position);
  }

  LogPlace place_;
};

}  // namespace cuckooguard::source::mysql
