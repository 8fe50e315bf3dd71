#include "guard/absent_reply_bytes.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "resp/reply_writer.h"
#include "text/ascii.h"

namespace cuckooguard::guard {
namespace {

using config::AbsentForm;
using config::TimeField;
using std::chrono::milliseconds;

constexpr std::size_t kPlaces = 3;                      // behind the point
constexpr milliseconds kDecimalMax{9'999'999'999'999};  // ten digits of seconds
constexpr std::string_view kEndOfBulk = "\r\n";

void write_binary(std::span<char> out, milliseconds time) {
  auto rest = static_cast<std::uint64_t>(time.count());
  for (std::size_t i = out.size(); i-- > 0;) {
    out[i] = static_cast<char>(rest & 0xff);
    rest >>= 8;
  }
}

// Right-aligned, with spaces before it: a number of JSON must not begin with zeros.
void write_decimal(std::span<char> out, milliseconds time) {
  std::int64_t rest = std::min(time, kDecimalMax).count();
  const std::size_t point = out.size() - kPlaces - 1;
  for (std::size_t i = out.size(); i-- > 0;) {
    if (i == point) {
      out[i] = '.';
    } else if (rest > 0 || i + 1 >= point) {
      out[i] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } else {
      out[i] = ' ';
    }
  }
}

void write_times(const AbsentForm& form, std::span<char> bytes, milliseconds now) {
  for (const TimeField& field : form.times) {
    const std::span<char> out = bytes.subspan(field.offset, field.width);
    const milliseconds time = std::max(milliseconds(0), now + field.ahead);
    if (field.kind == TimeField::Kind::binary) {
      write_binary(out, time);
    } else if (field.kind == TimeField::Kind::decimal) {
      write_decimal(out, time);
    }
  }
}

// How many bytes at the beginning of `bytes` may be such a time.
std::optional<std::size_t> time_bytes(const TimeField& field, std::string_view bytes) {
  if (field.kind == TimeField::Kind::binary) {
    return bytes.size() < field.width ? std::nullopt : std::optional<std::size_t>(field.width);
  }
  const std::size_t first = std::min(bytes.find_first_not_of(' '), bytes.size());
  const std::size_t end = std::min(bytes.find_first_not_of("0123456789.", first), bytes.size());
  return first < end && text::is_digit(bytes[first]) ? std::optional(end) : std::nullopt;
}

bool fits(const AbsentForm& form, std::string_view value) {
  std::size_t at = 0;  // in the form; `value` is what is left of it
  for (const TimeField& field : form.times) {
    if (field.kind == TimeField::Kind::none) {
      break;
    }
    const std::string_view before = form.bytes.substr(at, field.offset - at);
    if (!value.starts_with(before)) {
      return false;
    }
    value.remove_prefix(before.size());
    const auto time = time_bytes(field, value);
    if (!time) {
      return false;
    }
    value.remove_prefix(*time);
    at = std::size_t{field.offset} + field.width;
  }
  return value == form.bytes.substr(at);
}

}  // namespace

AbsentReplyBytes::AbsentReplyBytes(const config::AbsentReply& reply)
    : has_value_(!reply.nil), value_(reply.nil ? "" : reply.bytes) {
  if (reply.preset != nullptr) {
    forms_ = reply.preset->forms;
  }
  if (has_value_) {
    resp::append_bulk(resp2_, value_);
    resp3_ = resp2_;
  } else {
    resp::append_nil(resp2_, resp::Version::resp2);
    resp::append_nil(resp3_, resp::Version::resp3);
  }
}

void AbsentReplyBytes::stamp(WallTime now) {
  const std::size_t begin = resp2_.size() - kEndOfBulk.size() - value_.size();
  write_times(
      forms_.front(), std::span(resp2_).subspan(begin, value_.size()), now.time_since_epoch());
  std::ranges::copy(resp2_, resp3_.begin());
}

bool AbsentReplyBytes::is_relayed_as(std::string_view reply) const {
  const std::size_t header = reply.find('\n') + 1;  // "$5\r\n"
  return reply.starts_with('$') && header > 0 && reply.size() >= header + kEndOfBulk.size() &&
         is_written_as(reply.substr(header, reply.size() - header - kEndOfBulk.size()));
}

std::size_t AbsentReplyBytes::relayed_bytes_max() const {
  constexpr std::size_t kHeaderBytesMax = 16;
  constexpr std::size_t kTimesBytesMax = 64;  // that a framework writes longer than we do
  std::size_t longest = value_.size();
  for (const AbsentForm& form : forms_) {
    longest = std::max(longest, form.bytes.size() + kTimesBytesMax);
  }
  return has_value_ ? kHeaderBytesMax + longest + kEndOfBulk.size() : 0;
}

bool AbsentReplyBytes::is_written_as(std::string_view value) const {
  if (forms_.empty()) {
    return has_value_ && value == value_;
  }
  return std::ranges::any_of(forms_, [&](const AbsentForm& form) { return fits(form, value); });
}

}  // namespace cuckooguard::guard
