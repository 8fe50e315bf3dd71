// An array of 64-bit words as it was at one moment, while its writer goes on changing it: a word's
// old value is kept when it changes, and read in place of the new one.
//
//   BeforeImage(words) ─▶ keep(i) before each change of word i ─▶ read(from, out) ─▶ forget(to)
//
// Threads:   one, or one at a time: the writer's.
// Lifetimes: the words outlive it.
// Errors:    without memory for an old value it is_lost(), and with it all that was still to be
//            read.
// Limits:    16 bytes for each change, and 32 KiB for a block of 32 KiB that changes more than
//            kChangesMax times: at most as much again as the words, and some 100 bytes for each
//            changed block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace cuckooguard::filter {

class BeforeImage {
 public:
  static constexpr std::uint64_t kBlockWords = 4096;
  static constexpr std::size_t kChangesMax = 1024;  // of a block, until all of it is kept

  explicit BeforeImage(std::span<const std::uint64_t> words) : words_(words) {}

  void keep(std::uint64_t index) noexcept;
  // The words from this one on, as they were.
  void read(std::uint64_t from, std::span<std::uint64_t> out) const;
  // Those before `to` will not be read again.
  void forget(std::uint64_t to);

  std::uint64_t size() const { return words_.size(); }
  bool is_lost() const { return is_lost_; }
  std::size_t blocks_kept() const { return blocks_.size(); }

 private:
  struct Change {
    std::uint64_t index;
    std::uint64_t before;
  };
  struct Block {
    std::vector<Change> changes;       // in their order
    std::vector<std::uint64_t> words;  // all as they were, in place of what has changed
  };

  void read_block(std::uint64_t number, std::uint64_t from, std::span<std::uint64_t> out) const;

  std::span<const std::uint64_t> words_;
  std::unordered_map<std::uint64_t, Block> blocks_;  // that have changed, by number
  std::uint64_t forgotten_ = 0;                      // words
  bool is_lost_ = false;
};

// The images that are being read of one array. Few: each change goes through all.
class BeforeImages {
 public:
  // For one more: add() of that cannot fail.
  void reserve() { images_.reserve(images_.size() + 1); }
  void add(BeforeImage& image) { images_.push_back(&image); }
  void remove(const BeforeImage& image) noexcept { std::erase(images_, &image); }
  // The array is another one from now on: what they are of does not change any more.
  void clear() noexcept { images_.clear(); }
  void keep(std::uint64_t index) noexcept {
    for (BeforeImage* const image : images_) [[unlikely]] {
      image->keep(index);
    }
  }

 private:
  std::vector<BeforeImage*> images_;
};

}  // namespace cuckooguard::filter
