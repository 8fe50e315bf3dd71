// Where a filter of another library is, seen from the one that follows it (bloom/follower.h).
//
// Must: a filter that read() gives may contain every item that was in the filter there before
//       read() began, and has been since. `unchanged` says that none has been added, since read()
//       last began, before look() began.
// Threads: the source's. Errors: values.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include <boost/core/noncopyable.hpp>

#include "foreign/filter.h"

namespace cuckooguard::source {

struct BloomLook {
  enum class Kind : std::uint8_t {
    unchanged,
    changed,  // or it cannot be told
    lost,     // it cannot be reached
    refused,  // somebody must mend something
  };
  Kind kind = Kind::changed;
  std::string why{};  // if lost or refused
};

struct BloomReading {
  enum class Kind : std::uint8_t { taken, unclear, lost, refused, stopped };
  Kind kind = Kind::unclear;
  std::string why{};        // if unclear, lost or refused
  bool is_missing = false;  // refused because there is no filter
  // Taken in several parts, in which an item may be in different places: they are one filter's only
  // if nothing was done to it meanwhile.
  bool must_have_stood_still = false;
  std::shared_ptr<const foreign::Filter> filter{};  // if taken
};

class BloomOrigin : boost::noncopyable {
 public:
  virtual ~BloomOrigin() = default;

  virtual BloomLook look() = 0;  // after a read() that has given a filter
  // Ends early when `stop` is requested.
  virtual BloomReading read(const std::stop_token& stop) = 0;
  // Items are put into the filter where it is, and none is ever taken out: one that has fewer bits
  // set than before is another filter.
  virtual bool only_gains_bits() const = 0;
};

}  // namespace cuckooguard::source
