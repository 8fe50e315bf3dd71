#include "debezium/value_text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "keyspace/canonical_text.h"
#include "text/ascii.h"
#include "text/hex.h"
#include "text/number.h"
#include "text/try.h"

namespace cuckooguard::debezium {
namespace {

using keyspace::ValueType;
using Kind = Json::Kind;
using Text = std::expected<std::string_view, std::string>;

std::unexpected<std::string> refuse(std::string_view why) {
  return std::unexpected(" " + std::string(why));
}

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "a boolean";
    case Kind::number:
      return "a number";
    case Kind::string:
      return "a string";
    case Kind::array:
      return "an array";
    case Kind::object:
      break;
  }
  return "an object";
}

// Digits after an optional '-', as JSON has them.
bool is_integer(std::string_view number) {
  const std::string_view digits = number.starts_with('-') ? number.substr(1) : number;
  return !digits.empty() && std::ranges::all_of(digits, text::is_digit) &&
         (digits.size() == 1 || digits.front() != '0');
}

bool is_plain_decimal(std::string_view number) {
  const std::size_t dot = number.find('.');
  return is_integer(number.substr(0, dot)) &&
         (dot == std::string_view::npos ||
          (dot + 1 < number.size() && std::ranges::all_of(number.substr(dot + 1), text::is_digit)));
}

// -0 and -0.00 are 0.
std::string_view without_sign_of_zero(std::string_view number) {
  return number.starts_with('-') && number.find_first_of("123456789") == std::string_view::npos
             ? number.substr(1)
             : number;
}

bool serves(const Column& column, ValueType type) {
  return std::ranges::find(column.placeholders, type) != column.placeholders.end();
}

Text integer_text(const Json& json, const Column& column, Connector connector) {
  if (!is_integer(json.text)) {
    return refuse(
        "is a number with a fraction or an exponent in the message; if it is a decimal, "
        "declare it as decimal");
  }
  const std::string_view text = without_sign_of_zero(json.text);
  if (text.starts_with('-') && is_binlog(connector) && serves(column, ValueType::uint64)) {
    return refuse(
        "is negative, as BIGINT UNSIGNED is above 9223372036854775807; set "
        "bigint.unsigned.handling.mode=precise, or use :int64 if it is signed");
  }
  return text;
}

Text plain_text(const Json& json, const Column& column, Connector connector) {
  const bool is_by_bytes = serves(column, ValueType::text) && !column.compares_bytes;
  if (is_by_bytes && json.text.ends_with(' ')) {
    return refuse("ends with a blank, as CHAR does, which " +
                  std::string(debezium::name_of(connector)) +
                  " does not compare; use |ci, or declare that it is compared byte by byte");
  }
  return json.text;
}

Text boolean_text(const Json& json, Connector connector) {
  const bool is_true = json.text == "true";
  if (connector == Connector::postgresql) {
    return is_true ? "t" : "f";
  }
  return is_true ? "1" : "0";
}

// What there is no schema for: what it looks like.
Text untold_text(const Json& json, const Column& column, Connector connector) {
  switch (json.kind) {
    case Kind::number: {
      const auto is_other = [](ValueType type) {
        return type != ValueType::uint64 && type != ValueType::int64;
      };
      if (std::ranges::any_of(column.placeholders, is_other)) {
        break;
      }
      return integer_text(json, column, connector);
    }
    case Kind::boolean:
      if (!column.placeholders.empty()) {
        break;
      }
      return boolean_text(json, connector);
    case Kind::string: {
      const auto is_uuid = [](ValueType type) { return type == ValueType::uuid; };
      if (!column.is_compared && std::ranges::all_of(column.placeholders, is_uuid) &&
          keyspace::is_canonical(ValueType::uuid, text::lower_case(json.text))) {
        return json.text;
      }
      break;
    }
    default:
      break;
  }
  return refuse("is " + std::string(name_of(json.kind)) +
                " in a message without a schema, which may stand for several things; declare its "
                "type, or let the connector send schemas (schemas.enable=true)");
}

// 16 bytes in hexadecimal, with dashes.
void make_uuid(const std::string& bytes, bool is_swapped, std::string& made) {
  const std::string hex = text::hex_of(bytes);
  made = is_swapped ? hex.substr(8, 8) + hex.substr(4, 4) + hex.substr(0, 4) + hex.substr(16) : hex;
  for (const std::size_t dash : std::initializer_list<std::size_t>{8, 13, 18, 23}) {
    made.insert(dash, 1, '-');
  }
}

Text bytes_text(const Json& json,
                const Column& column,
                Encoding encoding,
                Connector connector,
                std::string& made) {
  std::string bytes;
  if (encoding == Encoding::bytes_hex) {
    auto read = text::bytes_of_hex(json.text);
    if (!read) {
      return refuse("is not in hexadecimal in the message");
    }
    bytes = *std::move(read);
  } else if (!decode_base64(json.text, encoding == Encoding::bytes_url, bytes)) {
    return refuse("is not in base64 in the message");
  }
  if (serves(column, ValueType::uuid)) {
    constexpr std::size_t kUuidBytes = 16;
    if (bytes.size() != kUuidBytes) {
      return refuse("is not the 16 bytes of a UUID in the message");
    }
    make_uuid(bytes, column.swaps_uuids, made);
    return made;
  }
  made = connector == Connector::postgresql ? "\\x" + text::hex_of(bytes) : std::move(bytes);
  return made;
}

// Without the fraction's zeros: a variable scale is the value's own.
std::string_view trimmed_fraction(std::string_view number) {
  return keyspace::without_scale(number);
}

Text decimal(const Json& json, const ColumnType& type, std::string& made) {
  if (json.kind == Kind::number) {
    if (!is_plain_decimal(json.text)) {
      return refuse("is a number with an exponent in the message");
    }
    return without_sign_of_zero(json.text);
  }
  std::string bytes;
  if (!decode_base64(json.text, false, bytes) || !decimal_text(bytes, type.scale, made)) {
    return refuse("is no decimal in base64 of a size that databases have");
  }
  return made;
}

Text variable_decimal(const Json& json, std::string& made) {
  std::string bytes;
  if (!decode_base64(json.text, false, bytes) || !decimal_text(bytes, json.scale, made)) {
    return refuse("is no decimal with a scale, of a size that databases have");
  }
  return trimmed_fraction(made);
}

Text date(const Json& json, std::string& made) {
  const auto days = text::number_of<std::int32_t>(json.text);
  if (!days) {
    return refuse("is no number of days in the message");
  }
  date_text(*days, made);
  return made;
}

// 2026-11-29Z
Text iso_date(const Json& json) {
  std::string_view text = json.text;
  if (text.ends_with('Z')) {
    text.remove_suffix(1);
  }
  return keyspace::is_canonical(ValueType::date, text) ? Text(text)
                                                       : refuse("is no date in the message");
}

// Which JSON values an encoding has.
bool fits(Kind kind, Encoding encoding) {
  switch (encoding) {
    case Encoding::integer:
    case Encoding::days:
      return kind == Kind::number;
    case Encoding::decimal:
      return kind == Kind::number || kind == Kind::string;
    case Encoding::variable_decimal:
      return kind == Kind::object;
    case Encoding::boolean:
      return kind == Kind::boolean;
    case Encoding::untold:
    case Encoding::opaque:
      return true;
    default:
      return kind == Kind::string;
  }
}

constexpr std::uint32_t kBillion = 1'000'000'000;

// Divides the big number (highest word first) by a billion, and gives what is left.
std::uint32_t divide(std::vector<std::uint32_t>& words) {
  std::uint64_t rest = 0;
  for (std::uint32_t& word : words) {
    rest = rest << 32 | word;
    word = static_cast<std::uint32_t>(rest / kBillion);
    rest %= kBillion;
  }
  return static_cast<std::uint32_t>(rest);
}

// The absolute value of a signed integer in big endian, in digits without zeros in front.
std::string digits_of(std::string_view bytes, bool is_negative) {
  std::vector<std::uint32_t> words((bytes.size() + 3) / 4);
  std::uint32_t carry = is_negative ? 1 : 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint32_t byte = static_cast<unsigned char>(bytes[bytes.size() - 1 - i]);
    const std::uint32_t sum = (is_negative ? byte ^ 0xffU : byte) + carry;
    carry = sum >> 8;
    words[words.size() - 1 - i / 4] |= (sum & 0xffU) << (8 * (i % 4));
  }
  if (carry != 0) {  // all bytes are 0: 256 to their number
    words.insert(words.begin(), 0);
    words[words.size() - 1 - bytes.size() / 4] |= 1U << (8 * (bytes.size() % 4));
  }
  std::string digits;
  while (std::ranges::any_of(words, [](std::uint32_t word) { return word != 0; })) {
    digits.insert(0, fmt::format("{:09}", divide(words)));
  }
  digits.erase(0, digits.find_first_not_of('0'));
  return digits.empty() ? "0" : digits;
}

constexpr std::uint8_t kNoDigit = 0xff;

constexpr std::array<std::uint8_t, 256> base64_values(char plus, char slash) {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  std::uint8_t value = 0;
  for (char c = 'A'; c <= 'Z'; ++c) {
    values[static_cast<unsigned char>(c)] = value++;
  }
  for (char c = 'a'; c <= 'z'; ++c) {
    values[static_cast<unsigned char>(c)] = value++;
  }
  for (char c = '0'; c <= '9'; ++c) {
    values[static_cast<unsigned char>(c)] = value++;
  }
  values[static_cast<unsigned char>(plus)] = 62;
  values[static_cast<unsigned char>(slash)] = 63;
  return values;
}
constexpr auto kBase64 = base64_values('+', '/');
constexpr auto kBase64Url = base64_values('-', '_');

}  // namespace

std::expected<std::string_view, std::string> text_of(const Json& json,
                                                     const Column& column,
                                                     const ColumnType& type,
                                                     Connector connector,
                                                     std::string& made) {
  if (!fits(json.kind, type.encoding)) {
    return refuse("is " + std::string(name_of(json.kind)) + " in the message, which " +
                  (type.name.empty() ? "is not what is declared" : type.name + " is not"));
  }
  switch (type.encoding) {
    case Encoding::untold:
      return untold_text(json, column, connector);
    case Encoding::integer:
      return integer_text(json, column, connector);
    case Encoding::text:
    case Encoding::label:
      return plain_text(json, column, connector);
    case Encoding::uuid:
      return json.text;
    case Encoding::bytes:
    case Encoding::bytes_url:
    case Encoding::bytes_hex:
      return bytes_text(json, column, type.encoding, connector, made);
    case Encoding::decimal:
      return decimal(json, type, made);
    case Encoding::variable_decimal:
      return variable_decimal(json, made);
    case Encoding::decimal_text:
      if (!is_plain_decimal(json.text)) {
        return refuse("is no plain decimal number in the message");
      }
      return without_sign_of_zero(json.text);
    case Encoding::days:
      return date(json, made);
    case Encoding::iso_date:
      return iso_date(json);
    case Encoding::boolean:
      return boolean_text(json, connector);
    case Encoding::opaque:
      break;
  }
  return json.text;  // of which only NULL is asked
}

bool decode_base64(std::string_view text, bool url_safe, std::string& bytes) {
  const auto& values = url_safe ? kBase64Url : kBase64;
  bytes.clear();
  if (text.size() % 4 != 0) {
    return false;
  }
  bytes.reserve(text.size() / 4 * 3);
  while (!text.empty()) {
    const bool is_last = text.size() == 4;
    const std::size_t padding = !is_last ? 0 : text.ends_with("==") ? 2 : text.ends_with('=');
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 4 - padding; ++i) {
      const std::uint8_t value = values[static_cast<unsigned char>(text[i])];
      if (value == kNoDigit) {
        return false;
      }
      group |= std::uint32_t{value} << (18 - 6 * i);
    }
    for (std::size_t i = 0; i < 3 - padding; ++i) {
      bytes += static_cast<char>(group >> (16 - 8 * i) & 0xffU);
    }
    text.remove_prefix(4);
  }
  return true;
}

bool decimal_text(std::string_view unscaled, std::int32_t scale, std::string& text) {
  if (unscaled.empty() || unscaled.size() > kDecimalBytesMax || scale > kScaleMax ||
      scale < -kScaleMax) {
    return false;
  }
  const bool is_negative = (static_cast<unsigned char>(unscaled.front()) & 0x80U) != 0;
  text = digits_of(unscaled, is_negative);
  if (scale > 0) {
    const auto fraction = static_cast<std::size_t>(scale);
    if (text.size() <= fraction) {
      text.insert(0, fraction + 1 - text.size(), '0');
    }
    text.insert(text.size() - fraction, 1, '.');
  } else if (text != "0") {
    text.append(static_cast<std::size_t>(-scale), '0');
  }
  if (is_negative) {
    text.insert(0, 1, '-');
  }
  return true;
}

void date_text(std::int32_t days, std::string& text) {
  // Of std::chrono's own years, which are fewer.
  constexpr std::int32_t kDaysMax = 11'248'000;
  if (days > kDaysMax || days < -kDaysMax) {
    text = days < 0 ? "-infinity" : "infinity";
    return;
  }
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
  text = fmt::format("{:04}-{:02}-{:02}",
                     static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

}  // namespace cuckooguard::debezium
