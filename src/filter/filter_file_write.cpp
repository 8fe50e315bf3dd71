#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>

#include "filter/exact_counts.h"
#include "filter/file_descriptor.h"
#include "filter/filter_file.h"
#include "filter/filter_file_format.h"
#include "filter/table.h"
#include "text/try.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace cuckooguard::filter {
namespace {

std::unexpected<FilterFileError> unwritable(const std::string& path, const char* what) {
  const std::string reason = write_error(errno, folder_of(path));
  return std::unexpected(
      FilterFileError{FilterFileFault::unwritable, path + ": cannot " + what + ": " + reason});
}

// Cuts the parts, one behind the other, into blocks: writes each and keeps its checksum.
class BlockWriter {
 public:
  BlockWriter(int file, std::uint64_t offset) : file_(file), offset_(offset) {
    block_.reserve(kFileBlockBytes);
  }

  bool add(std::span<const std::byte> part) {
    while (!part.empty()) {
      const std::size_t room = std::min(part.size(), kFileBlockBytes - block_.size());
      block_.insert(block_.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(room));
      part = part.subspan(room);
      if (block_.size() == kFileBlockBytes && !finish()) {
        return false;
      }
    }
    return true;
  }
  bool finish() {
    if (block_.empty()) {
      return true;
    }
    checksums_.push_back(file_checksum(block_));
    const bool written = write_all(file_, block_, offset_);
    offset_ += block_.size();
    block_.clear();
    return written;
  }

  [[nodiscard]] std::span<const std::uint64_t> checksums() const { return checksums_; }

 private:
  int file_;
  std::uint64_t offset_;
  std::vector<std::byte> block_;
  std::vector<std::uint64_t> checksums_;
};

bool write_payload(BlockWriter& blocks, const CuckooFilter& filter, std::string_view attachment) {
  bool written = blocks.add(std::as_bytes(FilterFileAccess::table(filter).cells().words()));
  if (const ExactCounts* const counts = FilterFileAccess::counts(filter)) {
    const std::span<const std::uint8_t> small = counts->small_counts();
    const std::vector<std::byte> padding((8 - small.size() % 8) % 8);
    written = written && blocks.add(std::as_bytes(counts->hashes())) &&
              blocks.add(std::as_bytes(small)) && blocks.add(padding);
    const std::vector<LargeCount> large = large_counts_of(*counts);
    written = written && blocks.add(std::as_bytes(std::span(large)));
  }
  written = written && blocks.add(std::as_bytes(std::span(attachment)));
  return written && blocks.finish();
}

// Its id, if it could be written.
std::optional<std::uint64_t> write_contents(int file,
                                            const CuckooFilter& filter,
                                            const FilterFileLabel& label) {
  FileHeader header = header_of(filter, label);
  BlockWriter blocks(file, kFileHeaderBytes + FileParts(header).checksums_bytes());
  if (!write_payload(blocks, filter, label.attachment)) {
    return std::nullopt;
  }
  const auto checksums = std::as_bytes(blocks.checksums());
  header.checksums_checksum = file_checksum(checksums);
  seal(header);
  return write_all(file, std::as_bytes(std::span(&header, 1)), 0) &&
                 write_all(file, checksums, kFileHeaderBytes)
             ? std::optional(header.header_checksum)
             : std::nullopt;
}

// The rename itself must survive a power cut too.
bool sync_folder(const std::string& path) {
  const FileDescriptor file(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return file.is_open() && ::fsync(file.number()) == 0;
}

}  // namespace

WrittenFilterFile::WrittenFilterFile(std::string path, std::string temporary, FileDescriptor file)
    : path_(std::move(path)), temporary_(std::move(temporary)), file_(std::move(file)) {}

WrittenFilterFile::WrittenFilterFile(WrittenFilterFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      id_(other.id_) {}

WrittenFilterFile::~WrittenFilterFile() {
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

std::expected<WrittenFilterFile, FilterFileError> WrittenFilterFile::begin(
    const std::string& path) {
  std::string temporary = path + ".XXXXXX";
  FileDescriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.is_open()) {
    return unwritable(path, "create a temporary file");
  }
  return WrittenFilterFile(path, std::move(temporary), std::move(file));
}

std::expected<WrittenFilterFile, FilterFileError> WrittenFilterFile::write(
    const std::string& path, const CuckooFilter& filter, const FilterFileLabel& label) {
  if (label.source_position.size() > kSourcePositionMax) {
    return std::unexpected(FilterFileError{
        FilterFileFault::unwritable, path + ": the source position is too long for the header"});
  }
  if (label.attachment.size() > kAttachmentMax) {
    return std::unexpected(
        FilterFileError{FilterFileFault::unwritable, path + ": the attachment is too long"});
  }
  auto written = TRY(begin(path));
  const auto id = write_contents(written.file_.number(), filter, label);
  if (!id) {
    return unwritable(path, "write");
  }
  written.id_ = *id;
  return written;
}

std::expected<WrittenFilterFile, FilterFileError> WrittenFilterFile::write(
    const std::string& path, const std::function<bool(std::string& out)>& next) {
  auto written = begin(path);
  std::string part;
  std::uint64_t offset = 0;
  for (bool is_more = written.has_value(); is_more;) {
    part.clear();
    is_more = next(part);
    if (!write_all(written->file_.number(), std::as_bytes(std::span(part)), offset)) {
      return unwritable(path, "write");
    }
    offset += part.size();
  }
  return written;
}

std::expected<WrittenFilterFile, FilterFileError> WrittenFilterFile::write(const std::string& path,
                                                                           std::string_view text) {
  return write(path, [&](std::string& out) {
    out = text;
    return false;
  });
}

std::expected<void, FilterFileError> WrittenFilterFile::put_in_place() {
  if (::fsync(file_.number()) != 0 || !file_.close() ||
      std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return unwritable(path_, "write");
  }
  temporary_.clear();
  if (!sync_folder(path_)) {
    return unwritable(path_, "sync its directory");
  }
  return {};
}

std::expected<void, FilterFileError> write_filter_file(const std::string& path,
                                                       const CuckooFilter& filter,
                                                       const FilterFileLabel& label) {
  auto written = WrittenFilterFile::write(path, filter, label);
  return written ? written->put_in_place() : std::unexpected(written.error());
}

std::vector<std::byte> header_with_position(std::span<const std::byte> bytes,
                                            std::string_view source_position) {
  FileHeader header{};
  std::memcpy(&header, bytes.data(), kFileHeaderBytes);
  set_position(header, source_position);
  seal(header);
  const auto sealed = std::as_bytes(std::span(&header, 1));
  return {sealed.begin(), sealed.end()};
}

std::uint64_t hash_of_definition(std::string_view text) noexcept {
  return file_checksum(std::as_bytes(std::span(text)));
}

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
  header.digest = filter.digest();
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
  filter.digest_ = header.digest;
}

}  // namespace cuckooguard::filter
