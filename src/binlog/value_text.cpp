#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "binlog/byte_cursor.h"
#include "binlog/rows.h"
#include "binlog/table_layout.h"

namespace cuckooguard::binlog {

namespace {

constexpr std::size_t kYearCharacters = 4;
constexpr std::size_t kDateCharacters = 10;
constexpr std::size_t kTemporalCharactersMax = 26;  // of 2026-11-23 01:02:03.123456

constexpr std::array<std::uint32_t, kDigitsPerGroup + 1> kPowerOfTen = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

char digit(std::uint32_t value) {
  return static_cast<char>('0' + value % 10);
}

// Four digits of a year, whatever it is below 10000.
char* put_year(std::uint32_t year, char* out) {
  *out++ = digit(year / 1000);
  *out++ = digit(year / 100);
  *out++ = digit(year / 10);
  *out++ = digit(year);
  return out;
}

char* put_two(std::uint32_t value, char* out) {
  *out++ = digit(value / 10);
  *out++ = digit(value);
  return out;
}

char* put_date(std::uint32_t year, std::uint32_t month, std::uint32_t day, char* out) {
  out = put_year(year, out);
  *out++ = '-';
  out = put_two(month, out);
  *out++ = '-';
  return put_two(day, out);
}

char* put_clock(std::uint32_t hour, std::uint32_t minute, std::uint32_t second, char* out) {
  out = hour < 100 ? put_two(hour, out) : std::to_chars(out, out + 3, hour).ptr;
  *out++ = ':';
  out = put_two(minute, out);
  *out++ = ':';
  return put_two(second, out);
}

// An odd number of digits is stored as if there were one more.
char* put_fraction(std::uint64_t stored, std::uint8_t digits, char* out) {
  if (digits == 0) {
    return out;
  }
  *out++ = '.';
  std::uint64_t left = digits % 2 == 0 ? stored : stored / 10;
  for (std::size_t i = digits; i-- > 0; left /= 10) {
    out[i] = digit(static_cast<std::uint32_t>(left % 10));
  }
  return out + digits;
}

bool is_fraction(std::uint64_t stored, std::uint8_t digits) {
  return stored < kPowerOfTen[(digits + 1U) / 2 * 2];
}

// A number of bytes that stand for the fraction is behind the others.
std::string_view fraction_of(std::string_view value, std::uint8_t digits) {
  return value.substr(value.size() - (digits + 1U) / 2);
}

std::string_view text_between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

// 5 bits of day, 4 of month, 15 of year. Months and days may be zero (sql_mode).
ValueText date_text(std::string_view value, char* scratch) {
  constexpr std::uint32_t kYearMax = 9999;
  const auto packed = static_cast<std::uint32_t>(text::little_endian(value.substr(0, 3)));
  const std::uint32_t year = packed >> 9;
  const std::uint32_t month = (packed >> 5) & 0x0f;
  const std::uint32_t day = packed & 0x1f;
  if (year > kYearMax || month > 12) {
    return std::unexpected(DecodeError::malformed);
  }
  put_date(year, month, day, scratch);
  return std::string_view(scratch, kDateCharacters);
}

// A bit that is set, 17 bits of 13 * year + month, 5 each of day and hour, 6 each of minute and
// second.
ValueText datetime_text(std::uint8_t digits, std::string_view value, char* scratch) {
  const std::uint64_t packed = text::big_endian(value.substr(0, 5));
  const std::uint64_t fraction = text::big_endian(fraction_of(value, digits));
  const auto bits = [packed](unsigned from, unsigned count) {
    return static_cast<std::uint32_t>(packed >> from & ((std::uint64_t{1} << count) - 1));
  };
  const std::uint32_t year = bits(22, 17) / 13;
  if (bits(39, 1) == 0 || year > 9999 || bits(12, 5) > 23 || bits(6, 6) > 59 || bits(0, 6) > 59 ||
      !is_fraction(fraction, digits)) {
    return std::unexpected(DecodeError::malformed);
  }
  char* out = put_date(year, bits(22, 17) % 13, bits(17, 5), scratch);
  *out++ = ' ';
  out = put_clock(bits(12, 5), bits(6, 6), bits(0, 6), out);
  return text_between(scratch, put_fraction(fraction, digits, out));
}

// Seconds since 1970; none, without a fraction, are no date at all.
ValueText timestamp_text(std::uint8_t digits, std::string_view value, char* scratch) {
  constexpr std::uint32_t kSecondsPerDay = 86400;
  const auto seconds = static_cast<std::uint32_t>(text::big_endian(value.substr(0, 4)));
  const std::uint64_t fraction = text::big_endian(fraction_of(value, digits));
  if (!is_fraction(fraction, digits)) {
    return std::unexpected(DecodeError::malformed);
  }
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(seconds / kSecondsPerDay))};
  char* out = seconds == 0 && fraction == 0
                  ? put_date(0, 0, 0, scratch)
                  : put_date(static_cast<std::uint32_t>(static_cast<int>(date.year())),
                             static_cast<unsigned>(date.month()),
                             static_cast<unsigned>(date.day()),
                             scratch);
  const std::uint32_t clock = seconds % kSecondsPerDay;
  *out++ = ' ';
  out = put_clock(clock / 3600, clock / 60 % 60, clock % 60, out);
  return text_between(scratch, put_fraction(fraction, digits, out));
}

// 12 bits of hours, 6 each of minutes and seconds, the fraction: one number, with half of its range
// for those below 0.
ValueText time_text(std::uint8_t digits, std::string_view value, char* scratch) {
  const unsigned fraction_bits = 8 * ((digits + 1U) / 2);
  const auto signed_value = static_cast<std::int64_t>(text::big_endian(value)) -
                            (std::int64_t{1} << (23 + fraction_bits));
  const auto packed = static_cast<std::uint64_t>(signed_value < 0 ? -signed_value : signed_value);
  const auto clock = static_cast<std::uint32_t>(packed >> fraction_bits);
  const std::uint64_t fraction = packed & ((std::uint64_t{1} << fraction_bits) - 1);
  const std::uint32_t hour = clock >> 12;
  const std::uint32_t minute = clock >> 6 & 0x3f;
  const std::uint32_t second = clock & 0x3f;
  if (hour > 838 || minute > 59 || second > 59 || !is_fraction(fraction, digits)) {
    return std::unexpected(DecodeError::malformed);
  }
  char* out = scratch;
  if (signed_value < 0) {
    *out++ = '-';
  }
  out = put_clock(hour, minute, second, out);
  return text_between(scratch, put_fraction(fraction, digits, out));
}

ValueText year_text(std::string_view value, char* scratch) {
  constexpr std::uint32_t kFirst = 1900;
  const std::uint32_t stored = ByteCursor(value).u8();
  put_year(stored == 0 ? 0 : kFirst + stored, scratch);
  return std::string_view(scratch, kYearCharacters);
}

constexpr std::size_t kIntegerCharactersMax = 20;  // of -9223372036854775808
constexpr std::size_t kDecimalBytesMax = 32;       // of 65 digits, however they are split

ValueText number(std::uint64_t value, char* scratch) {
  return text_between(scratch, std::to_chars(scratch, scratch + kIntegerCharactersMax, value).ptr);
}

ValueText signed_number(std::string_view value, char* scratch) {
  const unsigned bits = static_cast<unsigned>(8 * value.size());
  const std::uint64_t raw = text::little_endian(value);
  const std::uint64_t extended = raw << (64 - bits);
  const auto result = static_cast<std::int64_t>(extended) >> (64 - bits);
  return text_between(scratch, std::to_chars(scratch, scratch + kIntegerCharactersMax, result).ptr);
}

ValueText padded(const TextRule& rule, std::string_view value, char* scratch) {
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

ValueText decimal(const TextRule& rule, std::string_view value, char* scratch) {
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
  return text_between(begin, out);
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

ValueText write_text(const TextRule& rule, std::string_view value, char* scratch) {
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
