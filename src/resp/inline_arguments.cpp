#include "resp/request_scanner.h"

namespace cuckooguard::resp {
namespace {

// isspace() of the C locale.
bool is_blank(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

bool ends_plain_text(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

int hex_value(char byte) {
  if (byte >= '0' && byte <= '9') {
    return byte - '0';
  }
  if (byte >= 'a' && byte <= 'f') {
    return byte - 'a' + 10;
  }
  if (byte >= 'A' && byte <= 'F') {
    return byte - 'A' + 10;
  }
  return -1;
}

char unescape(char byte) {
  switch (byte) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return byte;
  }
}

// The following three take text from the front of `line`.

void take_escape(std::string_view& line, std::string& text) {
  if (line.size() >= 4 && line[1] == 'x') {
    const int high = hex_value(line[2]);
    const int low = hex_value(line[3]);
    if (high >= 0 && low >= 0) {
      text.push_back(static_cast<char>(high * 16 + low));
      line.remove_prefix(4);
      return;
    }
  }
  text.push_back(unescape(line[1]));
  line.remove_prefix(2);
}

// False where the closing quote is missing or glued to what follows.
bool take_quoted(std::string_view& line, std::string& text) {
  const char quote = line.front();
  line.remove_prefix(1);
  while (!line.empty() && line.front() != quote) {
    const bool escapes = line.front() == '\\' && line.size() > 1;
    if (escapes && quote == '"') {
      take_escape(line, text);
    } else {
      line.remove_prefix(escapes && line[1] == quote ? 1 : 0);
      text.push_back(line.front());
      line.remove_prefix(1);
    }
  }
  if (line.empty()) {
    return false;
  }
  line.remove_prefix(1);
  return line.empty() || is_blank(line.front());
}

bool take_argument(std::string_view& line, Arguments& arguments) {
  std::size_t plain = 0;
  while (plain < line.size() && !ends_plain_text(line[plain]) && line[plain] != '"' &&
         line[plain] != '\'') {
    ++plain;
  }
  const std::string_view front = line.substr(0, plain);
  line.remove_prefix(plain);
  if (line.empty() || ends_plain_text(line.front())) {
    arguments.add(front);
    return true;
  }
  std::string& text = arguments.text();
  const std::size_t begin = text.size();
  text.append(front);
  if (!take_quoted(line, text)) {
    return false;
  }
  arguments.add(std::string_view(text).substr(begin));
  return true;
}

}  // namespace

bool split_inline(std::string_view line, Arguments& arguments) {
  arguments.text().clear();
  arguments.text().reserve(line.size());
  while (true) {
    while (!line.empty() && is_blank(line.front())) {
      line.remove_prefix(1);
    }
    if (line.empty()) {
      return true;
    }
    if (!take_argument(line, arguments)) {
      return false;
    }
  }
}

}  // namespace cuckooguard::resp
