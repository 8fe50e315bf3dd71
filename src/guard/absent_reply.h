// What a string read of a namespace's absent key is answered with: nil, or the bytes with which the
// application's framework itself caches "no such row", so that an unmodified cache-aside
// application stops there.
//
// Called by: Guard. Threads: immutable. Errors: none. Limits: none of its own.
#pragma once

#include <string>
#include <string_view>

#include "config/config.h"
#include "resp/version.h"

namespace cuckooguard::guard {

class AbsentReply {
 public:
  explicit AbsentReply(const config::AbsentReply& reply);

  // The whole reply to GET; one element of the reply to MGET.
  std::string_view of_string_read(resp::Version version) const {
    return version == resp::Version::resp3 ? resp3_ : resp2_;
  }

  // A write of `value` says no more than this reply does: the application caches that there is no
  // such row.
  bool is_written_as(std::string_view value) const { return has_value_ && value == value_; }
  // Redis has replied so to a string read: the value is there, and is one of these.
  bool is_relayed_as(std::string_view reply) const {
    return has_value_ && reply == of_string_read(resp::Version::resp2);
  }

 private:
  bool has_value_;
  std::string value_;
  std::string resp2_;
  std::string resp3_;
};

}  // namespace cuckooguard::guard
