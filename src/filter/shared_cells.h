// The memory a table's writer and its readers share, one named access at a time.
//
// The algorithms (table_reader.h, table_writer.h, stash.h, batch_lookup.h) are templates over this
// class, so that a test can give them cells whose every access is a step it chooses
// (tests/filter/interleaving_test.cpp). They touch shared memory in no other way.
//
//   bucket[0 .. buckets)   the words
//   moves                  counts removals of fingerprints; see table_reader.h
//   stash_mask, stash[63]  see stash.h
//
// What reads all words in turns, while the writer works between them, has a BeforeImage of them.
//
// Threads:  load_* and prefetch_* from any thread, store_* from the one writer.
// Source:   loads acquire and stores release, because the argument in table_reader.h follows what a
//           reader has seen back to what the writer had done before. Free of charge on x86-64.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "filter/before_image.h"
#include "filter/page_memory.h"

namespace cuckooguard::filter {

inline constexpr unsigned kStashEntries = 63;

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the padding keeps cache lines apart
class SharedCells {
 public:
  explicit SharedCells(std::uint64_t buckets)
      : memory_(buckets), words_(memory_.words()), buckets_(buckets) {}

  [[nodiscard]] std::uint64_t load_bucket(std::uint64_t bucket) const noexcept {
    return std::atomic_ref<std::uint64_t>(words_[bucket]).load(std::memory_order_acquire);
  }
  void store_bucket(std::uint64_t bucket, std::uint64_t word) noexcept {
    images_.keep(bucket);
    std::atomic_ref<std::uint64_t>(words_[bucket]).store(word, std::memory_order_release);
  }
  void prefetch_bucket(std::uint64_t bucket) const noexcept {
    __builtin_prefetch(&words_[bucket], 0, 3);
  }

  [[nodiscard]] std::uint64_t load_moves() const noexcept {
    return moves_.load(std::memory_order_acquire);
  }
  // After the loads it is to confirm: being acquires, they keep this one behind them.
  [[nodiscard]] std::uint64_t recheck_moves() const noexcept {
    return moves_.load(std::memory_order_relaxed);
  }
  void store_moves(std::uint64_t moves) noexcept { moves_.store(moves, std::memory_order_release); }

  [[nodiscard]] std::uint64_t load_stash_mask() const noexcept {
    return stash_mask_.load(std::memory_order_acquire);
  }
  void store_stash_mask(std::uint64_t mask) noexcept {
    stash_mask_.store(mask, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t load_stash(unsigned entry) const noexcept {
    return stash_[entry].load(std::memory_order_acquire);
  }
  void store_stash(unsigned entry, std::uint64_t hash) noexcept {
    stash_[entry].store(hash, std::memory_order_release);
  }

  // All words at once, for filter files: on the writer's thread, where nothing else stores.
  [[nodiscard]] std::span<std::uint64_t> words() noexcept { return {words_, buckets_}; }
  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return {words_, buckets_}; }
  // For the writer, when it reads the words in turns and goes on between them.
  [[nodiscard]] BeforeImages& images() noexcept { return images_; }

 private:
  PageMemory memory_;
  std::uint64_t* words_;
  std::uint64_t buckets_;
  BeforeImages images_;
  // On a line of their own: the writer changes them while readers read the pointer above.
  alignas(64) std::atomic<std::uint64_t> moves_{0};
  std::atomic<std::uint64_t> stash_mask_{0};
  alignas(64) std::array<std::atomic<std::uint64_t>, kStashEntries> stash_{};
};

}  // namespace cuckooguard::filter
