// What a RequestScanner makes of an input that arrives in pieces, in a form that does not depend on
// the pieces: the chunks of a large command are put together again. Checks on the way what holds
// for every input.
//
// No GoogleTest in here: the fuzzer uses it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resp/request_scanner.h"

namespace cuckooguard::resp {

struct ScannedCommand {
  ScanOutcome outcome = ScanOutcome::command;  // command, nothing, or chunk for a large command
  std::string bytes = {};
  std::vector<std::optional<std::string>> arguments = {};  // nullopt: passed raw
  std::uint64_t argument_total = 0;
  bool ended = true;
  bool operator==(const ScannedCommand&) const = default;
};

struct ScanTranscript {
  std::vector<ScannedCommand> commands;
  std::string error;
  std::size_t unconsumed = 0;
  std::string broken_promise;  // empty if none was
  bool operator==(const ScanTranscript&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const ScanTranscript& transcript) {
  constexpr std::size_t kShown = 60;
  for (const ScannedCommand& command : transcript.commands) {
    out << "\n  outcome " << static_cast<int>(command.outcome) << ", " << command.bytes.size()
        << " bytes, " << command.arguments.size() << " of " << command.argument_total
        << " arguments" << (command.ended ? "" : ", not ended") << ":";
    for (std::size_t i = 0; i < command.arguments.size() && i < 4; ++i) {
      out << " [" << command.arguments[i].value_or("(raw)").substr(0, kShown) << "]";
    }
  }
  return out << "\n  error \"" << transcript.error << "\", unconsumed " << transcript.unconsumed
             << ", broken promise \"" << transcript.broken_promise << "\"";
}

class ScanRecorder {
 public:
  explicit ScanRecorder(bool authenticated = true) : scanner_(authenticated) {}

  // `kept` is what a session would hold: all bytes not consumed yet, the new ones last. Returns
  // what is consumed.
  std::size_t feed(std::string_view kept) {
    std::size_t consumed = 0;
    while (usable()) {
      const std::string_view input = kept.substr(consumed);
      const bool at_boundary = scanner_.at_command_boundary();
      const Scan scan = scanner_.next(input, arguments_);
      demand(scan.consumed <= input.size(), "consumed more than there is");
      if (!usable() || !record(scan, input, at_boundary)) {
        break;
      }
      consumed += scan.consumed;
    }
    return consumed;
  }

  bool usable() const { return transcript_.error.empty() && transcript_.broken_promise.empty(); }
  RequestScanner& scanner() { return scanner_; }
  const Arguments& arguments() const { return arguments_; }
  ScanTranscript& transcript() { return transcript_; }

 private:
  void demand(bool holds, const char* promise) {
    if (!holds && transcript_.broken_promise.empty()) {
      transcript_.broken_promise = promise;
    }
  }

  // False when there is nothing more to ask of this input.
  bool record(const Scan& scan, std::string_view input, bool at_boundary) {
    switch (scan.outcome) {
      case ScanOutcome::incomplete:
        demand(scan.consumed == 0, "incomplete consumes nothing");
        demand(input.size() <= kWholeCommandBytesMax + kLineBytesMax, "what is kept is bounded");
        return false;
      case ScanOutcome::protocol_error:
        demand(scan.consumed == 0, "an error consumes nothing");
        transcript_.error = scan.error;
        demand(scanner_.next(input, arguments_).error == transcript_.error, "an error stays");
        return false;
      case ScanOutcome::nothing:
      case ScanOutcome::command:
        demand(at_boundary && scanner_.at_command_boundary(), "whole commands are at a boundary");
        demand(scan.argument_total == arguments_.size(), "a command holds all its arguments");
        demand((scan.outcome == ScanOutcome::command) != arguments_.empty(), "commands have names");
        demand(scan.consumed <= kWholeCommandBytesMax + 1, "whole commands are small");
        break;
      case ScanOutcome::chunk:
        demand(scan.begins == at_boundary, "the first chunk is at a boundary");
        demand(scan.ends == scanner_.at_command_boundary(), "the last chunk is at a boundary");
        break;
    }
    demand(scan.consumed > 0, "every step but the last consumes something");
    if (usable()) {
      append(scan, input.substr(0, scan.consumed));
    }
    return usable();
  }

  void append(const Scan& scan, std::string_view bytes) {
    const bool is_chunk = scan.outcome == ScanOutcome::chunk;
    if (!is_chunk || scan.begins) {
      ScannedCommand& begun = transcript_.commands.emplace_back();
      begun.outcome = scan.outcome;
      begun.argument_total = scan.argument_total;
    }
    ScannedCommand& command = transcript_.commands.back();
    command.bytes += bytes;
    command.ended = !is_chunk || scan.ends;
    if (is_chunk && arguments_.empty()) {
      const bool goes_on = !scan.begins && scan.first_argument + 1 == command.arguments.size() &&
                           !command.arguments.back();
      demand(goes_on || scan.first_argument == command.arguments.size(), "raw ones in order");
      if (!goes_on) {
        command.arguments.emplace_back();
      }
    } else {
      demand(scan.first_argument == command.arguments.size(), "chunks are in order");
    }
    for (const std::string_view argument : arguments_.views()) {
      demand(!is_chunk || scan.begins || argument.size() <= kWholeArgumentBytesMax, "large ones");
      command.arguments.emplace_back(argument);
    }
    demand(command.argument_total == scan.argument_total, "the total stays");
    demand(!command.ended || command.arguments.size() == command.argument_total ||
               scan.outcome == ScanOutcome::nothing,
           "all arguments are seen");
  }

  RequestScanner scanner_;
  Arguments arguments_;
  ScanTranscript transcript_;
};

// Feeds the pieces one after the other. Small inputs are moved to memory of exactly their size for
// every call, so that a read beyond the input, or of an earlier one, is one the address sanitizer
// sees.
inline ScanTranscript scan_pieces(std::span<const std::string_view> pieces,
                                  bool authenticated = true) {
  constexpr std::size_t kMovedMax = 1024;
  ScanRecorder recorder(authenticated);
  std::string all;
  for (const std::string_view piece : pieces) {
    all += piece;
  }
  std::size_t arrived = 0;
  std::size_t consumed = 0;
  for (const std::string_view piece : pieces) {
    arrived += piece.size();
    const std::string_view kept = std::string_view(all).substr(consumed, arrived - consumed);
    if (kept.size() <= kMovedMax) {
      const std::vector<char> moved(kept.begin(), kept.end());
      consumed += recorder.feed({moved.data(), moved.size()});
    } else {
      consumed += recorder.feed(kept);
    }
    if (!recorder.usable()) {
      break;
    }
  }
  recorder.transcript().unconsumed = all.size() - consumed;
  return recorder.transcript();
}

}  // namespace cuckooguard::resp
