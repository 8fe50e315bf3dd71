#include "filter/cuckoo_filter.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "filter/exact_counts.h"
#include "filter/stash.h"
#include "filter/table.h"

namespace cuckooguard::filter {
namespace {

// Far enough ahead that the line has come when its insert begins, at 50 to 100 ns per insert.
constexpr std::size_t kInsertsAhead = 16;
constexpr std::size_t kSecondsAhead =
    8;  // then the first bucket has come, and says whether it is full

// A tenth of what is stored, but not already for the first few.
constexpr std::uint64_t kStaleShareMax = 10;
constexpr std::uint64_t kStaleAlwaysAllowed = 1024;

Sizing checked(const Sizing& sizing) {
  if (sizing.buckets < 2 || sizing.buckets > kBucketsMax || sizing.buckets % 2 != 0) {
    throw std::invalid_argument("filter: the number of buckets must be even, from 2 to 2^32 - 2");
  }
  return sizing;
}

std::uint64_t stashed(std::uint64_t mask) {
  return static_cast<std::uint64_t>(std::popcount(mask & ~kStashSpilled));
}

// One writer: no read-modify-write is needed, only that readers of statistics see whole numbers.
void add(std::atomic<std::uint64_t>& counter, std::int64_t change) {
  counter.store(counter.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(change),
                std::memory_order_relaxed);
}

}  // namespace

CuckooFilter::CuckooFilter(const Sizing& sizing, const HashSecret& secret)
    : sizing_(checked(sizing)), hash_(secret), table_(make_table(sizing)) {
  if (sizing_.deletes == DeleteMode::exact) {
    counts_ = std::make_unique<ExactCounts>(sizing_.capacity());
    counts_bytes_.store(counts_->bytes(), std::memory_order_relaxed);
  }
}

CuckooFilter::~CuckooFilter() = default;

bool CuckooFilter::may_contain(std::uint64_t hash) const noexcept {
  return table_->may_contain(hash);
}

std::uint64_t CuckooFilter::may_contain(std::span<const std::uint64_t> hashes) const noexcept {
  return table_->may_contain(hashes.first(std::min(hashes.size(), kBatchMax)));
}

void CuckooFilter::may_contain(std::span<const std::uint64_t> hashes,
                               std::span<bool> out) const noexcept {
  for (std::size_t begin = 0; begin < hashes.size(); begin += kBatchMax) {
    const auto batch = hashes.subspan(begin, std::min(kBatchMax, hashes.size() - begin));
    const std::uint64_t found = table_->may_contain(batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      out[begin + i] = ((found >> i) & 1) != 0;
    }
  }
}

void CuckooFilter::prefetch(std::uint64_t hash) const noexcept {
  table_->prefetch_both(hash);
}

InsertOutcome CuckooFilter::insert(std::uint64_t hash) {
  table_->prefetch_both(hash);
  return insert_fetched(hash);
}

InsertOutcome CuckooFilter::insert_fetched(std::uint64_t hash) {
  digest_.add(hash);
  if (counts_ && !counts_->add(hash)) {
    add(items_, 1);
    return InsertOutcome::already_there;
  }
  const bool once = sizing_.deletes == DeleteMode::deferred;
  const InsertOutcome outcome = once ? table_->insert_once(hash) : table_->insert(hash);
  if (outcome == InsertOutcome::inserted) {
    add(fingerprints_, 1);
  }
  if (!once || outcome != InsertOutcome::already_there) {
    add(items_, 1);
  }
  return outcome;
}

InsertOutcome CuckooFilter::insert(std::span<const std::uint64_t> hashes) {
  const auto prefetch = [this](std::uint64_t hash) {
    table_->prefetch(hash);
    if (counts_) {
      counts_->prefetch(hash);
    }
  };
  std::ranges::for_each(hashes.first(std::min(kInsertsAhead, hashes.size())), prefetch);
  InsertOutcome worst = InsertOutcome::inserted;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (i + kInsertsAhead < hashes.size()) {
      prefetch(hashes[i + kInsertsAhead]);
    }
    if (i + kSecondsAhead < hashes.size()) {
      table_->prefetch_second(hashes[i + kSecondsAhead]);
    }
    worst = std::max(worst, insert_fetched(hashes[i]));
  }
  return worst;
}

EraseOutcome CuckooFilter::erase(std::uint64_t hash) {
  if (sizing_.deletes == DeleteMode::deferred) {
    digest_.remove(hash);
    add(stale_, 1);
    return EraseOutcome::kept;
  }
  if (counts_) {
    switch (counts_->remove(hash)) {
      case ExactCounts::Removal::unknown:
        add(missing_deletes_, 1);
        return EraseOutcome::not_found;
      case ExactCounts::Removal::some_left:
        digest_.remove(hash);
        add(items_, -1);
        return EraseOutcome::erased;
      case ExactCounts::Removal::last:
        break;
    }
  }
  return erase_from_table(hash);
}

std::uint64_t CuckooFilter::count(std::uint64_t hash) const {
  return counts_ ? counts_->count(hash) : table_->count(hash);
}

EraseOutcome CuckooFilter::erase_from_table(std::uint64_t hash) {
  const std::uint64_t stash_before = table_->cells().load_stash_mask();
  const EraseOutcome outcome = table_->erase(hash);
  if (outcome == EraseOutcome::not_found) {
    add(missing_deletes_, 1);
    return outcome;
  }
  digest_.remove(hash);
  if (items_.load(std::memory_order_relaxed) != 0) {
    add(items_, -1);
  }
  if (outcome == EraseOutcome::kept) {
    add(stale_, 1);
  } else if (table_->cells().load_stash_mask() == stash_before) {
    add(fingerprints_, -1);
  }
  return outcome;
}

void CuckooFilter::fail_open() noexcept {
  SharedCells& cells = table_->cells();
  cells.store_stash_mask(cells.load_stash_mask() | kStashSpilled);
}

bool CuckooFilter::give(std::uint64_t hash, CuckooFilter& next) {
  const std::uint64_t count = counts_->count(hash);
  if (count == 0) {
    return false;
  }
  next.insert(hash);
  if (count > 1) {
    next.counts_->add(hash, count - 1);
    add(next.items_, static_cast<std::int64_t>(count - 1));
  }
  counts_->take(hash);
  add(items_, -static_cast<std::int64_t>(count));
  return true;
}

bool CuckooFilter::give_some(std::size_t most, CuckooFilter& next) {
  auto first = counts_->first();
  for (; first && most > 0; --most, first = counts_->first()) {
    give(first->hash, next);
  }
  return first.has_value();
}

void CuckooFilter::use_kernel(LookupKernel kernel) {
  table_->use_kernel(kernel);
}

FilterStats CuckooFilter::stats() const noexcept {
  const std::uint64_t mask = table_->cells().load_stash_mask();
  FilterStats stats{
      .buckets = sizing_.buckets,
      .slots = sizing_.slots(),
      .bytes = sizing_.bytes() + counts_bytes_.load(std::memory_order_relaxed),
      .items = items_.load(std::memory_order_relaxed),
      .fingerprints = fingerprints_.load(std::memory_order_relaxed),
      .stashed = stashed(mask),
      .stale = stale_.load(std::memory_order_relaxed),
      .missing_deletes = missing_deletes_.load(std::memory_order_relaxed),
      .moves = table_->cells().load_moves(),
      .load = 0,
      .rebuild_needed = false,
      .full = (mask & kStashSpilled) != 0,
  };
  stats.load = static_cast<double>(stats.fingerprints) / static_cast<double>(stats.slots);
  const bool too_stale =
      stats.stale > std::max(kStaleAlwaysAllowed, stats.fingerprints / kStaleShareMax);
  const double load_max = std::min(shape_of(sizing_.layout).rebuild_load, sizing_.load);
  stats.rebuild_needed = mask != 0 || too_stale || stats.load >= load_max;
  return stats;
}

}  // namespace cuckooguard::filter
