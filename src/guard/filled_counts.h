// What became of the changes that clients have asked for, of filters that applications fill.
//
// Threads: any. A change takes a lock, or goes to Redis: that several count the same costs nothing
// beside that.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "filled/store.h"

namespace cuckooguard::guard {

class FilledCounts {
 public:
  enum class Outcome : std::uint8_t {
    done,
    refused,     // by what the filter is, or that there is one, or none
    no_room,     // a limit, or a filter that is full and does not grow
    not_logged,  // or it may have been
  };
  static constexpr std::array<std::string_view, 4> kNames{
      "done", "refused", "no_room", "not_logged"};

  void add(const filled::Change& change);  // that is done
  std::uint64_t of(std::size_t outcome) const noexcept {
    return counts_.at(outcome).load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kNames.size()> counts_{};
};

}  // namespace cuckooguard::guard
