// Finds room for a key whose two buckets are full: a shortest path of moves that ends in a free
// slot.
//
// Breadth first over "the fingerprint in this slot could move to its other bucket", from both of
// the key's buckets at once. The classic random walk moves before it knows whether it will succeed,
// has a fingerprint in flight (look-ups miss it), and on failure has lost one. Here nothing has
// been touched when the search fails, and paths are short: at most six moves with kPathNodesMax
// nodes.
//
// Threads:   the writer's.
// Limits:    kPathNodesMax buckets looked at per search; at a load of 0.95 about ten are enough.
// Source:    Li, Andersen, Kaminsky, Freedman, EuroSys 2014, section 4.3 (BFS).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "filter/addressing.h"

namespace cuckooguard::filter {

// First failed inserts with 500 nodes came at loads of 0.97 to 0.98 (W20: 0.947).
inline constexpr std::uint16_t kPathNodesMax = 512;

class PathSearch {
 public:
  // A bucket, and how the search came here: the fingerprint in `slot` of the parent's bucket would
  // move to this one.
  struct Node {
    std::uint32_t bucket;
    std::uint16_t parent;  // kNoParent for the key's own two buckets
    std::uint8_t slot;
  };
  static constexpr std::uint16_t kNoParent = 0xFFFF;

  // The node whose bucket has a free slot, or nothing.
  template <class Bucket, class Cells>
  std::optional<std::uint16_t> find(const Cells& cells,
                                    const Addressing& addressing,
                                    std::uint64_t first,
                                    std::uint64_t second) {
    count_ = 0;
    add(first, kNoParent, 0);
    add(second, kNoParent, 0);
    for (std::uint16_t index = 0; index < count_; ++index) {
      const std::uint64_t word = cells.load_bucket(nodes_[index].bucket);
      if (Bucket::find_free(word) != Bucket::kSlots) {
        return index;
      }
      expand<Bucket>(cells, addressing, index, word);
    }
    return std::nullopt;
  }

  [[nodiscard]] const Node& node(std::uint16_t index) const { return nodes_[index]; }

 private:
  template <class Bucket, class Cells>
  void expand(const Cells& cells,
              const Addressing& addressing,
              std::uint16_t index,
              std::uint64_t word) {
    for (unsigned slot = 0; slot < Bucket::kSlots && count_ < kPathNodesMax; ++slot) {
      const std::uint64_t other =
          addressing.other_bucket(nodes_[index].bucket, Bucket::get(word, slot));
      if (!leads_through(index, other)) {
        cells.prefetch_bucket(other);
        add(other, index, slot);
      }
    }
  }

  // A shortest path visits no bucket twice; not following such paths saves nodes.
  [[nodiscard]] bool leads_through(std::uint16_t index, std::uint64_t bucket) const {
    for (; index != kNoParent; index = nodes_[index].parent) {
      if (nodes_[index].bucket == bucket) {
        return true;
      }
    }
    return false;
  }

  void add(std::uint64_t bucket, std::uint16_t parent, unsigned slot) {
    nodes_[count_++] = {
        static_cast<std::uint32_t>(bucket), parent, static_cast<std::uint8_t>(slot)};
  }

  std::array<Node, kPathNodesMax> nodes_{};
  std::uint16_t count_ = 0;
};

}  // namespace cuckooguard::filter
