#include "binlog/mysql_gtid_set.h"

#include <algorithm>
#include <array>

#include "binlog/byte_cursor.h"
#include "text/ascii.h"
#include "text/hex.h"
#include "text/number.h"
#include "text/words.h"

namespace cuckooguard::binlog {

namespace {

constexpr std::size_t kUuidCharacters = 36;
constexpr std::string_view kBlanks = " \t\r\n";

bool has_dash(std::size_t at) {
  return at == 8 || at == 13 || at == 18 || at == 23;
}

bool parse_uuid(std::string_view text, std::array<std::uint8_t, 16>& uuid) {
  if (text.size() != kUuidCharacters) {
    return false;
  }
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (has_dash(i)) {
      if (text[i] != '-') {
        return false;
      }
      continue;
    }
    const std::optional<unsigned> value = text::number_of<unsigned>(text.substr(i, 1), 16);
    if (!value) {
      return false;
    }
    auto& byte = uuid[digits / 2];
    byte = static_cast<std::uint8_t>(unsigned{byte} << 4U | *value);
    ++digits;
  }
  return true;
}

void print_uuid(const std::array<std::uint8_t, 16>& uuid, std::string& out) {
  for (const std::uint8_t byte : uuid) {
    if (has_dash(out.size() - out.rfind(',') - 1)) {
      out += '-';
    }
    text::append_hex(out, byte);
  }
}

std::string_view trim(std::string_view text) {
  return text::trimmed(text, kBlanks);
}

// What is before the next `separator`, which goes as well.
std::string_view take_until(std::string_view& text, char separator) {
  return trim(text::take_word(text, separator));
}

}  // namespace

bool MySqlGtidSource::set_tag(std::string_view text) {
  if (text.size() > kTagBytesMax || (!text.empty() && text::is_digit(text.front()))) {
    return false;
  }
  std::array<char, kTagBytesMax> bytes{};
  for (std::size_t i = 0; i < text.size(); ++i) {
    bytes[i] = text::to_lower(text[i]);
    if (!text::is_alphanumeric(bytes[i]) && bytes[i] != '_') {
      return false;
    }
  }
  tag_bytes = bytes;
  tag_size = static_cast<std::uint8_t>(text.size());
  return true;
}

std::optional<MySqlGtidSet> MySqlGtidSet::parse(std::string_view text) {
  MySqlGtidSet set;
  while (!text.empty()) {
    const std::string_view item = take_until(text, ',');
    if (!item.empty() && !set.parse_item(item)) {
      return std::nullopt;
    }
  }
  return set;
}

// uuid, then intervals, or a tag and its intervals, each behind a colon.
bool MySqlGtidSet::parse_item(std::string_view item) {
  MySqlGtidSource source;
  if (!parse_uuid(take_until(item, ':'), source.uuid)) {
    return false;
  }
  bool has_part = false;
  bool needs_interval = true;
  while (!item.empty()) {
    std::string_view part = take_until(item, ':');
    if (part.empty()) {
      return false;
    }
    if (!text::is_digit(part.front())) {
      if (needs_interval && has_part) {
        return false;
      }
      has_part = true;
      needs_interval = true;
      if (!source.set_tag(part)) {
        return false;
      }
      continue;
    }
    const bool is_range = part.find('-') != std::string_view::npos;
    const std::optional<std::uint64_t> first =
        text::number_of<std::uint64_t>(take_until(part, '-'));
    const std::optional<std::uint64_t> last =
        is_range ? text::number_of<std::uint64_t>(trim(part)) : first;
    if (!first || !last || !add(source, *first, *last)) {
      return false;
    }
    has_part = true;
    needs_interval = false;
  }
  return !needs_interval;
}

std::string MySqlGtidSet::to_string() const {
  std::string out;
  const MySqlGtidSource* previous = nullptr;
  for (const auto& [source, intervals] : intervals_) {
    if (previous == nullptr || previous->uuid != source.uuid) {
      out += previous == nullptr ? "" : ",";
      print_uuid(source.uuid, out);
    }
    previous = &source;
    if (source.tag_size != 0) {
      out += ':';
      out += source.tag();
    }
    for (const Interval& interval : intervals) {
      out += ':';
      out += std::to_string(interval.first);
      if (interval.last != interval.first) {
        out += '-';
        out += std::to_string(interval.last);
      }
    }
  }
  return out;
}

bool MySqlGtidSet::add(const MySqlGtidSource& source, std::uint64_t first, std::uint64_t last) {
  if (first == 0 || first > last || last > MySqlGtid::kNumberMax ||
      interval_count_ >= kIntervalsMax) {
    return false;
  }
  Intervals& intervals = intervals_[source];
  // All that overlap or touch [first, last] become one with it. Mostly there is one, at the end.
  auto begin = intervals.end();
  while (begin != intervals.begin() && (begin - 1)->last + 1 >= first) {
    --begin;
  }
  auto end = begin;
  while (end != intervals.end() && end->first <= last + 1) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
    ++end;
  }
  interval_count_ -= static_cast<std::size_t>(end - begin);
  ++interval_count_;
  if (begin == end) {
    intervals.insert(begin, {.first = first, .last = last});
  } else {
    *begin = {.first = first, .last = last};
    intervals.erase(begin + 1, end);
  }
  return true;
}

bool MySqlGtidSet::remove(const MySqlGtid& gtid) {
  if (!contains(gtid)) {
    return true;
  }
  Intervals& intervals = intervals_[gtid.source];
  const auto at =
      std::ranges::upper_bound(intervals, gtid.number, {}, &Interval::first) - 1;  // it is in there
  const Interval whole = *at;
  if (whole.first == whole.last) {
    intervals.erase(at);
    --interval_count_;
    if (intervals.empty()) {
      intervals_.erase(gtid.source);
    }
  } else if (gtid.number == whole.first) {
    ++at->first;
  } else {
    at->last = gtid.number - 1;
    return gtid.number == whole.last || add(gtid.source, gtid.number + 1, whole.last);
  }
  return true;
}

std::optional<MySqlGtid> MySqlGtidSet::last_of(const MySqlGtidSource& source) const {
  const auto found = intervals_.find(source);
  return found == intervals_.end()
             ? std::nullopt
             : std::optional(MySqlGtid{.source = source, .number = found->second.back().last});
}

std::optional<MySqlGtid> MySqlGtidSet::last_of_only() const {
  return intervals_.size() == 1 ? last_of(intervals_.begin()->first) : std::nullopt;
}

bool MySqlGtidSet::has(const Intervals& intervals, const Interval& wanted) {
  const auto behind = std::ranges::upper_bound(intervals, wanted.first, {}, &Interval::first);
  return behind != intervals.begin() && (behind - 1)->last >= wanted.last;
}

bool MySqlGtidSet::contains(const MySqlGtid& gtid) const {
  const auto found = intervals_.find(gtid.source);
  return found != intervals_.end() &&
         has(found->second, {.first = gtid.number, .last = gtid.number});
}

bool MySqlGtidSet::covers(const MySqlGtidSet& other) const {
  return std::ranges::all_of(other.intervals_, [this](const auto& entry) {
    const auto found = intervals_.find(entry.first);
    return found != intervals_.end() &&
           std::ranges::all_of(entry.second, [&](const Interval& interval) {
             return has(found->second, interval);
           });
  });
}

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
