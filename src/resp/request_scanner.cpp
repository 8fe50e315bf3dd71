#include "resp/request_scanner.h"

#include <algorithm>
#include <limits>

#include "resp/fast_line.h"

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
    std::uint32_t length = 0;
    const char* const argument = read_fast_line(at, end, length);
    if (argument == nullptr || *at != '$' || end - argument < std::ptrdiff_t{length} + 2) {
      arguments.clear();
      return 0;
    }
    arguments.add({argument, length});
    at = argument + length + kLineEndBytes;
  }
  return arguments.empty() ? 0 : static_cast<std::size_t>(at - input.data());
}

}  // namespace

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

}  // namespace cuckooguard::resp
