// One value of a message's JSON as the text that a key has (column_type.h says which).
//
// Numbers are never a double: digits are copied. Nothing of a value is in an error's words.
//
// Threads: free functions. Lifetimes: the text views the value or `made`.
// Errors: words that go on from a column's name. Limits: decimals of kDecimalBytesMax bytes, and
// scales of kScaleMax in either direction; both are beyond what the databases have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "debezium/column_type.h"

namespace cuckooguard::debezium {

inline constexpr std::size_t kDecimalBytesMax = 1024;
inline constexpr std::int32_t kScaleMax = 2000;

// A JSON value. `text`: of a number as it stands, of a string without quotes and escapes.
struct Json {
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  std::int32_t scale = 0;  // of an object that is a VariableScaleDecimal, whose value is `text`
  std::string_view text{};
};

// `json` is not null. `column` is suitable for `type` (unsuitable()).
std::expected<std::string_view, std::string> text_of(const Json& json,
                                                     const Column& column,
                                                     const ColumnType& type,
                                                     Connector connector,
                                                     std::string& made);

// Standard base64 with padding; with `url_safe` - and _ for + and /. False: it is none, and `bytes`
// is anything.
bool decode_base64(std::string_view text, bool url_safe, std::string& bytes);

// The decimal number whose unscaled value is these bytes, a signed integer in big endian: 1.10 of
// 110 and the scale 2. False: beyond the limits above, or no bytes.
bool decimal_text(std::string_view unscaled, std::int32_t scale, std::string& text);

// YYYY-MM-DD; before year 1 and beyond 9999 with a sign, as no key has it.
void date_text(std::int32_t days, std::string& text);

}  // namespace cuckooguard::debezium
