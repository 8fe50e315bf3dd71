#include "filter/filter_file_format.h"

#include <utility>

#include "filter/exact_counts.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace cuckooguard::filter {

std::uint64_t file_checksum(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

void FilterFileAccess::set_counts(CuckooFilter& filter, std::unique_ptr<ExactCounts> counts) {
  filter.counts_bytes_.store(counts->bytes(), std::memory_order_relaxed);
  filter.counts_ = std::move(counts);
}

void FilterFileAccess::set_statistics(CuckooFilter& filter, const FileHeader& header) {
  filter.items_.store(header.items, std::memory_order_relaxed);
  filter.fingerprints_.store(header.fingerprints, std::memory_order_relaxed);
  filter.stale_.store(header.stale, std::memory_order_relaxed);
  filter.missing_deletes_.store(header.missing_deletes, std::memory_order_relaxed);
}

}  // namespace cuckooguard::filter
