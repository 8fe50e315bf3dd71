// The reply to a string read of an absent key: nil, or the bytes by which the application's
// framework caches "no such row", so that an unmodified cache-aside application stops there. Some
// of these carry a time (config/absent_presets.h).
//
// Threads: stamp() by its one owner; else immutable. Limits: times are clamped to 1970 .. 2286.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "config/absent_presets.h"
#include "config/config.h"
#include "resp/version.h"

namespace cuckooguard::guard {

// By the calendar.
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;

class AbsentReplyBytes {
 public:
  explicit AbsentReplyBytes(const config::AbsentReply& reply);

  // The whole reply to GET and GETEX; one element of the reply to MGET. Of one that is stamped: as
  // of the last stamp(), before the first of no use.
  std::string_view of_string_read(resp::Version version) const {
    return version == resp::Version::resp3 ? resp3_ : resp2_;
  }

  bool is_nil() const { return !has_value_; }
  bool is_stamped() const { return !forms_.empty() && forms_.front().is_stamped(); }
  // In place: the views stay valid, and their length is always the same.
  void stamp(WallTime now);

  // A write of `value` says no more than this reply does, at any time: the application caches that
  // there is no such row. Of a preset in any form in which the framework may write it.
  bool is_written_as(std::string_view value) const;
  // Redis has replied so to a string read: the value is there, and is one of these.
  bool is_relayed_as(std::string_view reply) const;
  // No such reply is longer.
  std::size_t relayed_bytes_max() const;

 private:
  bool has_value_;
  std::string value_;
  std::span<const config::AbsentForm> forms_;  // of the preset, if there is one
  std::string resp2_;
  std::string resp3_;
};

struct StampedReply {
  AbsentReplyBytes reply;
  std::chrono::steady_clock::time_point due;  // to be stamped anew
};

}  // namespace cuckooguard::guard
