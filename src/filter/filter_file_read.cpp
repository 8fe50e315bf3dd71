#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "filter/exact_counts.h"
#include "filter/file_descriptor.h"
#include "filter/filter_file.h"
#include "filter/filter_file_format.h"
#include "filter/table.h"
#include "text/try.h"

namespace cuckooguard::filter {
namespace {

using Bytes = std::span<const std::byte>;

std::unexpected<FilterFileError> fault(FilterFileFault what, std::string sentence) {
  return std::unexpected(FilterFileError{what, std::move(sentence)});
}
std::unexpected<FilterFileError> corrupt(std::string sentence) {
  return fault(FilterFileFault::corrupt, std::move(sentence));
}

// A file whose every byte has been verified.
struct Verified {
  FileHeader header;
  FileParts parts;
  Bytes payload;

  [[nodiscard]] Sizing sizing() const { return sizing_of(header); }
  [[nodiscard]] FilterFileLabel label() const {
    const Bytes attachment = payload.last(parts.attachment_bytes);
    return {.source_position = std::string(header.position.data(), header.position_bytes),
            .definition_hash = header.definition_hash,
            .created = header.created,
            .attachment =
                std::string(reinterpret_cast<const char*>(attachment.data()), attachment.size())};
  }
};

bool within_bounds(const FileHeader& header) {
  constexpr std::uint64_t kCountSlotsMax = 1ULL << 32;
  const bool exact = header.deletes == static_cast<std::uint32_t>(DeleteMode::exact);
  return header.layout < kLayouts.size() &&
         header.deletes <= static_cast<std::uint32_t>(DeleteMode::exact) &&
         header.hash_kind == kHashKindXxh3 && header.block_bytes == kFileBlockBytes &&
         header.buckets >= 2 && header.buckets <= kBucketsMax && header.buckets % 2 == 0 &&
         header.sizing_load > 0 && header.sizing_load <= 1 && header.count_slots < kCountSlotsMax &&
         exact == (header.count_slots != 0) && header.large_counts <= header.count_slots &&
         header.position_bytes <= kSourcePositionMax && header.attachment_bytes <= kAttachmentMax;
}

std::expected<Verified, FilterFileError> verify(Bytes bytes) {
  const auto header = TRY(read_header(bytes));
  const FileParts parts(header);
  if (bytes.size() != parts.file_bytes()) {
    return fault(FilterFileFault::truncated,
                 std::to_string(bytes.size()) + " bytes long, but should be " +
                     std::to_string(parts.file_bytes()));
  }
  const Bytes checksums = bytes.subspan(kFileHeaderBytes, parts.checksums_bytes());
  if (file_checksum(checksums) != header.checksums_checksum) {
    return corrupt("the checksum of the checksums does not match");
  }
  const Bytes payload = bytes.subspan(kFileHeaderBytes + checksums.size());
  for (std::uint64_t block = 0; block < parts.blocks(); ++block) {
    const Bytes rest = payload.subspan(block * kFileBlockBytes);
    std::uint64_t expected = 0;
    std::memcpy(&expected, checksums.data() + block * sizeof(expected), sizeof(expected));
    if (file_checksum(rest.first(std::min(rest.size(), kFileBlockBytes))) != expected) {
      return corrupt("the checksum of block " + std::to_string(block) + " does not match");
    }
  }
  return Verified{header, parts, payload};
}

std::expected<FilterFile, FilterFileError> build(const Verified& file,
                                                 const HashSecret& secret,
                                                 FilterFileOrigin origin) {
  if (file.header.secret_id != secret.id()) {
    return fault(FilterFileFault::wrong_secret, "hashed with another secret");
  }
  FileContents contents{.filter = std::make_unique<CuckooFilter>(file.sizing(), secret)};
  FilterTable& table = FilterFileAccess::table(*contents.filter);
  std::memcpy(table.cells().words().data(), file.payload.data(), file.parts.words_bytes);
  if (file.header.count_slots != 0) {
    const Bytes behind_words = file.payload.subspan(file.parts.words_bytes);
    contents.counts = ExactCounts::of_slots(file.header.count_slots);
    const auto words = std::as_writable_bytes(contents.counts->words_to_fill());
    std::ranges::copy(behind_words.first(words.size()), words.begin());
    contents.large_counts = behind_words.subspan(words.size(), file.parts.large_counts_bytes);
  }
  if (origin == FilterFileOrigin::stranger) {
    contents.fingerprints = table.count_fingerprints(0, file.header.buckets);
  }
  auto filter = TRY(filter_of(file.header, std::move(contents), origin));
  return FilterFile{std::move(filter), file.label(), file.header.header_checksum};
}

std::unordered_map<std::uint64_t, std::uint64_t> large_counts_in(Bytes bytes) {
  std::unordered_map<std::uint64_t, std::uint64_t> counts;
  for (std::size_t at = 0; at + sizeof(LargeCount) <= bytes.size(); at += sizeof(LargeCount)) {
    LargeCount entry{};
    std::memcpy(&entry, bytes.data() + at, sizeof(entry));
    counts[entry.hash] = entry.count;
  }
  return counts;
}

// What checksums do not say. Takes each key out of the table, and puts all back: no key may be
// hidden by another one's erase.
bool could_be_contents(const FileHeader& header, CuckooFilter& filter) {
  // Counts may grow a little beyond what they are made for.
  constexpr std::uint64_t kGrowthMost = 4;
  const std::uint64_t capacity = sizing_of(header).capacity();
  const ExactCounts* const counts = FilterFileAccess::counts(filter);
  if (capacity == 0 || counts == nullptr) {
    return capacity != 0;
  }
  if (FileParts(header).count_hashes_bytes > kGrowthMost * ExactCounts::bytes_for(capacity) ||
      counts->total() != header.items) {
    return false;
  }
  FilterTable& table = FilterFileAccess::table(filter);
  const std::span<std::uint64_t> words = table.cells().words();
  const std::vector<std::uint64_t> before(words.begin(), words.end());
  bool has_each = true;
  counts->for_each([&](std::uint64_t hash, std::uint64_t /*count*/) {
    has_each = has_each && table.erase(hash) != EraseOutcome::not_found;
  });
  std::ranges::copy(before, words.begin());
  table.cells().store_stash_mask(header.stash_mask);
  table.cells().store_moves(0);
  return has_each;
}

// Calls use(bytes) with the file mapped; puts the path before whatever goes wrong.
template <class Result, class Use>
std::expected<Result, FilterFileError> with_mapped(const std::string& path, const Use& use) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0) {
    return fault(FilterFileFault::unreadable,
                 path + ": cannot open: " + std::generic_category().message(errno));
  }
  if (status.st_size == 0) {
    return fault(FilterFileFault::not_a_filter, path + ": empty");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const memory =
      ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.number(), 0);
  if (memory == MAP_FAILED) {
    return fault(FilterFileFault::unreadable,
                 path + ": cannot map: " + std::generic_category().message(errno));
  }
  std::expected<Result, FilterFileError> result = use(Bytes(static_cast<std::byte*>(memory), size));
  ::munmap(memory, size);
  if (!result) {
    result.error().what.insert(0, path + ": ");
  }
  return result;
}

}  // namespace

Sizing sizing_of(const FileHeader& header) {
  return {.layout = static_cast<Layout>(header.layout),
          .buckets = header.buckets,
          .deletes = static_cast<DeleteMode>(header.deletes),
          .load = header.sizing_load};
}

std::expected<FileHeader, FilterFileError> read_header(Bytes bytes) {
  FileHeader header{};
  if (bytes.size() < sizeof(header.magic) ||
      std::memcmp(bytes.data(), kFileMagic.data(), kFileMagic.size()) != 0) {
    return fault(FilterFileFault::not_a_filter, "not a filter file");
  }
  if (bytes.size() < kFileHeaderBytes) {
    return fault(FilterFileFault::truncated, "shorter than its header");
  }
  std::memcpy(&header, bytes.data(), kFileHeaderBytes);
  if (header.version != kFileVersion || header.byte_order != kFileByteOrder) {
    return fault(FilterFileFault::wrong_version,
                 "written in format version " + std::to_string(header.version) +
                     " or in another byte order; this program reads version " +
                     std::to_string(kFileVersion));
  }
  const Bytes covered = bytes.first(offsetof(FileHeader, header_checksum));
  if (file_checksum(covered) != header.header_checksum) {
    return corrupt("the header's checksum does not match");
  }
  if (!within_bounds(header)) {
    return corrupt("the header's numbers are inconsistent");
  }
  return header;
}

std::expected<std::unique_ptr<CuckooFilter>, FilterFileError> filter_of(const FileHeader& header,
                                                                        FileContents contents,
                                                                        FilterFileOrigin origin) {
  CuckooFilter& filter = *contents.filter;
  SharedCells& cells = FilterFileAccess::table(filter).cells();
  for (unsigned entry = 0; entry < kStashEntries; ++entry) {
    cells.store_stash(entry, header.stash[entry]);
  }
  cells.store_stash_mask(header.stash_mask);
  if (contents.counts) {
    if (!contents.counts->fill(large_counts_in(contents.large_counts))) {
      return corrupt("the counts are impossible");
    }
    FilterFileAccess::set_counts(filter, std::move(contents.counts));
  }
  FilterFileAccess::set_statistics(filter, header);
  if (origin == FilterFileOrigin::stranger &&
      (contents.fingerprints != header.fingerprints || !could_be_contents(header, filter))) {
    return corrupt("the contents are not those of a filter");
  }
  return std::move(contents.filter);
}

std::expected<FilterFile, FilterFileError> parse_filter_file(std::span<const std::byte> bytes,
                                                             const HashSecret& secret,
                                                             FilterFileOrigin origin) {
  const auto file = verify(bytes);
  return file ? build(*file, secret, origin) : std::unexpected(file.error());
}

std::expected<FilterFileFront, FilterFileError> read_filter_file_front(
    std::span<const std::byte> bytes) {
  const auto header = TRY(read_header(bytes));
  return FilterFileFront{
      .sizing = sizing_of(header),
      .secret_id = header.secret_id,
      .source_position = std::string(header.position.data(), header.position_bytes)};
}

std::expected<FilterFile, FilterFileError> read_filter_file(const std::string& path,
                                                            const HashSecret& secret) {
  return with_mapped<FilterFile>(path,
                                 [&](Bytes bytes) { return parse_filter_file(bytes, secret); });
}

std::expected<FilterFile, FilterFileError> read_filter_file(const std::string& path,
                                                            const HashSecret& secret,
                                                            std::uint64_t definition_hash) {
  return with_mapped<FilterFile>(
      path, [&](Bytes bytes) -> std::expected<FilterFile, FilterFileError> {
        const auto header = read_header(bytes);
        if (header && header->definition_hash != definition_hash) {
          return fault(FilterFileFault::wrong_definition,
                       "written for other keys, columns or conditions than are configured now");
        }
        return parse_filter_file(bytes, secret);
      });
}

std::expected<FilterFileFacts, FilterFileError> inspect_filter_file(const std::string& path) {
  return with_mapped<FilterFileFacts>(
      path, [](Bytes bytes) -> std::expected<FilterFileFacts, FilterFileError> {
        const auto file = TRY(verify(bytes));
        const FileHeader& header = file.header;
        const std::uint64_t stashed_entries = header.stash_mask & ~(1ULL << kStashEntries);
        return FilterFileFacts{
            .label = file.label(),
            .sizing = file.sizing(),
            .version = header.version,
            .items = header.items,
            .fingerprints = header.fingerprints,
            .stashed = static_cast<std::uint64_t>(std::popcount(stashed_entries)),
            .stale = header.stale,
            .full = (header.stash_mask >> kStashEntries) != 0,
            .secret_id = header.secret_id,
            .file_bytes = bytes.size()};
      });
}

}  // namespace cuckooguard::filter
