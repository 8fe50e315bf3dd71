// A filter that the application fills: RedisBloom's commands of one key change it and ask it.
//
// must: may_contain() is true for every item that was added and not erased. aims: false for others,
// but for a share of `false_positive_rate`, however many items there are.
//
// Every kind is made of cuckoo filters: the kind decides which commands it takes, and what happens
// to an item that is added twice.
//
//   bloom, set   an item that may be there is not added again; nothing is erased
//   cuckoo       each add is an item of its own; erase() takes one of them out. An item that was
//                never added must not be erased: with the probability of a false positive that
//                removes another item, as in any cuckoo filter. An `exact` one knows its hashes, at
//                11 to 17 more bytes each, and reports that there is no such item
//
// Growth. A cuckoo filter alone cannot be enlarged, as it does not know its items. An `exact` one
// does: it gets a layer of growth() times the items, and each later change moves kMovesPerItem
// items into that, until the old layer counts none and is_moved(). The old layer still answers for
// what was moved from it until it goes: an item that was moved and then erased may be a false
// positive until then, and both layers have their own. Any other filter gets a further layer, of
// growth() times the items of the last one and half of its false positive rate, so that all layers
// together keep the promise. If several layers may hold an item that is to be erased, none removes
// it: a stale item is a false positive, but removing the wrong one would hide an item.
//
// A filter does not change its layers: grown() and moved() return other filters with the same
// tables.
//
// An unsure filter stands for one that this guard cannot have: it has no layers, and any item may
// be in it. Nothing is added to it or erased.
//
// Threads:   may_contain() and facts() from any; all else, also of grown() and moved(), from one
//            writer.
// Lifetimes: the tables live as long as any filter that has them.
// Errors:    none, but std::bad_alloc, after which all is as before.
// Limits:    kLayersMax; kItemsMax in the last layer.
// Source:    the series of layers: Almeida, Baquero, Preguica, Hutchison, "Scalable Bloom Filters",
//            2007, with a tightening ratio of 1/2.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/cuckoo_filter.h"

namespace cuckooguard::filled {

enum class Kind : std::uint8_t { bloom, cuckoo, set };
constexpr std::string_view name_of(Kind kind) {
  constexpr std::array<std::string_view, 3> kNames{"bloom", "cuckoo", "set"};
  return kNames.at(static_cast<std::size_t>(kind));
}

struct Shape {
  Kind kind = Kind::bloom;
  std::uint64_t capacity = 100;  // items of the first layer
  double false_positive_rate = 0.01;
  bool scales = true;  // else it is full at its capacity
  bool exact = false;  // of cuckoo
  // As in RedisBloom; only growth() means anything here.
  std::uint32_t expansion = 2;
  std::uint32_t bucket_size = 2;
  std::uint32_t iterations_max = 20;

  std::uint32_t growth() const { return expansion < 2 ? 2 : expansion; }
  bool operator==(const Shape&) const = default;
};

inline constexpr std::size_t kLayersMax = 32;
inline constexpr std::size_t kMovesPerItem = 4;  // 1 us; less than a quarter of a layer is to come
inline constexpr std::uint64_t kItemsMax = std::uint64_t{1} << 33U;
inline constexpr std::uint32_t kExpansionMax = 32768;  // RedisBloom's

class FilledFilter {
 public:
  struct Facts {
    std::uint64_t capacity = 0;  // of all layers
    std::uint64_t bytes = 0;
    std::uint64_t buckets = 0;
    std::uint64_t layers = 0;
    std::uint64_t items = 0;
    std::uint64_t erased = 0;
  };
  // Of one layer, as asked for: it may have room for more.
  struct LayerFacts {
    std::uint64_t capacity = 0;
    double false_positive_rate = 0;
    std::uint64_t bytes = 0;
    std::uint64_t items = 0;
  };
  using Layers = std::vector<std::shared_ptr<filter::CuckooFilter>>;

  FilledFilter(const Shape& shape, const filter::HashSecret& secret);
  // From a dump, or grown.
  FilledFilter(const Shape& shape, Layers layers, std::uint64_t items, std::uint64_t erased);
  // An unsure one: its bytes where it is whole, and why it is not here, in a sentence.
  FilledFilter(const Shape& shape, std::uint64_t bytes, std::string why);

  // Why no filter of this shape can have these layers and items; nothing: it can.
  std::optional<std::string> misfit() const;

  // The bytes of the first layer, and of all: those of newly made layers, the same on every guard,
  // also where the filter is unsure. For an exact one therefore without layers that are about to
  // go.
  static std::uint64_t bytes_for(const Shape& shape);
  static std::uint64_t bytes_of(const filter::Sizing& sizing);
  std::uint64_t bytes() const;
  static filter::DeleteMode deletes_of(const Shape& shape);

  // --- any thread ---
  const Shape& shape() const { return shape_; }
  bool is_unsure() const { return layers_.empty(); }
  const std::string& why_unsure() const { return why_unsure_; }
  bool may_contain(std::uint64_t hash) const noexcept;
  Facts facts() const noexcept;
  std::vector<LayerFacts> layer_facts() const;
  std::uint64_t items() const noexcept { return items_.load(std::memory_order_relaxed); }
  const Layers& layers() const { return layers_; }

  // --- the writer ---
  // Ask before adding an item: the last layer has no room for it.
  bool is_full() const noexcept;
  // The bytes of the next layer; nothing: it does not grow.
  std::optional<std::uint64_t> bytes_to_grow() const;
  std::uint64_t bytes_when_grown() const;       // if bytes_to_grow() has a value
  std::unique_ptr<FilledFilter> grown() const;  // the same
  // The first layer counts nothing any more; and without it.
  bool is_moved() const;
  std::unique_ptr<FilledFilter> moved() const;
  // Whether an item that may not be there yet is none to be added. What was moved and erased is
  // one, although may_contain() finds it.
  bool is_known(std::uint64_t hash) const;

  void add(std::uint64_t hash);
  // False: there was none.
  bool erase(std::uint64_t hash);
  std::uint64_t count(std::uint64_t hash) const;

 private:
  static std::uint64_t capacity_of(const Shape& shape, std::size_t layer);
  static double rate_of(const Shape& shape, std::size_t layer);
  static filter::Sizing sizing_of(const Shape& shape, std::size_t layer);
  bool is_exact() const { return shape_.kind == Kind::cuckoo && shape_.exact; }
  void move_some(std::uint64_t hash);
  filter::Sizing next_sizing() const;

  Shape shape_;
  Layers layers_;
  std::atomic<std::uint64_t> items_{0};
  std::atomic<std::uint64_t> erased_{0};
  std::uint64_t unsure_bytes_ = 0;
  std::string why_unsure_;
};

}  // namespace cuckooguard::filled
