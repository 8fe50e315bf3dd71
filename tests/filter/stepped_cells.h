// Cells whose every access is a step: a writer's stores are recorded, then a look-up is run against
// every possible view of them.
//
// One writer stores in order and a reader loads in order, so all a reader can see is this: each of
// its loads happens at some moment between two of the writer's stores, none before the load before
// it. Interleavings enumerates these choices. Of all moments at which a load gives the same value
// only the earliest is tried, since it leaves every later choice open. (Acquire and release give
// exactly these guarantees along the cells the argument in table_reader.h uses.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "filter/shared_cells.h"

namespace cuckooguard::filter::testing {

// Where the cells stand in one array: buckets, moves, stash mask, stash.
struct CellMap {
  std::size_t buckets;

  [[nodiscard]] std::size_t moves() const { return buckets; }
  [[nodiscard]] std::size_t stash_mask() const { return buckets + 1; }
  [[nodiscard]] std::size_t stash(unsigned entry) const { return buckets + 2 + entry; }
  [[nodiscard]] std::size_t size() const { return buckets + 2 + kStashEntries; }
};

// Rules broken on purpose, to show that the test notices.
enum class Mutation : std::uint8_t {
  none,
  reader_ignores_moves,
  erase_does_not_bump,
  bump_after_the_store,
  original_goes_before_the_copy
};

// The writer's view: plain memory, and a record of the stores since record().
class RecordingCells {
 public:
  struct Store {
    std::size_t cell;
    std::uint64_t value;
  };

  explicit RecordingCells(std::size_t buckets) : map_{buckets}, now_(map_.size(), 0) {}

  [[nodiscard]] std::uint64_t load_bucket(std::uint64_t bucket) const { return now_[bucket]; }
  void store_bucket(std::uint64_t bucket, std::uint64_t word) { store(bucket, word); }
  void prefetch_bucket(std::uint64_t /*bucket*/) const {}
  [[nodiscard]] std::uint64_t load_moves() const { return now_[map_.moves()]; }
  void store_moves(std::uint64_t moves) { store(map_.moves(), moves); }
  [[nodiscard]] std::uint64_t load_stash_mask() const { return now_[map_.stash_mask()]; }
  void store_stash_mask(std::uint64_t mask) { store(map_.stash_mask(), mask); }
  [[nodiscard]] std::uint64_t load_stash(unsigned entry) const { return now_[map_.stash(entry)]; }
  void store_stash(unsigned entry, std::uint64_t hash) { store(map_.stash(entry), hash); }

  void record() {
    before_ = now_;
    stores_.clear();
  }
  // Between these two, stores belong to one insert or erase.
  void begin_operation(bool erasing) {
    erasing_ = erasing;
    operation_begin_ = stores_.size();
  }
  void end_operation(Mutation mutation);

  [[nodiscard]] const CellMap& map() const { return map_; }
  [[nodiscard]] const std::vector<std::uint64_t>& before() const { return before_; }
  [[nodiscard]] const std::vector<Store>& stores() const { return stores_; }

 private:
  void store(std::size_t cell, std::uint64_t value) {
    now_[cell] = value;
    stores_.push_back({cell, value});
  }

  CellMap map_;
  std::vector<std::uint64_t> now_;
  std::vector<std::uint64_t> before_;
  std::vector<Store> stores_;
  std::size_t operation_begin_ = 0;
  bool erasing_ = false;
};

inline void RecordingCells::end_operation(Mutation mutation) {
  const auto is_bump = [this](std::size_t i) { return stores_[i].cell == map_.moves(); };
  for (std::size_t i = operation_begin_; i < stores_.size(); ++i) {
    if (!is_bump(i)) {
      continue;
    }
    const bool has_next = i + 1 < stores_.size();
    if (mutation == Mutation::erase_does_not_bump && erasing_) {
      stores_.erase(stores_.begin() + static_cast<std::ptrdiff_t>(i--));
    } else if (mutation == Mutation::bump_after_the_store && has_next) {
      std::swap(stores_[i], stores_[i + 1]);
      ++i;
    } else if (mutation == Mutation::original_goes_before_the_copy && i > operation_begin_ &&
               has_next && !erasing_) {
      std::swap(stores_[i - 1], stores_[i + 1]);
    }
  }
}

// The reader's view at the moments chosen so far.
class Interleavings {
 public:
  Interleavings(const RecordingCells& writer, Mutation mutation)
      : map_(writer.map()), mutation_(mutation), versions_(map_.size()) {
    for (std::size_t cell = 0; cell < versions_.size(); ++cell) {
      versions_[cell].push_back({0, writer.before()[cell]});
    }
    std::size_t moment = 0;
    for (const auto& store : writer.stores()) {
      versions_[store.cell].push_back({++moment, store.value});
    }
  }

  [[nodiscard]] std::uint64_t load_bucket(std::uint64_t bucket) const { return load(bucket); }
  void prefetch_bucket(std::uint64_t /*bucket*/) const {}
  [[nodiscard]] std::uint64_t load_moves() const { return moves_seen_ = load(map_.moves()); }
  [[nodiscard]] std::uint64_t recheck_moves() const {
    return mutation_ == Mutation::reader_ignores_moves ? moves_seen_ : load(map_.moves());
  }
  [[nodiscard]] std::uint64_t load_stash_mask() const { return load(map_.stash_mask()); }
  [[nodiscard]] std::uint64_t load_stash(unsigned entry) const { return load(map_.stash(entry)); }

  // Sets up the next interleaving; false when all have been run. Call before the second run.
  bool next() {
    depth_ = 0;
    moment_ = 0;
    while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().of) {
      choices_.pop_back();
    }
    if (choices_.empty()) {
      return false;
    }
    ++choices_.back().taken;
    return true;
  }

 private:
  struct Version {
    std::size_t since;
    std::uint64_t value;
  };
  struct Choice {
    std::size_t taken;
    std::size_t of;
  };

  std::uint64_t load(std::size_t cell) const {
    const std::vector<Version>& all = versions_[cell];
    std::size_t oldest = all.size() - 1;
    while (all[oldest].since > moment_) {
      --oldest;
    }
    if (depth_ == choices_.size()) {
      choices_.push_back({0, all.size() - oldest});
    }
    const Version& seen = all[oldest + choices_[depth_++].taken];
    moment_ = seen.since > moment_ ? seen.since : moment_;
    return seen.value;
  }

  CellMap map_;
  Mutation mutation_;
  std::vector<std::vector<Version>> versions_;
  mutable std::vector<Choice> choices_;
  mutable std::size_t depth_ = 0;
  mutable std::size_t moment_ = 0;
  mutable std::uint64_t moves_seen_ = 0;
};

}  // namespace cuckooguard::filter::testing
