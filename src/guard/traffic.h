// What is read of a namespace, by whom, and which of its keys are to expire: what a guest may want
// to hear of (app/guests.h). Guards know no more of it than this.
//
// Samples, at random distances, so that no rhythm of a client's escapes them: of reads one key in
// kEvery; of writes that set an expiry one in kEveryExpiry, but of clients that surely may not
// write. What Redis says to it is not awaited.
//
// Cost, in instructions (callgrind): 24 for a key that is read, where an answer takes 2,700 in a
// pipeline and 4,200 alone; 63 for a write that sets an expiry, of 7,500.
//
// Threads: any; of one worker one at a time. Lifetimes: NamespaceCounts has it, and keeps it over
// reloads. Limits: saw() and expires() wait for nothing and nobody.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <boost/core/noncopyable.hpp>

#include "text/network.h"

namespace cuckooguard::guard {

class Traffic : boost::noncopyable {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::uint32_t kEvery = 64;
  static constexpr std::uint32_t kEveryExpiry = 8;

  struct Read {
    std::string_view key;                 // until it returns
    std::optional<std::uint64_t> number;  // the identity, where it is one integer from 0
    bool is_absent;                       // it has no row, whatever became of the read
    text::Network from;
  };

  virtual ~Traffic() = default;

  virtual void saw(const Read& read, std::size_t worker, TimePoint now) = 0;
  // One of its keys is to expire at `at`, if the write is carried out and nothing comes between.
  virtual void expires(TimePoint at, TimePoint now) = 0;
};

}  // namespace cuckooguard::guard
