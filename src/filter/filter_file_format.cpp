#include "filter/filter_file_format.h"

#include <algorithm>
#include <new>
#include <utility>

#include "filter/exact_counts.h"
#include "filter/table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace cuckooguard::filter {

std::uint64_t file_checksum(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

FileChecksum::FileChecksum() : state_(XXH3_createState()) {
  if (!state_) {
    throw std::bad_alloc();
  }
  XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_.get()));
}

void FileChecksum::Free::operator()(void* state) const noexcept {
  XXH3_freeState(static_cast<XXH3_state_t*>(state));
}

void FileChecksum::add(std::span<const std::byte> bytes) noexcept {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state_.get()), bytes.data(), bytes.size());
}

std::uint64_t FileChecksum::value() const noexcept {
  return XXH3_64bits_digest(static_cast<const XXH3_state_t*>(state_.get()));
}

std::uint64_t FileChecksum::finish() noexcept {
  const std::uint64_t sum = value();
  XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_.get()));
  return sum;
}

void set_position(FileHeader& header, std::string_view position) {
  header.position = {};
  header.position_bytes = position.size();
  std::ranges::copy(position, header.position.begin());
}

void seal(FileHeader& header) {
  const auto bytes = std::as_bytes(std::span(&header, 1));
  header.header_checksum = file_checksum(bytes.first(offsetof(FileHeader, header_checksum)));
}

FileHeader header_of(const CuckooFilter& filter, const FilterFileLabel& label) {
  const FilterStats stats = filter.stats();
  const SharedCells& cells = FilterFileAccess::table(filter).cells();
  const ExactCounts* const counts = FilterFileAccess::counts(filter);
  FileHeader header{};
  header.magic = kFileMagic;
  header.version = kFileVersion;
  header.byte_order = kFileByteOrder;
  header.layout = static_cast<std::uint32_t>(filter.sizing().layout);
  header.deletes = static_cast<std::uint32_t>(filter.sizing().deletes);
  header.hash_kind = kHashKindXxh3;
  header.block_bytes = kFileBlockBytes;
  header.buckets = filter.sizing().buckets;
  header.sizing_load = filter.sizing().load;
  header.secret_id = filter.secret().id();
  header.definition_hash = label.definition_hash;
  header.created = label.created;
  header.items = stats.items;
  header.fingerprints = stats.fingerprints;
  header.stale = stats.stale;
  header.missing_deletes = stats.missing_deletes;
  header.count_slots = counts == nullptr ? 0 : counts->hashes().size();
  header.large_counts = counts == nullptr ? 0 : counts->large_counts().size();
  header.stash_mask = cells.load_stash_mask();
  for (unsigned entry = 0; entry < kStashEntries; ++entry) {
    header.stash[entry] = cells.load_stash(entry);
  }
  header.attachment_bytes = label.attachment.size();
  set_position(header, label.source_position);
  return header;
}

std::vector<LargeCount> large_counts_of(const ExactCounts& counts) {
  std::vector<LargeCount> large;
  large.reserve(counts.large_counts().size());
  for (const auto& [hash, count] : counts.large_counts()) {
    large.push_back({hash, count});
  }
  std::ranges::sort(large, {}, &LargeCount::hash);
  return large;
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
