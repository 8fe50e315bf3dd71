// Any bytes as a checkpoint: refused in words, or a filter that works and a position that can be
// written again. The input is used as it is, and once more as the label of a file whose filter and
// checksums are right, so that what stands behind them is reached.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "filter/filter_file.h"
#include "filter/filter_file_format.h"
#include "filter/hashes.h"
#include "follow/checkpoint.h"
#include "mysql/log.h"

namespace {

using namespace cuckooguard;

constexpr std::uint64_t kDefinition = 7;
const filter::HashSecret kSecret = filter::testing::fixed_secret(1);

// One that lives in memory, since a disk would be slow.
class File {
 public:
  File() : descriptor_(::memfd_create("checkpoint", 0)) {}
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  void set(std::span<const std::byte> bytes) const {
    if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, bytes.data(), bytes.size(), 0) !=
                                                static_cast<ssize_t>(bytes.size())) {
      std::abort();
    }
  }

 private:
  int descriptor_;
};

void read(const File& file) {
  const auto checkpoint =
      source::read_checkpoint<source::mysql::Log>(file.path(), kSecret, kDefinition);
  if (!checkpoint) {
    if (checkpoint.error().empty()) {
      std::abort();
    }
    return;
  }
  const source::mysql::LogPosition& position = (*checkpoint)->position;
  if (source::mysql::LogPosition::parse(position.text(), position.is_mariadb()) != position) {
    std::abort();
  }
  const source::mysql::LogGroup& group = (*checkpoint)->last_group;
  const auto again = source::mysql::LogGroup::parse(group.text(), position.is_mariadb());
  if (!again || !again->is_same_as(group) || again->previous != group.previous) {
    std::abort();
  }
  filter::CuckooFilter& filter = *(*checkpoint)->loaded.filter;
  for (std::uint64_t i = 0; i < 20; ++i) {
    filter.insert(filter::testing::nth_hash(1, i));
    if (!filter.may_contain(filter::testing::nth_hash(1, i))) {
      std::abort();
    }
  }
}

// An empty filter with this label.
std::vector<std::byte> labelled(std::span<const std::byte> label) {
  filter::FileHeader header{};
  header.magic = filter::kFileMagic;
  header.version = filter::kFileVersion;
  header.byte_order = filter::kFileByteOrder;
  header.hash_kind = filter::kHashKindXxh3;
  header.block_bytes = filter::kFileBlockBytes;
  header.buckets = 64;
  header.sizing_load = 0.95;
  header.secret_id = kSecret.id();
  header.definition_hash = kDefinition;
  header.position_bytes = std::min(label.size(), filter::kSourcePositionMax);
  std::memcpy(header.position.data(), label.data(), header.position_bytes);
  const filter::FileParts parts(header);
  std::vector<std::byte> bytes(parts.file_bytes());
  const auto payload = std::span(bytes).subspan(filter::kFileHeaderBytes + parts.checksums_bytes());
  const std::uint64_t checksum = filter::file_checksum(payload);  // one block: it is small
  std::memcpy(bytes.data() + filter::kFileHeaderBytes, &checksum, sizeof(checksum));
  header.checksums_checksum =
      filter::file_checksum(std::span(bytes).subspan(filter::kFileHeaderBytes, sizeof(checksum)));
  header.header_checksum = filter::file_checksum(
      std::as_bytes(std::span(&header, 1)).first(offsetof(filter::FileHeader, header_checksum)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const File kFile;
  const auto input = std::as_bytes(std::span(bytes, size));
  kFile.set(input);
  read(kFile);
  kFile.set(labelled(input));
  read(kFile);
  return 0;
}
