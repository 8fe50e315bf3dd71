#include "filter/exact_counts.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cuckooguard::filter {
namespace {

constexpr std::uint64_t kSlotsMin = 16;
constexpr std::uint64_t kSlotBytes = 9;
constexpr double kLoadMax = 0.8;
constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio

std::uint64_t keys_for(std::uint64_t slots) {
  return static_cast<std::uint64_t>(static_cast<double>(slots) * kLoadMax);
}

std::uint64_t slots_for(std::uint64_t keys) {
  return static_cast<std::uint64_t>(static_cast<double>(keys) / kLoadMax) + kSlotsMin;
}

}  // namespace

ExactCounts::ExactCounts(std::uint64_t expected_keys) {
  allocate(slots_for(expected_keys));
}

std::uint64_t ExactCounts::bytes_for(std::uint64_t expected_keys) {
  return slots_for(expected_keys) * kSlotBytes;
}

void ExactCounts::allocate(std::uint64_t slots) {
  memory_ = std::make_shared<PageMemory>(words_for(slots));
  use(slots);
}

void ExactCounts::use(std::uint64_t slots) noexcept {
  slots_ = slots;
  first_ = 0;
  hashes_ = memory_->words();
  counts_ = reinterpret_cast<std::uint8_t*>(hashes_ + slots);
}

std::uint64_t ExactCounts::home(std::uint64_t hash) const noexcept {
  return (((hash * kMix) >> 32) * slots_) >> 32;
}

std::uint64_t ExactCounts::find(std::uint64_t hash) const noexcept {
  std::uint64_t slot = home(hash);
  while (counts_[slot] != 0 && hashes_[slot] != hash) {
    slot = next(slot);
  }
  return slot;
}

std::uint64_t ExactCounts::count_at(std::uint64_t slot) const {
  return counts_[slot] == kLarge ? large_.at(hashes_[slot]) : counts_[slot];
}

void ExactCounts::set_count(std::uint64_t slot, std::uint64_t count) {
  keep(slot);
  if (count >= kLarge) {
    large_[hashes_[slot]] = count;
  } else if (counts_[slot] == kLarge) {
    large_.erase(hashes_[slot]);
  }
  counts_[slot] = static_cast<std::uint8_t>(std::min<std::uint64_t>(count, kLarge));
}

bool ExactCounts::add(std::uint64_t hash, std::uint64_t times) {
  std::uint64_t slot = find(hash);
  if (counts_[slot] != 0) {
    set_count(slot, count_at(slot) + times);
    return false;
  }
  if (keys_ >= keys_for(slots_)) {
    grow();
    slot = find(hash);
  }
  keep(slot);
  first_ = std::min(first_, slot);
  hashes_[slot] = hash;
  set_count(slot, times);
  ++keys_;
  return true;
}

ExactCounts::Removal ExactCounts::remove(std::uint64_t hash) {
  const std::uint64_t slot = find(hash);
  if (counts_[slot] == 0) {
    return Removal::unknown;
  }
  const std::uint64_t left = count_at(slot) - 1;
  set_count(slot, left);
  if (left != 0) {
    return Removal::some_left;
  }
  --keys_;
  close_gap(slot);
  return Removal::last;
}

std::uint64_t ExactCounts::take(std::uint64_t hash) {
  const std::uint64_t slot = find(hash);
  if (counts_[slot] == 0) {
    return 0;
  }
  const std::uint64_t count = count_at(slot);
  set_count(slot, 0);
  --keys_;
  close_gap(slot);
  return count;
}

std::optional<ExactCounts::Counted> ExactCounts::first() {
  while (first_ < slots_ && counts_[first_] == 0) {
    ++first_;
  }
  return first_ < slots_ ? std::optional(Counted{hashes_[first_], count_at(first_)}) : std::nullopt;
}

// Moves later entries of the run back so that no probe stops at the gap before its hash.
void ExactCounts::close_gap(std::uint64_t gap) {
  for (std::uint64_t slot = next(gap); counts_[slot] != 0; slot = next(slot)) {
    if (distance(home(hashes_[slot]), slot) >= distance(gap, slot)) {
      keep(gap);
      keep(slot);
      first_ = std::min(first_, gap);
      hashes_[gap] = hashes_[slot];
      counts_[gap] = counts_[slot];
      counts_[slot] = 0;
      gap = slot;
    }
  }
}

std::uint64_t ExactCounts::count(std::uint64_t hash) const {
  const std::uint64_t slot = find(hash);
  return counts_[slot] == 0 ? 0 : count_at(slot);
}

void ExactCounts::grow() {
  const std::span<const std::uint64_t> old_hashes(hashes_, slots_);
  const std::span<const std::uint8_t> old_counts(counts_, slots_);
  auto larger = std::make_shared<PageMemory>(words_for(slots_ + slots_ / 2));
  const std::shared_ptr<PageMemory> old_memory = std::exchange(memory_, std::move(larger));
  images_.clear();
  use(slots_ + slots_ / 2);
  for (std::size_t i = 0; i < old_hashes.size(); ++i) {
    if (old_counts[i] != 0) {
      const std::uint64_t slot = find(old_hashes[i]);
      hashes_[slot] = old_hashes[i];
      counts_[slot] = old_counts[i];
    }
  }
}

void ExactCounts::prefetch(std::uint64_t hash) const noexcept {
  const std::uint64_t slot = home(hash);
  __builtin_prefetch(&hashes_[slot]);
  __builtin_prefetch(&counts_[slot]);
}

std::uint64_t ExactCounts::bytes() const noexcept {
  constexpr std::uint64_t kMapEntryBytes = 40;
  return slots_ * kSlotBytes + large_.size() * kMapEntryBytes;
}

std::unique_ptr<ExactCounts> ExactCounts::of_slots(std::uint64_t slots) {
  auto counts = std::make_unique<ExactCounts>(0);
  counts->allocate(slots);
  return counts;
}

bool ExactCounts::fill(std::unordered_map<std::uint64_t, std::uint64_t> large_counts) {
  keys_ = static_cast<std::uint64_t>(
      std::ranges::count_if(small_counts(), [](std::uint8_t count) { return count != 0; }));
  large_ = std::move(large_counts);
  // Free slots must be left, or probes would not end.
  return slots_ >= kSlotsMin && keys_ <= keys_for(slots_) && has_all_large_counts() &&
         finds_each_hash_once();
}

bool ExactCounts::has_all_large_counts() const {
  std::uint64_t large = 0;
  for (std::uint64_t slot = 0; slot < slots_; ++slot) {
    if (counts_[slot] == kLarge) {
      const auto found = large_.find(hashes_[slot]);
      if (found == large_.end() || found->second < kLarge) {
        return false;
      }
      ++large;
    }
  }
  return large == large_.size();
}

// Run by run of slots that are in use: a hash whose home is in front of its run is not found, and
// one that is there twice is so within a run. Sorted, since looking each up would take the square
// of a long run.
bool ExactCounts::finds_each_hash_once() const {
  std::vector<std::uint64_t> run;
  auto slot =
      static_cast<std::uint64_t>(std::ranges::find(small_counts(), 0) - small_counts().begin());
  for (std::uint64_t left = slots_; left > 0; --left) {
    slot = next(slot);
    if (counts_[slot] != 0) {
      if (distance(home(hashes_[slot]), slot) > run.size()) {
        return false;
      }
      run.push_back(hashes_[slot]);
      continue;
    }
    std::ranges::sort(run);
    if (std::ranges::adjacent_find(run) != run.end()) {
      return false;
    }
    run.clear();
  }
  return true;
}

std::optional<std::uint64_t> ExactCounts::total() const {
  std::uint64_t total = 0;
  bool is_possible = true;
  for_each([&](std::uint64_t /*hash*/, std::uint64_t count) {
    is_possible = is_possible && count <= kTotalMax - total;
    total += is_possible ? count : 0;
  });
  return is_possible ? std::optional(total) : std::nullopt;
}

}  // namespace cuckooguard::filter
