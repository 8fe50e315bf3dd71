#include "guard/own_commands.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ranges>
#include <vector>

#include "guard/explanation.h"
#include "guard/info_text.h"
#include "guard/process.h"
#include "redis/word.h"
#include "resp/reply_writer.h"

namespace cuckooguard::guard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kEchoBytesMax = 128;  // of what the client has sent, in an error; as Redis

// Why it is not known what a user may do.
struct Ignorance {
  std::string cause;
  bool passes = true;  // by itself, perhaps soon
};

std::string remedy_of(const redis::Snapshot& redis) {
  return redis.control.state == redis::ControlReport::State::not_allowed ? "; " + redis.control.hint
                                                                         : "";
}

// Of a user of whom only some is known.
std::string part_unknown(const redis::Snapshot& redis) {
  return redis.control.state == redis::ControlReport::State::not_allowed
             ? "Redis does not tell the guard (see upstream.control): " + redis.control.why +
                   remedy_of(redis)
             : "Redis does not tell whether this user may GET every key of the namespace (a "
               "selector, a pattern that is no prefix, or a Redis before 7)";
}

Ignorance ignorance_of(const Client& client,
                       const redis::Facts& facts,
                       const redis::Snapshot& redis,
                       TimePoint now) {
  if (redis.is_lost) {
    return {"Redis cannot be asked: " + redis.why_lost + remedy_of(redis)};
  }
  if (redis.availability != redis::Availability::available || now >= redis.good_until) {
    return {"Redis does not answer"};
  }
  if (redis.control.state == redis::ControlReport::State::unsupported) {
    return {.cause = redis.control.why_keys_pass(), .passes = false};
  }
  if (!redis.users->refusal.empty()) {
    return {.cause = "Redis does not tell the guard (see upstream.control): " +
                     redis.users->refusal + remedy_of(redis),
            .passes = false};
  }
  if (!facts.asks_for(client.user())) {
    return {
        .cause = "there are more than " + std::to_string(redis::Facts::kUsersToAskMax) + " users",
        .passes = false};
  }
  return {"Redis has not yet said what this user may do"};
}

constexpr std::size_t kAny = static_cast<std::size_t>(-1);

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc{} && stop == end && !text.empty() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string OwnCommands::quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, kEchoBytesMax)) + "'";
}

OwnDecision OwnCommands::no_namespace(const Call& call) {
  return error("ERR no namespace " + quoted(call.arguments[1]));
}

OwnDecision OwnCommands::decide(Arguments arguments, Client& client, const Attempt& attempt) {
  if (is_left_to_redis(client)) {
    return {.action = OwnDecision::Action::forward};
  }
  if (must_be_held(client, attempt)) {
    return {.action = OwnDecision::Action::hold_for_client};
  }
  const redis::Snapshot& redis = guard_.facts();
  const bool is_reliable = client.may_rely_on(redis, attempt.now);
  const redis::UserAccess* const access = guard_.access_of(client, redis);
  const Call call{.arguments = arguments,
                  .client = client,
                  .redis = redis,
                  .access = is_reliable ? access : nullptr,
                  .attempt = attempt};
  const Entry* const command = find(arguments.front());
  if (command != nullptr && command->needs == Needs::no_login) {
    return run(*command, call);
  }
  switch (known_login(client, redis, attempt.now)) {
    case Client::Login::yes:
      return command != nullptr
                 ? run(*command, call)
                 : error("ERR unknown command " + quoted(arguments.front()) + "; try GUARD.HELP");
    case Client::Login::no:
      return error(kNotLoggedIn);
    case Client::Login::unknown:
      break;
  }
  return wait_for_rights(call);
}

// As a rule they are being asked for now: users were withdrawn, or guard or client have just begun.
OwnDecision OwnCommands::wait_for_rights(const Call& call) {
  const Ignorance ignorance =
      ignorance_of(call.client, guard_.parts().facts, call.redis, call.attempt.now);
  if (ignorance.passes && call.attempt.now - call.attempt.since < kKnowPatience) {
    return {.action = OwnDecision::Action::hold_for_client};
  }
  return error("ERR rights unknown: " + ignorance.cause);
}

// In the order of GUARD.HELP, which is laid out as Redis lays out its own.
const std::array<OwnCommands::Entry, 11> OwnCommands::kEntries{{
    {"check",
     2,
     kAny,
     Needs::rights,
     &OwnCommands::check,
     "CHECK <key> [<key> ...]\n"
     "    Return for each <key> 1 if it may exist, 0 if it cannot, and -1 if no namespace\n"
     "    guards it."},
    {"explain",
     2,
     2,
     Needs::rights,
     &OwnCommands::explain,
     "EXPLAIN <key>\n"
     "    Return what becomes of a GET of the <key> and why: its namespace, its identity, the\n"
     "    state of the filter, and the verdict."},
    {"add",
     2,
     kAny,
     Needs::rights,
     &OwnCommands::add,
     "ADD <key> [<key> ...] [TTL <seconds>]\n"
     "    Let the keys pass for a while, overlay.ttl at most, although the filter has not heard\n"
     "    of them yet. Return how many of them are guarded."},
    {"wait",
     4,
     4,
     Needs::login,
     &OwnCommands::wait,
     "WAIT <source> <position> <timeout-ms>\n"
     "    Block until the <source> has applied its server's <position> (a GTID, an LSN). Return 1\n"
     "    when it has, 0 when the time is over."},
    {"info",
     1,
     2,
     Needs::login,
     &OwnCommands::info,
     "INFO [<namespace>]\n"
     "    Return information about the guard, its namespaces and its sources, or about one\n"
     "    namespace."},
    {"mode",
     3,
     3,
     Needs::an_operator,
     &OwnCommands::mode,
     "MODE <namespace> OBSERVE|ENFORCE|BYPASS\n"
     "    Change what is done about absent keys, until the guard ends. For operators."},
    {"clear",
     2,
     2,
     Needs::an_operator,
     &OwnCommands::clear,
     "CLEAR <namespace>\n"
     "    Forget which keys were written or added. All pass until the filter has surely heard\n"
     "    of them (max_lag). For operators."},
    {"rebuild",
     2,
     2,
     Needs::an_operator,
     &OwnCommands::rebuild,
     "REBUILD <namespace>\n"
     "    Read all rows again. The filter in use stays so meanwhile, as long as it is known to\n"
     "    be up to date. For operators."},
    {"reload",
     1,
     1,
     Needs::an_operator,
     &OwnCommands::reload,
     "RELOAD\n"
     "    Read the configuration file again. Return OK and what needs a restart, or an error and\n"
     "    change nothing. For operators."},
    {"ping",
     1,
     1,
     Needs::no_login,
     &OwnCommands::ping,
     "PING\n"
     "    Return PONG, by the guard itself. Needs no login, and no Redis."},
    {"help",
     1,
     1,
     Needs::login,
     &OwnCommands::help,
     "HELP\n"
     "    Prints this help."},
}};

const OwnCommands::Entry* OwnCommands::find(std::string_view name) {
  const auto* const found = std::ranges::find_if(kEntries, [name](const Entry& command) {
    return redis::is_word(name.substr(kPrefix.size()), command.name);
  });
  return found != kEntries.end() ? found : nullptr;
}

OwnDecision OwnCommands::run(const Entry& command, const Call& call) {
  if (call.arguments.size() < command.least || call.arguments.size() > command.most) {
    return error("ERR wrong number of arguments for 'guard." + std::string(command.name) +
                 "' command");
  }
  if (command.needs == Needs::rights && call.access == nullptr) {
    return wait_for_rights(call);
  }
  if (command.needs == Needs::an_operator && !is_operator(call.client)) {
    return error("NOPERM this user has no permissions to run the 'guard." +
                 std::string(command.name) + "' command: it is not one of admin.operators");
  }
  return (this->*command.run)(call);
}

OwnDecision OwnCommands::error(std::string_view line) {
  reply_.clear();
  resp::append_error(reply_, line);
  return answer();
}

// Why its user may not GET all of the keys: in Redis's words where Redis would surely refuse it,
// too.
std::optional<std::string> OwnCommands::refusal(Arguments keys, const Call& call) {
  static const std::size_t kGet = redis::command_index(redis::find_command("get"));
  if (call.access->is_unrestricted) {
    return std::nullopt;
  }
  for (const std::string_view key : keys) {
    const auto ns = guard_.namespace_of(key);
    switch (ns ? call.access->refusal(kGet, *ns) : redis::UserAccess::Refusal::none) {
      case redis::UserAccess::Refusal::none:
        break;
      case redis::UserAccess::Refusal::key:
        return std::string(kKeyRefused);
      case redis::UserAccess::Refusal::command:
        return std::string(kCommandRefused);
      case redis::UserAccess::Refusal::unknown:
        return "ERR rights unknown: " + part_unknown(call.redis);
    }
  }
  return std::nullopt;
}

Guard::Inspection OwnCommands::inspect(std::string_view key, const Call& call) {
  return guard_.inspect(key,
                        {.db = call.client.db(),
                         .access = *call.access,
                         .now = call.attempt.now,
                         .read_at = call.attempt.since,
                         .writes = call.client.writes()});
}

OwnDecision OwnCommands::check(const Call& call) {
  const Arguments keys = call.arguments.subspan(1);
  if (const auto words = refusal(keys, call)) {
    return error(*words);
  }
  reply_.clear();
  resp::append_array_header(reply_, keys.size());
  for (const std::string_view key : keys) {
    const Guard::Inspection seen = inspect(key, call);
    if (waits_for_proof(seen, call)) {
      return {.action = OwnDecision::Action::hold_for_client};
    }
    const Verdict verdict = seen.verdict;
    const int may_exist = verdict == Verdict::absent ? 0 : 1;
    resp::append_integer(reply_, verdict == Verdict::unguarded ? -1 : may_exist);
  }
  return answer();
}

OwnDecision OwnCommands::explain(const Call& call) {
  if (const auto words = refusal(call.arguments.subspan(1), call)) {
    return error(*words);
  }
  const Guard::Inspection seen = inspect(call.arguments[1], call);
  if (waits_for_proof(seen, call)) {
    return {.action = OwnDecision::Action::hold_for_client};
  }
  reply_.clear();
  append_explanation(reply_,
                     {.parts = guard_.parts(),
                      .redis = call.redis,
                      .key = call.arguments[1],
                      .seen = seen,
                      .now = call.attempt.now,
                      .db = call.client.db(),
                      .version = call.client.version(),
                      .why_client = call.client.why_unsettled()});
  return answer();
}

OwnDecision OwnCommands::add(const Call& call) {
  Arguments keys = call.arguments.subspan(1);
  std::optional<seconds> ttl;
  if (keys.size() > 2 && redis::is_word(keys[keys.size() - 2], "ttl")) {
    const auto given = integer(keys.back());
    if (!given) {
      return error("ERR value is not an integer or out of range");
    }
    if (*given <= 0) {
      return error("ERR invalid TTL in 'guard.add' command");
    }
    ttl = seconds(*given);
    keys = keys.first(keys.size() - 2);
  }
  if (const auto words = refusal(keys, call)) {
    return error(*words);
  }
  if (const auto words = ttl ? error_of_ttl(keys, *ttl) : std::nullopt) {
    return error(*words);
  }
  const auto guarded = std::ranges::count_if(keys, [&](std::string_view key) {
    return guard_.add(key, call.client, call.attempt.now, ttl);
  });
  reply_.clear();
  resp::append_integer(reply_, guarded);
  return answer();
}

// So that nobody fills an overlay for longer than writes do.
std::optional<std::string> OwnCommands::error_of_ttl(Arguments keys, seconds ttl) {
  for (const std::string_view key : keys) {
    const auto ns = guard_.namespace_of(key);
    if (!ns) {
      continue;
    }
    const auto most = std::chrono::floor<seconds>(guard_.parts().namespaces[*ns].overlay->ttl());
    if (ttl > most) {
      return "ERR invalid TTL in 'guard.add' command: overlay.ttl of namespace " +
             quoted(guard_.parts().keyspace.name(*ns)) + " is " + std::to_string(most.count()) +
             " s";
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> OwnCommands::find_source(std::string_view name) const {
  const Process* const process = guard_.parts().process;
  const std::size_t count =
      process != nullptr && process->sources != nullptr ? process->sources->size() : 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (process->sources->name(i) == name) {
      return i;
    }
  }
  return std::nullopt;
}

// Everything is looked at anew each time it is asked: nothing is kept for those who wait.
OwnDecision OwnCommands::wait(const Call& call) {
  const Arguments arguments = call.arguments;
  const auto timeout = integer(arguments[3]);
  if (!timeout || *timeout > kWaitMax.count()) {
    return error("ERR timeout is not an integer or out of range");
  }
  if (*timeout < 0) {
    return error("ERR timeout is negative");
  }
  const auto source = find_source(arguments[1]);
  if (!source) {
    return error("ERR no source " + quoted(arguments[1]));
  }
  const std::string_view position = arguments[2];
  const auto reached = position.size() > kPositionBytesMax
                           ? Reached::not_a_position
                           : guard_.parts().process->sources->reached(*source, position);
  switch (reached) {
    case Reached::yes:
      break;
    case Reached::not_yet:
      if (call.attempt.now - call.attempt.since < milliseconds(*timeout)) {
        return {.action = OwnDecision::Action::hold_for_source};
      }
      break;
    case Reached::not_a_position:
      return error("ERR " + quoted(position) + " is not a valid position for source " +
                   quoted(arguments[1]));
    case Reached::not_followed:
      return error("ERR source " + quoted(arguments[1]) +
                   " has no positions: it is read again as a whole");
  }
  reply_.clear();
  resp::append_integer(reply_, reached == Reached::yes ? 1 : 0);
  return answer();
}

OwnDecision OwnCommands::info(const Call& call) {
  InfoQuestion question{.guard = guard_, .redis = call.redis, .now = call.attempt.now};
  if (call.arguments.size() > 1) {
    question.ns = find_namespace(call);
    if (!question.ns) {
      return no_namespace(call);
    }
  }
  reply_.clear();
  resp::append_verbatim_text(reply_, call.client.version(), info_text(question));
  return answer();
}

OwnDecision OwnCommands::ping(const Call& /*call*/) {
  reply_ = "+PONG\r\n";
  return answer();
}

OwnDecision OwnCommands::help(const Call& /*call*/) {
  std::vector<std::string_view> lines{
      "GUARD.<subcommand> [<arg> [value] [opt] ...]. Subcommands are:"};
  for (const Entry& command : kEntries) {
    for (const auto line : std::views::split(command.help, '\n')) {
      lines.emplace_back(line.begin(), line.end());
    }
  }
  reply_.clear();
  resp::append_array_header(reply_, lines.size());
  for (const std::string_view line : lines) {
    resp::append_simple(reply_, line);
  }
  return answer();
}

}  // namespace cuckooguard::guard
