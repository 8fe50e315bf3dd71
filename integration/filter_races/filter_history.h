// What clients have asked of filters at several guards, and been told; and whether that can be.
//
//   Request …  ─▶ wrong_in() ─▶ a sentence for each thing that no order of events explains
//
// The model: a filter has each item once or not at all. Of two that add an item one is told `yes`,
// and of two that remove it, too. What was added or removed happened for everybody at one moment
// between the request's begin and its end; of an `unknown` one at any moment behind its begin, or
// never. Who looks sees all that his own guard has acknowledged, all that was acknowledged before
// anything began that his guard has acknowledged, and all that is older than `may_lag`.
//
// Threads: plain values. Errors: none.
// Limits: an item's requests are compared pair by pair. Where an item is removed by many, only
// their number is judged, not each order: an order that is wrong may be taken for a right one,
// never the other way round. A false positive of a filter is taken for an item that nobody added.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cuckooguard::harness {

struct Request {
  enum class What : std::uint8_t { add, remove, look };  // add: unless it is there
  enum class Reply : std::uint8_t { yes, no, unknown };

  What what = What::look;
  Reply reply = Reply::unknown;
  std::uint32_t filter = 0;
  std::uint32_t item = 0;
  std::uint32_t client = 0;
  std::uint32_t guard = 0;
  std::chrono::nanoseconds begin{};
  std::chrono::nanoseconds end{};
};

std::vector<std::string> wrong_in(std::span<const Request> history,
                                  std::chrono::nanoseconds may_lag);

}  // namespace cuckooguard::harness
