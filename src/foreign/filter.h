// A filter that another library has made, read as it is: may an item be in it? Items are added as
// that library would add them.
//
// must: may_contain() is true for every item that was put in, as it is in that library.
// aims: false for others, as often as there; facts() says how often that can be expected.
//
// Its hashes have no secret: a client that can choose items can try out on its own machine which of
// them pass (docs/what-an-attacker-can-do.md).
//
// Threads:   const calls from any number of threads; add() not while others ask.
// Lifetimes: a filter owns its bytes.
// Errors:    readers give a sentence instead of a filter; a filter has none.
// Limits:    kHashesMax. A reader takes no memory beyond the bytes it is given, and a few words for
//            each layer that they hold.
// Source:    each format's header.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/core/noncopyable.hpp>

namespace cuckooguard::foreign {

// Positions of one item: as many as the smallest false positive rate that a double can hold asks
// for. More are a mistake, and make each look-up slow.
inline constexpr std::uint32_t kHashesMax = 1075;

struct Facts {
  std::string_view format;             // "go-zero"; static
  std::uint64_t bits_or_slots = 0;     // slots of a cuckoo filter
  std::uint64_t bytes = 0;             // what it takes in memory
  std::uint32_t hashes = 0;            // positions of an item, the most in any layer
  std::optional<std::uint64_t> items;  // if the format tells
  double fill = 0;                     // share of bits set, or slots taken
  double false_positive_rate = 0;      // to be expected at this fill, of items chosen blindly
};

class Filter : boost::noncopyable {
 public:
  virtual ~Filter() = default;

  virtual bool may_contain(std::string_view item) const noexcept = 0;
  virtual Facts facts() const noexcept = 0;

  // False, and nothing has changed: it can be no item of this filter, or there is no room for it,
  // or the format is only read, as RedisBloom's are.
  virtual bool add(std::string_view /*item*/) { return false; }
  // What it was read from, and what was added since; of a format that is only read, nothing.
  virtual std::string bytes() const { return {}; }
};

using FilterOrWhyNot = std::expected<std::unique_ptr<Filter>, std::string>;

}  // namespace cuckooguard::foreign
