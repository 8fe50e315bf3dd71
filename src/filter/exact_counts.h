// How often each 64-bit hash is in an `exact` filter: the writer's own record beside the table.
//
// A row inserted twice, deleted twice, or one of several rows with the same identity is counted
// here; the table only sees the first insert and the last erase. Two identities with the same
// 64-bit hash share one count, and that is right: the hash stays until both are gone.
//
// Open addressing with linear probing: 9 bytes per slot (8 for the hash, 1 for the count; counts
// from 255 on stand in a side map), so 11 bytes per key at the fullest and 17 after growing.
// Growing copies everything at once: give the expected number of keys to spare a large filter that
// pause.
//
// Threads:   one writer; nobody else looks.
// Errors:    std::bad_alloc, after which all is as before.
// Limits:    fewer than 2^32 slots.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include "filter/before_image.h"
#include "filter/page_memory.h"

namespace cuckooguard::filter {

class ExactCounts {
 public:
  enum class Removal : std::uint8_t { unknown, some_left, last };

  explicit ExactCounts(std::uint64_t expected_keys);
  // The bytes of one with room for so many.
  static std::uint64_t bytes_for(std::uint64_t expected_keys);

  // True if the hash was not there before.
  bool add(std::uint64_t hash, std::uint64_t times = 1);
  Removal remove(std::uint64_t hash);
  [[nodiscard]] std::uint64_t count(std::uint64_t hash) const;
  struct Counted {
    std::uint64_t hash;
    std::uint64_t count;
  };
  // The hash in the first slot that is in use. Taking out one after the other visits all slots
  // once.
  [[nodiscard]] std::optional<Counted> first();
  // Takes it out, however often it is there, and returns that number.
  std::uint64_t take(std::uint64_t hash);

  void prefetch(std::uint64_t hash) const noexcept;

  [[nodiscard]] std::uint64_t keys() const noexcept { return keys_; }
  // All counts together; nothing: more than kTotalMax.
  [[nodiscard]] std::optional<std::uint64_t> total() const;
  static constexpr std::uint64_t kTotalMax = std::uint64_t{1} << 56;
  [[nodiscard]] std::uint64_t bytes() const noexcept;

  // visit(hash, count) for every hash, in no order that means anything.
  template <class Visitor>
  void for_each(const Visitor& visit) const {
    for (std::uint64_t slot = 0; slot < slots_; ++slot) {
      if (counts_[slot] != 0) {
        visit(hashes_[slot], count_at(slot));
      }
    }
  }

  // For filter files: the arrays as they stand, and counts from 255 on.
  [[nodiscard]] std::span<const std::uint64_t> hashes() const { return {hashes_, slots_}; }
  [[nodiscard]] std::span<const std::uint8_t> small_counts() const { return {counts_, slots_}; }
  [[nodiscard]] const std::unordered_map<std::uint64_t, std::uint64_t>& large_counts() const {
    return large_;
  }
  // All of that but the latter as words: hashes, then small counts, rounded up to whole words. It
  // lives as long as somebody has it; once the counts have grown it does not change any more.
  [[nodiscard]] const std::shared_ptr<PageMemory>& memory() const { return memory_; }
  [[nodiscard]] std::span<const std::uint64_t> words() const {
    return {hashes_, words_for(slots_)};
  }
  // For readers of those words while the writer goes on.
  [[nodiscard]] BeforeImages& images() noexcept { return images_; }
  // Of so many slots, whose words are yet to be filled in, and then whatever else there is: false
  // if that cannot be a table of counts, in which each hash is once, and where probes find it.
  static std::unique_ptr<ExactCounts> of_slots(std::uint64_t slots);
  [[nodiscard]] std::span<std::uint64_t> words_to_fill() { return {hashes_, words_for(slots_)}; }
  [[nodiscard]] bool fill(std::unordered_map<std::uint64_t, std::uint64_t> large_counts);

 private:
  [[nodiscard]] bool has_all_large_counts() const;
  [[nodiscard]] bool finds_each_hash_once() const;
  static constexpr std::uint8_t kLarge = 255;
  static std::uint64_t words_for(std::uint64_t slots) { return slots + (slots + 7) / 8; }

  void keep(std::uint64_t slot) noexcept {
    images_.keep(slot);
    images_.keep(slots_ + slot / 8);
  }
  void allocate(std::uint64_t slots);
  void use(std::uint64_t slots) noexcept;
  void grow();
  void close_gap(std::uint64_t gap);
  [[nodiscard]] std::uint64_t home(std::uint64_t hash) const noexcept;
  // How many steps it is from one slot on to another.
  [[nodiscard]] std::uint64_t distance(std::uint64_t from, std::uint64_t to) const noexcept {
    return to >= from ? to - from : to + slots_ - from;
  }
  [[nodiscard]] std::uint64_t next(std::uint64_t slot) const noexcept {
    return slot + 1 == slots_ ? 0 : slot + 1;
  }
  // The slot of the hash, or the free one where it would go.
  [[nodiscard]] std::uint64_t find(std::uint64_t hash) const noexcept;
  [[nodiscard]] std::uint64_t count_at(std::uint64_t slot) const;
  void set_count(std::uint64_t slot, std::uint64_t count);

  std::shared_ptr<PageMemory> memory_;  // hashes, then counts
  std::uint64_t* hashes_ = nullptr;
  std::uint8_t* counts_ = nullptr;  // 0 = free slot
  std::uint64_t slots_ = 0;
  std::uint64_t keys_ = 0;
  std::uint64_t first_ = 0;  // no slot before it is in use
  std::unordered_map<std::uint64_t, std::uint64_t> large_;
  BeforeImages images_;
};

}  // namespace cuckooguard::filter
