#include <limits>

#include "guard/filled_commands.h"
#include "resp/reply_writer.h"

namespace cuckooguard::guard {
namespace {

using filled::Operation;

constexpr std::int64_t kSecond = 1000;

}  // namespace

OwnDecision FilledCommands::drop(const Call& call) {
  return submit(call, {.kind = Operation::Kind::drop}, filled_reply::of_key);
}

OwnDecision FilledCommands::has_key(const Call& call) {
  reply_.clear();
  resp::append_integer(reply_, call.named == nullptr ? 0 : 1);
  return answer();
}

OwnDecision FilledCommands::type(const Call& call) {
  reply_.clear();
  switch (call.named->filter->shape().kind) {
    case filled::Kind::bloom:
      resp::append_simple(reply_, "MBbloom--");
      break;
    case filled::Kind::cuckoo:
      resp::append_simple(reply_, "MBbloomCF");
      break;
    case filled::Kind::set:
      resp::append_simple(reply_, "set");
      break;
  }
  return answer();
}

// A time that is over deletes it, as in Redis.
OwnDecision FilledCommands::expire(const Call& call) {
  const auto given = number_of<std::int64_t>(call.arguments[2]);
  if (!given) {
    return error("ERR value is not an integer or out of range");
  }
  const bool is_in_seconds = call.name.front() == 'e';
  const bool is_absolute = call.name.ends_with("at");
  const std::int64_t base = is_absolute ? 0 : static_cast<std::int64_t>(call.now);
  const std::int64_t unit = is_in_seconds ? kSecond : 1;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (*given > (kMost - base) / unit || *given < -(kMost / unit)) {
    return error("ERR invalid expire time in '" + std::string(call.name) + "' command");
  }
  const std::int64_t until = *given * unit + base;
  if (until <= static_cast<std::int64_t>(call.now)) {
    return drop(call);
  }
  return submit(call,
                {.kind = Operation::Kind::expire, .until = static_cast<std::uint64_t>(until)},
                filled_reply::of_key);
}

OwnDecision FilledCommands::persist(const Call& call) {
  if (call.named->until == 0) {
    reply_.clear();
    resp::append_integer(reply_, 0);
    return answer();
  }
  return submit(call, {.kind = Operation::Kind::expire}, filled_reply::of_key);
}

OwnDecision FilledCommands::time_left(const Call& call) {
  const bool is_in_seconds = call.name.front() != 'p';
  const bool is_absolute = call.name.ends_with("time");
  const auto time = static_cast<std::int64_t>(call.named->until - (is_absolute ? 0 : call.now));
  reply_.clear();
  resp::append_integer(reply_,
                       call.named->until == 0 ? -1
                       : is_in_seconds        ? (time + (is_absolute ? 0 : kSecond / 2)) / kSecond
                                              : time);
  return answer();
}

}  // namespace cuckooguard::guard
