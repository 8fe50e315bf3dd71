#include <cstddef>
#include <cstring>

#include "postgres/connection.h"

namespace cuckooguard::source::postgres {
namespace {

constexpr char kBackslash = '\\';
constexpr char kTab = '\t';

char meant_by(char escape) {
  switch (escape) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return escape;
  }
}

std::string_view undone(char* begin, const char* end) {
  char* to = begin;
  for (const char* from = begin; from != end; ++from) {
    if (*from == kBackslash && from + 1 != end) {
      *to++ = meant_by(*++from);
    } else {
      *to++ = *from;
    }
  }
  return {begin, to};
}

char* find(char* begin, char* end, char byte) {
  auto* const found =
      static_cast<char*>(std::memchr(begin, byte, static_cast<std::size_t>(end - begin)));
  return found == nullptr ? end : found;
}

}  // namespace

bool parse_copy_row(std::span<char> row, std::span<std::optional<std::string_view>> values) {
  char* begin = row.data();
  char* const end = begin + row.size();
  const char* const first_backslash = find(begin, end, kBackslash);
  for (std::size_t i = 0; i < values.size(); ++i) {
    char* const value_end = find(begin, end, kTab);  // a tab of a value's own is written as \t
    if ((value_end == end) != (i + 1 == values.size())) {
      return false;
    }
    const std::string_view value(begin, value_end);
    if (first_backslash >= value_end) {
      values[i] = value;
    } else if (value == "\\N") {
      values[i] = std::nullopt;
    } else {
      values[i] = undone(begin, value_end);
    }
    begin = value_end + 1;
  }
  return true;
}

}  // namespace cuckooguard::source::postgres
