#include <algorithm>

#include "binlog/byte_cursor.h"
#include "binlog/mysql_gtid_set.h"

namespace cuckooguard::binlog {

namespace {

constexpr std::uint64_t kTaggedMarks = std::uint64_t{1} << 56 | 1;
constexpr std::uint64_t kFormatMask = std::uint64_t{0xff} << 56;

void put_u64(std::uint64_t value, std::string& out) {
  for (unsigned shift = 0; shift < 64; shift += 8) {
    out += static_cast<char>(value >> shift & 0xffU);
  }
}

}  // namespace

std::string MySqlGtidSet::encode() const {
  const bool is_tagged =
      std::ranges::any_of(intervals_, [](const auto& entry) { return entry.first.tag_size != 0; });
  std::string out;
  const std::uint64_t sources = intervals_.size();
  put_u64(is_tagged ? sources << 8 | kTaggedMarks : sources, out);
  for (const auto& [source, intervals] : intervals_) {
    for (const std::uint8_t byte : source.uuid) {
      out += static_cast<char>(byte);
    }
    if (is_tagged) {
      out += static_cast<char>(source.tag_size << 1);  // a varlen, of one byte for up to 127
      out += source.tag();
    }
    put_u64(intervals.size(), out);
    for (const Interval& interval : intervals) {
      put_u64(interval.first, out);
      put_u64(interval.last + 1, out);
    }
  }
  return out;
}

std::expected<MySqlGtidSet, DecodeError> MySqlGtidSet::decode(std::string_view bytes) {
  ByteCursor cursor(bytes);
  const std::uint64_t marked = cursor.u64();
  const std::uint64_t format = marked >> 56;
  if (format > 1) {
    return std::unexpected(DecodeError::malformed);
  }
  const bool is_tagged = format == 1;
  const std::uint64_t sources = is_tagged ? (marked & ~kFormatMask) >> 8 : marked;
  MySqlGtidSet set;
  for (std::uint64_t i = 0; i < sources && cursor.ok(); ++i) {
    MySqlGtidSource source;
    const std::string_view uuid = cursor.bytes(source.uuid.size());
    std::ranges::copy(uuid, source.uuid.begin());
    if (is_tagged && !source.set_tag(cursor.bytes(cursor.varlen()))) {
      return std::unexpected(DecodeError::malformed);
    }
    const std::uint64_t intervals = cursor.u64();
    for (std::uint64_t k = 0; k < intervals && cursor.ok(); ++k) {
      const std::uint64_t first = cursor.u64();
      const std::uint64_t behind = cursor.u64();
      if (cursor.ok() && !set.add(source, first, behind - 1)) {
        return std::unexpected(DecodeError::malformed);
      }
    }
  }
  if (!cursor.ok()) {
    return std::unexpected(DecodeError::truncated);
  }
  if (cursor.left() != 0) {
    return std::unexpected(DecodeError::trailing_bytes);
  }
  return set;
}

}  // namespace cuckooguard::binlog
