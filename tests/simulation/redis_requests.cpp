#include "simulation/redis_requests.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace cuckooguard::simulation {
namespace {

constexpr std::size_t kLineBytesMax = std::size_t{64} * 1024;
constexpr long long kBulkBytesMax = 512LL * 1024 * 1024;

Request malformed(const std::string& why) {
  return {.parsed = Parsed::malformed, .refusal = "ERR Protocol error: " + why};
}

// As strchr: a zero byte ends the search.
std::size_t find_in_text(std::string_view input, char wanted) {
  const auto found =
      std::ranges::find_if(input, [wanted](char byte) { return byte == wanted || byte == '\0'; });
  return found != input.end() && *found == wanted ? static_cast<std::size_t>(found - input.begin())
                                                  : std::string_view::npos;
}

bool is_blank(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

int hex_digit(char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const char lower = byte >= 'A' && byte <= 'F' ? static_cast<char>(byte - 'A' + 'a') : byte;
  const std::size_t at = kDigits.find(lower);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

// The byte that the backslash at `at` stands for; `at` moves behind what is read of it.
char unescaped(std::string_view line, std::size_t& at) {
  if (at + 3 < line.size() && line[at + 1] == 'x' && hex_digit(line[at + 2]) >= 0 &&
      hex_digit(line[at + 3]) >= 0) {
    const int byte = hex_digit(line[at + 2]) * 16 + hex_digit(line[at + 3]);
    at += 4;
    return static_cast<char>(byte);
  }
  constexpr std::string_view kNames = "nrbta";
  constexpr std::string_view kBytes = "\n\r\b\t\a";
  const char named = line[at + 1];
  at += 2;
  const std::size_t known = kNames.find(named);
  return known == std::string_view::npos ? named : kBytes[known];
}

// What stands between the quote at `at` and the next one, which a blank or the end must follow.
// False: it does not.
bool take_quoted(std::string_view line, std::size_t& at, std::string& word) {
  const char quote = line[at];
  for (++at; at < line.size();) {
    if (line[at] == quote) {
      ++at;
      return at == line.size() || is_blank(line[at]);
    }
    if (line[at] == '\\' && quote == '"' && at + 1 < line.size()) {
      word += unescaped(line, at);
    } else if (line[at] == '\\' && quote == '\'' && line.substr(at + 1).starts_with('\'')) {
      word += '\'';
      at += 2;
    } else {
      word += line[at++];
    }
  }
  return false;
}

// The words of a line; false if quotes are not balanced.
bool split(std::string_view line, std::vector<std::string>& words) {
  constexpr std::string_view kEnds = " \n\r\t";
  for (std::size_t at = 0;;) {
    while (at < line.size() && is_blank(line[at])) {
      ++at;
    }
    if (at == line.size()) {
      return true;
    }
    std::string word;
    for (; at < line.size() && !kEnds.contains(line[at]);) {
      if (line[at] != '"' && line[at] != '\'') {
        word += line[at++];
      } else if (!take_quoted(line, at, word)) {
        return false;
      } else {
        break;
      }
    }
    words.push_back(std::move(word));
  }
}

Request inline_request(std::string_view input) {
  const std::size_t newline = find_in_text(input, '\n');
  if (newline == std::string_view::npos) {
    return input.size() > kLineBytesMax ? malformed("too big inline request") : Request{};
  }
  std::string_view line = input.substr(0, newline);
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  Request request{.consumed = newline + 1};
  if (!split(line, request.words)) {
    return malformed("unbalanced quotes in request");
  }
  request.parsed = request.words.empty() ? Parsed::nothing : Parsed::command;
  return request;
}

// The bytes between a type's byte and the carriage return; `at` moves behind the byte after that,
// whichever it is.
std::optional<std::string_view> take_line(std::string_view input, std::size_t& at, bool& too_long) {
  const std::string_view rest = input.substr(at);
  const std::size_t end = find_in_text(rest, '\r');
  if (end == std::string_view::npos) {
    too_long = rest.size() > kLineBytesMax;
    return std::nullopt;
  }
  if (end + 2 > rest.size()) {
    return std::nullopt;
  }
  at += end + 2;
  return rest.substr(0, end);
}

Request multibulk_request(std::string_view input) {
  std::size_t at = 0;
  bool too_long = false;
  const auto first = take_line(input, at, too_long);
  if (!first) {
    return too_long ? malformed("too big mbulk count string") : Request{};
  }
  const auto count = strict_number(first->substr(1));
  if (!count || *count > std::numeric_limits<int>::max()) {
    return malformed("invalid multibulk length");
  }
  Request request;
  for (long long i = 0; i < *count; ++i) {
    const std::size_t begin = at;
    const auto line = take_line(input, at, too_long);
    if (!line) {
      return too_long ? malformed("too big bulk count string") : Request{};
    }
    if (input[begin] != '$') {
      return malformed("expected '$', got '" + std::string(1, input[begin]) + "'");
    }
    const auto length = strict_number(line->substr(1));
    if (!length || *length < 0 || *length > kBulkBytesMax) {
      return malformed("invalid bulk length");
    }
    const auto bytes = static_cast<std::size_t>(*length);
    if (input.size() - at < bytes + 2) {
      return {};
    }
    request.words.emplace_back(input.substr(at, bytes));
    at += bytes + 2;
  }
  request.consumed = at;
  request.parsed = request.words.empty() ? Parsed::nothing : Parsed::command;
  return request;
}

}  // namespace

std::optional<long long> strict_number(std::string_view text) {
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  const bool is_strict = text == "0" || (!digits.empty() && digits.front() != '0');
  if (error != std::errc{} || end != text.data() + text.size() || !is_strict) {
    return std::nullopt;
  }
  return value;
}

Request next_request(std::string_view input) {
  return input.starts_with('*') ? multibulk_request(input) : inline_request(input);
}

}  // namespace cuckooguard::simulation
