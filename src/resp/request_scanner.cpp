#include "resp/request_scanner.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "resp/fast_line.h"
#include "text/number.h"

namespace cuckooguard::resp {
namespace {

// "$0" CRLF CRLF: the least an argument costs.
constexpr std::size_t kArgumentBytesMin = 6;

constexpr LineRules kArrayLine{
    .type = '*',
    .min = std::numeric_limits<std::int64_t>::min(),
    .max = std::numeric_limits<std::int32_t>::max(),
    .unauthenticated_max = kUnauthenticatedArgumentsMax,
    .too_long = "ERR Protocol error: too big mbulk count string",
    .invalid = "ERR Protocol error: invalid multibulk length",
    .unauthenticated = "ERR Protocol error: unauthenticated multibulk length"};

constexpr LineRules kArgumentLine{
    .type = '$',
    .min = 0,
    .max = kArgumentBytesMax,
    .unauthenticated_max = kUnauthenticatedArgumentBytesMax,
    .too_long = "ERR Protocol error: too big bulk count string",
    .invalid = "ERR Protocol error: invalid bulk length",
    .unauthenticated = "ERR Protocol error: unauthenticated bulk length"};

Scan protocol_error(std::string_view error) {
  return {.outcome = ScanOutcome::protocol_error, .error = error};
}

Scan whole_command(std::size_t bytes, std::size_t arguments) {
  return {.outcome = ScanOutcome::command,
          .begins = true,
          .ends = true,
          .consumed = bytes,
          .argument_total = arguments};
}

// Returns where the usual argument at `at` ends; null: it is another one, or not whole.
inline const char* take_fast_argument(const char* at, const char* end, std::string_view& argument) {
  std::uint32_t length = 0;
  const char* const begin = at != end && *at == '$' ? read_fast_line(at, end, length) : nullptr;
  if (begin == nullptr || end - begin < static_cast<std::ptrdiff_t>(length + kLineEndBytes)) {
    return nullptr;
  }
  argument = {begin, length};
  return begin + length + kLineEndBytes;
}

// `bytes` is 8 at least: of two arguments, the first with its lines has more.
inline bool are_same(const char* one, const char* other, std::size_t bytes) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (bytes > 2 * kWord) {
    return std::memcmp(one, other, bytes) == 0;
  }
  const auto differ = [=](std::size_t at) {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::memcpy(&a, one + at, kWord);
    std::memcpy(&b, other + at, kWord);
    return a ^ b;
  };
  return (differ(0) | differ(bytes - kWord)) == 0;
}

// The usual command: small, of usual lines, all there. Returns its bytes; 0 where it is anything
// else.
std::size_t scan_fast_command(std::string_view input, Arguments& arguments) {
  const char* const end = input.data() + std::min(input.size(), kWholeCommandBytesMax);
  const char* at = input.data();
  std::uint32_t count = 0;
  at = read_fast_line(at, end, count);
  if (at == nullptr) {
    return 0;
  }
  for (; count != 0; --count) {
    std::string_view argument;
    at = take_fast_argument(at, end, argument);
    if (at == nullptr) {
      arguments.clear();
      return 0;
    }
    arguments.add(argument);
  }
  return arguments.empty() ? 0 : static_cast<std::size_t>(at - input.data());
}

// The longest text string2ll reads: it wants fewer than LONG_STR_SIZE (21) characters.
constexpr std::size_t kNumberCharactersMax = 20;

// A number as string2ll takes it: canonical, no sign but '-', no leading zero, within 64 bits.
std::optional<std::int64_t> parse_number(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool is_canonical = text == "0" || (!digits.empty() && digits.front() != '0');
  return is_canonical && text.size() <= kNumberCharactersMax ? text::number_of<std::int64_t>(text)
                                                             : std::nullopt;
}

// isspace() of the C locale.
bool is_blank(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

bool ends_plain_text(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
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
  const auto value = line[1] == 'x' && line.size() >= 4
                         ? text::number_of<unsigned char>(line.substr(2, 2), 16)
                         : std::nullopt;
  if (value) {
    text.push_back(static_cast<char>(*value));
    line.remove_prefix(4);
    return;
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

std::size_t alike_commands(std::string_view input,
                           std::size_t first,
                           std::span<const std::string_view> arguments,
                           AlikeBut but,
                           std::span<AlikeCommand> out) noexcept {
  out[0] = {.key = arguments[1], .value = arguments.back(), .end = first};
  if (!input.starts_with('*')) {
    return 1;
  }
  const auto offset_behind = [&](std::string_view argument) {
    return static_cast<std::size_t>(argument.data() + argument.size() - input.data()) +
           kLineEndBytes;
  };
  const bool has_value = but == AlikeBut::key_and_value;
  const std::size_t front = offset_behind(arguments[0]);
  const std::string_view tail =
      input.substr(0, first).substr(offset_behind(arguments[has_value ? 2 : 1]));
  const char* const head = input.data();
  const char* const end = head + input.size();
  const char* at = head + first;
  std::size_t count = 1;
  while (count < out.size() && end - at > static_cast<std::ptrdiff_t>(front) &&
         are_same(at, head, front)) {
    AlikeCommand& next = out[count];
    const char* behind = take_fast_argument(at + front, end, next.key);
    if (behind != nullptr && has_value) {
      behind = take_fast_argument(behind, end, next.value);
    }
    if (behind == nullptr || behind - at > static_cast<std::ptrdiff_t>(kWholeArgumentBytesMax) ||
        (!tail.empty() && !std::string_view(behind, end).starts_with(tail))) {
      break;
    }
    at = behind + tail.size();
    next.end = static_cast<std::size_t>(at - head);
    ++count;
  }
  return count;
}

Scan RequestScanner::next(std::string_view input, Arguments& arguments) {
  arguments.clear();
  if (input.empty()) {
    return {};
  }
  if (raw_remaining_ != 0) {
    return take_raw(input, 0);
  }
  if (large_) {
    return scan_large(input, arguments);
  }
  if (total_ != 0) {
    return scan_array(input, arguments);
  }
  if (input.front() != '*') {
    return scan_inline(input, arguments);
  }
  if (authenticated_ && searched_ == 0) {
    const std::size_t bytes = scan_fast_command(input, arguments);
    if (bytes != 0) {
      return whole_command(bytes, arguments.size());
    }
  }
  return scan_array(input, arguments);
}

Scan RequestScanner::scan_inline(std::string_view input, Arguments& arguments) {
  const std::size_t at = find_line_end(input, '\n', searched_);
  if (at == std::string_view::npos) {
    return input.size() > kLineBytesMax
               ? protocol_error("ERR Protocol error: too big inline request")
               : Scan{};
  }
  const std::size_t length = at != 0 && input[at - 1] == '\r' ? at - 1 : at;
  if (!split_inline(input.substr(0, length), arguments)) {
    return protocol_error("ERR Protocol error: unbalanced quotes in request");
  }
  searched_ = 0;
  if (arguments.empty()) {
    return {.outcome = ScanOutcome::nothing, .consumed = at + 1};
  }
  return whole_command(at + 1, arguments.size());
}

Scan RequestScanner::scan_array(std::string_view input, Arguments& arguments) {
  const bool resumed = total_ != 0;
  if (!resumed) {
    const RequestLine line = read_line(input, kArrayLine);
    if (line.outcome == LineOutcome::incomplete) {
      return {};
    }
    if (line.outcome != LineOutcome::complete) {
      return refuse(line, input, arguments);
    }
    if (line.number <= 0) {
      return {.outcome = ScanOutcome::nothing, .consumed = line.bytes};
    }
    offset_ = line.bytes;
    total_ = static_cast<std::uint32_t>(line.number);
  }
  const Run last = run(input, arguments);
  if (last.stop == Stop::end_of_input) {
    return {};
  }
  if (last.stop == Stop::at_error) {
    return refuse(last.line, input, arguments);
  }
  if (resumed && scanned_ != 0) {
    // There is something to deliver: once more from the front, for views of what was scanned in
    // earlier calls.
    forget_command();
    return next(input, arguments);
  }
  if (last.stop == Stop::end_of_command) {
    const Scan command = whole_command(offset_, total_);
    forget_command();
    return command;
  }
  large_ = true;
  return scanned_ != 0 ? take_chunk() : scan_large(input, arguments);
}

// All whole arguments that are there, else part of a large one.
Scan RequestScanner::scan_large(std::string_view input, Arguments& arguments) {
  const Run last = run(input, arguments);
  if (scanned_ != delivered_) {
    return take_chunk();
  }
  if (last.stop == Stop::at_error) {
    return refuse(last.line, input, arguments);
  }
  if (last.stop == Stop::at_limit) {
    raw_remaining_ = static_cast<std::uint32_t>(last.line.number) + kLineEndBytes;
    return take_raw(input, offset_ + last.line.bytes);
  }
  return {};
}

// Scans arguments from offset_ on and adds their views.
RequestScanner::Run RequestScanner::run(std::string_view input, Arguments& arguments) {
  while (scanned_ != total_) {
    const std::string_view front = input.substr(offset_);
    const RequestLine line = read_line(front, kArgumentLine);
    if (line.outcome != LineOutcome::complete) {
      return {line.outcome == LineOutcome::incomplete ? Stop::end_of_input : Stop::at_error, line};
    }
    const auto argument_bytes = static_cast<std::size_t>(line.number);
    const std::size_t end = offset_ + line.bytes + argument_bytes + kLineEndBytes;
    if (must_stop(argument_bytes, end)) {
      return {Stop::at_limit, line};
    }
    if (end > input.size()) {
      return {Stop::end_of_input, line};
    }
    arguments.add(front.substr(line.bytes, argument_bytes));
    offset_ = end;
    ++scanned_;
  }
  return {Stop::end_of_command, {}};
}

// `end`: where the next argument ends. Whether it may not be buffered together with what is in
// front of it.
inline bool RequestScanner::must_stop(std::size_t argument_bytes, std::size_t end) const {
  if (large_) {
    return argument_bytes > kWholeArgumentBytesMax ||
           (end > kWholeCommandBytesMax && scanned_ != delivered_);
  }
  return end + kArgumentBytesMin * (total_ - scanned_ - 1) >
         (authenticated_ ? kWholeCommandBytesMax : kUnauthenticatedBytesMax);
}

RequestLine RequestScanner::read_line(std::string_view front, const LineRules& rules) {
  if (front.empty()) {
    return {};
  }
  const RequestLine line = read_request_line(front, rules, authenticated_, searched_);
  if (line.outcome == LineOutcome::complete) {
    searched_ = 0;
  }
  return line;
}

Scan RequestScanner::refuse(const RequestLine& line,
                            std::string_view input,
                            Arguments& arguments) const {
  if (line.outcome != LineOutcome::wrong_type) {
    return protocol_error(line.error);
  }
  // An error line cannot carry a line end; Redis writes a blank instead.
  const char got = input[offset_] == '\r' || input[offset_] == '\n' ? ' ' : input[offset_];
  arguments.text() = "ERR Protocol error: expected '$', got '";
  arguments.text().append({got, '\''});
  return protocol_error(arguments.text());
}

// The bytes up to offset_: whole arguments.
Scan RequestScanner::take_chunk() {
  const Scan scan{.outcome = ScanOutcome::chunk,
                  .begins = !begun_,
                  .ends = scanned_ == total_,
                  .consumed = offset_,
                  .first_argument = delivered_,
                  .argument_total = total_};
  go_on_from_here(scan.ends);
  return scan;
}

// The bytes up to `line_end`, then as many of the raw ones as there are.
Scan RequestScanner::take_raw(std::string_view input, std::size_t line_end) {
  const std::size_t passed = std::min<std::size_t>(raw_remaining_, input.size() - line_end);
  raw_remaining_ -= static_cast<std::uint32_t>(passed);
  scanned_ += raw_remaining_ == 0 ? 1 : 0;
  const Scan scan{.outcome = ScanOutcome::chunk,
                  .begins = !begun_,
                  .ends = scanned_ == total_,
                  .consumed = line_end + passed,
                  .first_argument = delivered_,
                  .argument_total = total_};
  go_on_from_here(scan.ends);
  return scan;
}

// All that was scanned is consumed.
void RequestScanner::go_on_from_here(bool ended) {
  if (ended) {
    forget_command();
    return;
  }
  begun_ = true;
  delivered_ = scanned_;
  offset_ = 0;
}

void RequestScanner::forget_command() {
  *this = RequestScanner(authenticated_);
}

std::size_t find_line_end(std::string_view input, char end, std::size_t& searched) {
  const std::size_t window = std::min(input.size(), kLineBytesMax + 1);
  if (searched >= window || input[searched] == '\0') {
    return std::string_view::npos;
  }
  const std::string_view unseen = input.substr(searched, window - searched);
  const std::size_t found = unseen.find(end);
  const std::size_t nul = unseen.substr(0, found).find('\0');
  if (nul != std::string_view::npos) {
    searched += nul;
    return std::string_view::npos;
  }
  if (found == std::string_view::npos) {
    searched = window;
    return std::string_view::npos;
  }
  return searched + found;
}

RequestLine read_request_line(std::string_view input,
                              const LineRules& rules,
                              bool authenticated,
                              std::size_t& searched) {
  const std::size_t end = find_line_end(input, '\r', searched);
  if (end == std::string_view::npos) {
    return input.size() > kLineBytesMax
               ? RequestLine{.outcome = LineOutcome::refused, .error = rules.too_long}
               : RequestLine{};
  }
  if (input.size() < end + kLineEndBytes) {
    return {};
  }
  if (input.front() != rules.type) {
    return {.outcome = LineOutcome::wrong_type};
  }
  const std::optional<std::int64_t> number = parse_number(input.substr(1, end - 1));
  if (!number || *number < rules.min || *number > rules.max) {
    return {.outcome = LineOutcome::refused, .error = rules.invalid};
  }
  if (!authenticated && *number > rules.unauthenticated_max) {
    return {.outcome = LineOutcome::refused, .error = rules.unauthenticated};
  }
  return {.outcome = LineOutcome::complete, .number = *number, .bytes = end + kLineEndBytes};
}

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
