#include "resp/reply_writer.h"

#include <array>
#include <charconv>
#include <concepts>
#include <limits>

namespace cuckooguard::resp {

namespace {

constexpr std::string_view kLineEnd = "\r\n";

template <std::integral Number>
void append_number_line(std::string& out, char type, Number number) {
  if (number >= 10 && number < 100) {  // most keys' lengths
    out.append({type,
                static_cast<char>('0' + number / 10),
                static_cast<char>('0' + number % 10),
                '\r',
                '\n'});
    return;
  }
  // Sign, digits10 + 1 digits, the type in front, and the line's end.
  std::array<char, std::numeric_limits<Number>::digits10 + 3 + kLineEnd.size()> line;
  line[0] = type;
  char* end = std::to_chars(line.data() + 1, line.data() + line.size(), number).ptr;
  end += kLineEnd.copy(end, kLineEnd.size());
  out.append(line.data(), end);
}

void append_text_line(std::string& out, char type, std::string_view text) {
  out.push_back(type);
  for (const char c : text) {
    out.push_back(c == '\r' || c == '\n' ? ' ' : c);
  }
  out.append(kLineEnd);
}

}  // namespace

void append_nil(std::string& out, Version version) {
  out.append(version == Version::resp2 ? "$-1\r\n" : "_\r\n");
}

void append_null_array(std::string& out, Version version) {
  out.append(version == Version::resp2 ? "*-1\r\n" : "_\r\n");
}

void append_bulk(std::string& out, std::string_view bytes) {
  append_number_line(out, '$', bytes.size());
  out.append(bytes);
  out.append(kLineEnd);
}

void append_integer(std::string& out, std::int64_t value) {
  append_number_line(out, ':', value);
}

void append_simple(std::string& out, std::string_view line) {
  append_text_line(out, '+', line);
}

void append_error(std::string& out, std::string_view line) {
  append_text_line(out, '-', line);
}

void append_boolean(std::string& out, Version version, bool value) {
  if (version == Version::resp2) {
    append_integer(out, value ? 1 : 0);
  } else {
    out.append(value ? "#t\r\n" : "#f\r\n");
  }
}

void append_verbatim_text(std::string& out, Version version, std::string_view text) {
  constexpr std::string_view kFormat = "txt:";
  if (version == Version::resp2) {
    append_bulk(out, text);
    return;
  }
  append_number_line(out, '=', kFormat.size() + text.size());
  out.append(kFormat);
  out.append(text);
  out.append(kLineEnd);
}

void append_array_header(std::string& out, std::size_t elements) {
  append_number_line(out, '*', elements);
}

void append_set_header(std::string& out, Version version, std::size_t elements) {
  append_number_line(out, version == Version::resp2 ? '*' : '~', elements);
}

void append_map_header(std::string& out, Version version, std::size_t pairs) {
  if (version == Version::resp2) {
    append_number_line(out, '*', pairs * 2);
  } else {
    append_number_line(out, '%', pairs);
  }
}

void append_command(std::string& out, std::span<const std::string_view> arguments) {
  append_array_header(out, arguments.size());
  for (const std::string_view argument : arguments) {
    append_bulk(out, argument);
  }
}

}  // namespace cuckooguard::resp
