// Any bytes as a filter file: refused, or a filter that works. The input is used as it is, and once
// more with all checksums made right, so that what stands behind them is reached.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "filter/filter_file.h"
#include "filter/filter_file_format.h"
#include "filter/hashes.h"

namespace {

using namespace cuckooguard::filter;

const HashSecret kSecret = testing::fixed_secret(1);

void use(CuckooFilter& filter) {
  for (std::uint64_t i = 0; i < 50; ++i) {
    filter.insert(testing::nth_hash(1, i));
    if (!filter.may_contain(testing::nth_hash(1, i))) {
      std::abort();
    }
    filter.erase(testing::nth_hash(2, i));
  }
}

void parse(std::span<const std::byte> bytes) {
  if (auto file = parse_filter_file(bytes, kSecret)) {
    use(*file->filter);
  }
}

// The first bytes of the input go where the header's numbers are, the rest becomes the payload.
std::vector<std::byte> sealed(std::span<const std::byte> input) {
  FileHeader header{};
  std::memcpy(&header, input.data(), std::min(input.size(), kFileHeaderBytes));
  header.magic = kFileMagic;
  header.version = kFileVersion;
  header.byte_order = kFileByteOrder;
  header.layout %= 6;
  header.deletes %= 3;
  header.hash_kind = kHashKindXxh3;
  header.block_bytes = kFileBlockBytes;
  header.buckets = 2 + 2 * (header.buckets % 64);
  header.sizing_load = 0.95;
  header.secret_id = kSecret.id();
  const bool exact = header.deletes == static_cast<std::uint32_t>(DeleteMode::exact);
  header.count_slots = exact ? 16 + header.count_slots % 64 : 0;
  header.large_counts = exact ? header.large_counts % 8 : 0;
  header.position_bytes %= kSourcePositionMax + 1;
  const FileParts parts(header);
  std::vector<std::byte> bytes(parts.file_bytes());
  const auto payload = std::span(bytes).subspan(kFileHeaderBytes + parts.checksums_bytes());
  const auto rest = input.subspan(std::min<std::size_t>(input.size(), 128));
  std::copy_n(rest.begin(), std::min(rest.size(), payload.size()), payload.begin());
  const std::uint64_t checksum = file_checksum(payload);  // one block: the parts are small
  std::memcpy(bytes.data() + kFileHeaderBytes, &checksum, sizeof(checksum));
  header.checksums_checksum =
      file_checksum(std::span(bytes).subspan(kFileHeaderBytes, sizeof(checksum)));
  header.header_checksum = file_checksum(
      std::as_bytes(std::span(&header, 1)).first(offsetof(FileHeader, header_checksum)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto input = std::as_bytes(std::span(bytes, size));
  parse(input);
  parse(sealed(input));
  return 0;
}
