// What is read of a namespace, by whom, and which of its keys are to expire: what a guest may want
// to hear of (app/guests.h). Guards know no more of it than this.
//
// A sample of reads: one key in kEvery, at random distances, so that no rhythm of a client's
// escapes it. Every write that sets an expiry, unless it is known to be one that Redis will refuse;
// what Redis then says to it is not awaited.
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
  static constexpr std::uint32_t kEvery = 16;

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
