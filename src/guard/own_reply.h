// How commands that the guard takes for a filter reply: with bytes, or by leaving it to Redis to
// refuse them.
//
// Threads: its worker's. Lifetimes: what is returned is valid until the next call. Errors: none.
// Limits: none of its own.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "guard/own_decision.h"
#include "redis/word.h"
#include "resp/reply_writer.h"

namespace cuckooguard::guard {

// In any case, as Redis has it.
inline bool is_command(std::string_view name, std::string_view command) {
  return std::ranges::equal(name, command, {}, redis::lower_case, redis::lower_case);
}
// BF.*, CF.*
inline bool is_filter_command(std::string_view name) noexcept {
  return name.size() > 3 && name[2] == '.' && redis::lower_case(name[1]) == 'f' &&
         (redis::lower_case(name[0]) == 'b' || redis::lower_case(name[0]) == 'c');
}

// CF.ADDNX, CF.INSERTNX, as they are spelled.
inline bool is_if_new(std::string_view command) noexcept {
  return command.ends_with("NX");
}

class OwnReply {
 public:
  using Arguments = std::span<const std::string_view>;

 protected:
  OwnReply() = default;
  ~OwnReply() = default;

  OwnDecision answer() { return {.action = OwnDecision::Action::answer, .reply = reply_}; }
  OwnDecision error(std::string_view line) {
    reply_.clear();
    resp::append_error(reply_, line);
    return answer();
  }
  OwnDecision error_of_arity(std::string_view command) {
    return error("ERR wrong number of arguments for '" + std::string(command) + "' command");
  }
  // As a command of which Redis knows nothing, also if it has a module that knows this one.
  OwnDecision for_redis_to_refuse(Arguments arguments) {
    name_.assign(kUnknownPrefix).append(arguments[0]);
    words_.assign(arguments.begin(), arguments.end());
    words_.front() = name_;
    return {.instead = words_};
  }
  // Where it cannot be held (a client that does not read) Redis is to refuse it.
  OwnDecision hold(Arguments arguments) {
    OwnDecision decision = for_redis_to_refuse(arguments);
    decision.action = OwnDecision::Action::hold_for_client;
    return decision;
  }
  // The bytes of a large command's first chunk, by which Redis does not know it for what it is.
  std::string_view unknown_bytes(Arguments arguments, std::string_view chunk) {
    const auto name = static_cast<std::size_t>(arguments[0].data() - chunk.data());
    reply_.assign(chunk.substr(0, chunk.find('\n') + 1));
    reply_.append("$").append(std::to_string(kUnknownPrefix.size() + arguments[0].size()));
    reply_.append("\r\n").append(kUnknownPrefix).append(chunk.substr(name));
    return reply_;
  }

  std::string reply_;

 private:
  static constexpr std::string_view kUnknownPrefix = "GUARD.";

  std::string name_;  // that Redis does not know
  std::vector<std::string_view> words_;
};

}  // namespace cuckooguard::guard
