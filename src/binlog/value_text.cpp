#include <algorithm>
#include <array>
#include <charconv>

#include "binlog/byte_cursor.h"
#include "binlog/decimal_bytes.h"
#include "binlog/rows.h"

namespace cuckooguard::binlog {
namespace {

using Text = std::expected<std::string_view, DecodeError>;

constexpr std::size_t kIntegerCharactersMax = 20;  // of -9223372036854775808
constexpr std::size_t kDecimalBytesMax = 32;       // of 65 digits, however they are split

constexpr std::array<std::uint32_t, kDigitsPerGroup + 1> kPowerOfTen = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

char digit(std::uint32_t value) {
  return static_cast<char>('0' + value % 10);
}

Text number(std::uint64_t value, char* scratch) {
  const auto end = std::to_chars(scratch, scratch + kIntegerCharactersMax, value).ptr;
  return std::string_view(scratch, static_cast<std::size_t>(end - scratch));
}

Text signed_number(std::string_view value, char* scratch) {
  const unsigned bits = static_cast<unsigned>(8 * value.size());
  const std::uint64_t raw = text::little_endian(value);
  const std::uint64_t extended = raw << (64 - bits);
  const auto result = static_cast<std::int64_t>(extended) >> (64 - bits);
  const auto end = std::to_chars(scratch, scratch + kIntegerCharactersMax, result).ptr;
  return std::string_view(scratch, static_cast<std::size_t>(end - scratch));
}

Text padded(const TextRule& rule, std::string_view value, char* scratch) {
  if (value.size() > rule.length) {
    return std::unexpected(DecodeError::malformed);
  }
  std::fill(std::copy(value.begin(), value.end(), scratch), scratch + rule.length, '\0');
  return std::string_view(scratch, rule.length);
}

// Reads the groups of a decimal's digits, most significant first, with the sign's disguise taken
// off.
class DigitGroups {
 public:
  explicit DigitGroups(std::string_view value)
      : is_negative_((static_cast<unsigned char>(value.front()) & 0x80U) == 0) {
    const unsigned inversion = is_negative_ ? 0xffU : 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
      bytes_[i] = static_cast<std::uint8_t>(static_cast<unsigned char>(value[i]) ^ inversion);
    }
    bytes_[0] ^= 0x80U;
  }

  bool is_negative() const { return is_negative_; }
  bool ok() const { return ok_; }

  // Writes `digits` digits, 9 at most; of a number that has fewer, leading zeros.
  char* put(std::size_t digits, char* out) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < kBytesOfDigits[digits]; ++i) {
      group = group << 8 | bytes_[at_++];
    }
    ok_ = ok_ && group < kPowerOfTen[digits];
    for (std::size_t i = digits; i-- > 0; group /= 10) {
      out[i] = digit(group);
    }
    return out + digits;
  }

 private:
  std::array<std::uint8_t, kDecimalBytesMax> bytes_{};
  std::size_t at_ = 0;
  bool is_negative_;
  bool ok_ = true;
};

Text decimal(const TextRule& rule, std::string_view value, char* scratch) {
  DigitGroups groups(value);
  const std::size_t integer_digits = rule.length - rule.scale;
  // One byte stays free in front, for the sign, and one, for the zero of ".5".
  char* const first = scratch + 2;
  char* out = groups.put(integer_digits % kDigitsPerGroup, first);
  for (std::size_t i = 0; i < integer_digits / kDigitsPerGroup; ++i) {
    out = groups.put(kDigitsPerGroup, out);
  }
  char* begin = std::find_if(first, out, [](char c) { return c != '0'; });
  if (begin == out) {
    *--begin = '0';
  }
  if (rule.scale != 0) {
    *out++ = '.';
    for (std::size_t i = 0; i < rule.scale / kDigitsPerGroup; ++i) {
      out = groups.put(kDigitsPerGroup, out);
    }
    out = groups.put(rule.scale % kDigitsPerGroup, out);
  }
  if (groups.is_negative()) {
    *--begin = '-';
  }
  if (!groups.ok()) {
    return std::unexpected(DecodeError::malformed);
  }
  return std::string_view(begin, static_cast<std::size_t>(out - begin));
}

}  // namespace

std::size_t TextRule::scratch_bytes() const {
  switch (form) {
    case TextForm::none:
    case TextForm::bytes:
      return 0;
    case TextForm::zero_padded:
      return length;
    case TextForm::signed_int:
    case TextForm::unsigned_int:
    case TextForm::big_endian:
      return kIntegerCharactersMax;
    case TextForm::decimal:
      return length + 3U;  // sign, zero, point
    case TextForm::date:
      return kDateCharacters;
    case TextForm::year:
      return kYearCharacters;
    case TextForm::datetime:
    case TextForm::timestamp:
    case TextForm::time:
      return kTemporalCharactersMax;
  }
  return 0;
}

Text write_text(const TextRule& rule, std::string_view value, char* scratch) {
  switch (rule.form) {
    case TextForm::none:
      return std::unexpected(DecodeError::no_text_form);
    case TextForm::bytes:
      return value;
    case TextForm::zero_padded:
      return padded(rule, value, scratch);
    case TextForm::signed_int:
      return signed_number(value, scratch);
    case TextForm::unsigned_int:
      return number(text::little_endian(value), scratch);
    case TextForm::decimal:
      return decimal(rule, value, scratch);
    case TextForm::date:
      return date_text(value, scratch);
    case TextForm::year:
      return year_text(value, scratch);
    case TextForm::big_endian:
      return number(text::big_endian(value), scratch);
    case TextForm::datetime:
      return datetime_text(rule.scale, value, scratch);
    case TextForm::timestamp:
      return timestamp_text(rule.scale, value, scratch);
    case TextForm::time:
      return time_text(rule.scale, value, scratch);
  }
  return std::unexpected(DecodeError::no_text_form);
}

}  // namespace cuckooguard::binlog
