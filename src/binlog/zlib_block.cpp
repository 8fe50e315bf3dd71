#include "binlog/zlib_block.h"

#include <algorithm>
#include <cstdint>

#include <zlib.h>

#include "binlog/byte_cursor.h"

namespace cuckooguard::binlog {

namespace {

constexpr unsigned kMarkMask =
    0xf8;  // of the first byte: "compressed", by zlib; the rest is the length's width
constexpr unsigned kMark = 0x80;
constexpr unsigned kWidthMask = 0x07;
constexpr unsigned kWidthMax = 4;
// Deflate cannot make more out of one byte (RFC 1951: 258 bytes from two bits).
constexpr std::size_t kRatioMax = 1032;

}  // namespace

std::expected<std::string_view, DecodeError> inflate_block(std::string_view block,
                                                           std::size_t bytes_max,
                                                           std::vector<char>& buffer) {
  ByteCursor cursor(block);
  const unsigned first = cursor.u8();
  const unsigned width = first & kWidthMask;
  std::size_t length = 0;
  for (unsigned i = 0; i < std::min(width, kWidthMax); ++i) {
    length = length << 8 | cursor.u8();
  }
  if (!cursor.ok()) {
    return std::unexpected(DecodeError::truncated);
  }
  if ((first & kMarkMask) != kMark || width == 0 || width > kWidthMax) {
    return std::unexpected(DecodeError::malformed);
  }
  if (length > bytes_max) {
    return std::unexpected(DecodeError::too_large);
  }
  const std::string_view stream = cursor.rest();
  if (stream.empty() || length / kRatioMax > stream.size()) {
    return std::unexpected(DecodeError::decompression_failed);
  }
  if (buffer.size() < std::max<std::size_t>(length, 1)) {
    buffer.resize(std::max<std::size_t>(length, 1));
  }
  uLongf written = length;
  uLong taken = stream.size();
  const int status = ::uncompress2(reinterpret_cast<Bytef*>(buffer.data()),
                                   &written,
                                   reinterpret_cast<const Bytef*>(stream.data()),
                                   &taken);
  if (status != Z_OK || written != length || taken != stream.size()) {
    return std::unexpected(DecodeError::decompression_failed);
  }
  return std::string_view(buffer.data(), length);
}

}  // namespace cuckooguard::binlog
