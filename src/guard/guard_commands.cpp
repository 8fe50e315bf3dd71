// GUARD.*, in any case: what they do, who may, and their replies.
//
//   GUARD.CHECK key [key ...]          per key :1 may exist, :0 cannot, :-1 no namespace's key
//   GUARD.EXPLAIN key                  a map: guard/explanation.h
//   GUARD.ADD key [key ...] [TTL s]    :n of them are in an overlay now; they pass for that long,
//                                      at most the namespace's overlay.ttl: for longer is an error,
//                                      and adds nothing
//   GUARD.WAIT source position ms      :1 once the source has applied the position, :0 when the
//                                      time is over
//   GUARD.INFO [namespace]             as Redis's INFO (guard/fact_table.h)
//   GUARD.MODE namespace mode          +OK; observe, enforce or bypass, until the guard ends
//   GUARD.CLEAR namespace              +OK: its overlay is empty; all of its keys pass for max_lag,
//                                      until the filter has caught up with recent writes
//   GUARD.REBUILD namespace            +OK: its tables are read again, now if they are followed
//   GUARD.RELOAD                       +OK: the configuration file is in force; "+OK needs a
//                                      restart: upstream.mode" names what is not, "+OK every
//                                      setting is as before" says that the file has not changed.
//                                      -ERR and why: it is not in force, and all is as before
//                                      (guard/process.h)
//   GUARD.PING                         +PONG, by this guard itself, in whatever state Redis is
//   GUARD.HELP                         the help of all rows, of other families, too
//
// CHECK returns 0 only where a GET would be answered absent by the filter, and 1 wherever it would
// be forwarded for another reason (not fresh, other db, overlay, observe ...). Unlike a GET it is
// not counted, and Redis need not be there.
//
// WAIT and all workers: the source says so (SourceView::reached) after it has changed the filters,
// whose words are atomic and which all workers share, so no worker needs to be notified. A
// namespace of that source that is out of step passes.
//
// Who may. PING: anybody, at once, for a health check must not depend on Redis, and it reveals no
// more than that a guard is here. All others: a client that is known to be authenticated; else
// -NOAUTH. CHECK, EXPLAIN and ADD: its user must be one who may GET the namespace's keys; one to
// whom Redis would surely refuse that gets Redis's own -NOPERM. Where it is not known whether the
// client is authenticated, or what its user may do, the reply is "-ERR rights unknown: " and why;
// at once if waiting is of no use (the guard may not ask, too many users, a user with a selector).
// MODE, CLEAR, REBUILD and RELOAD: Process::operators, nobody by default; a user that is no longer
// one when the reload has ended gets -NOPERM.
//
// A Redis module with commands of these names is hidden.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "guard/advice.h"
#include "guard/command_families.h"
#include "guard/explanation.h"
#include "guard/fact_table.h"
#include "guard/own_commands.h"
#include "guard/process.h"
#include "redis/word.h"
#include "resp/reply_writer.h"
#include "text/number.h"
#include "text/words.h"

namespace cuckooguard::guard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kWaitMax = std::chrono::hours(1);
constexpr std::size_t kPositionBytesMax = 4096;
constexpr std::size_t kEchoBytesMax = 128;  // of what the client has sent, in an error; as Redis

std::string quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, kEchoBytesMax)) + "'";
}

// Of a user of whom only some is known.
std::string part_unknown(const redis::Snapshot& redis) {
  return redis.control.state == redis::ControlReport::State::not_allowed
             ? "Redis does not let the guard read user permissions (see upstream.control): " +
                   redis.control.why + "; " + redis.control.hint
             : "the guard cannot determine whether this user may GET every key of the namespace "
               "(its ACL has a selector or a pattern that is not a prefix, or Redis is older than "
               "7)";
}

// One line; the log has the rest.
std::string first_of(std::span<const std::string> errors) {
  constexpr std::size_t kErrorsShown = 3;
  std::string text = text::joined(
      errors.first(std::min(errors.size(), kErrorsShown)), "; ", [](std::string_view error) {
        return error.substr(0, error.find('\n'));
      });
  if (errors.size() > kErrorsShown) {
    text += " (and " + std::to_string(errors.size() - kErrorsShown) + " more: see the log)";
  }
  return text;
}

struct GuardCall : Call {
  explicit GuardCall(const Call& call) : Call(call) {}

  OwnDecision check() const {
    const Arguments keys = arguments.subspan(1);
    if (auto refused = refusal(keys)) {
      return *std::move(refused);
    }
    reply.clear();
    resp::append_array_header(reply, keys.size());
    for (const std::string_view key : keys) {
      const Guard::Inspection seen = inspect(key);
      if (waits_for_proof(seen)) {
        return hold();
      }
      const Verdict verdict = seen.verdict;
      const int may_exist = verdict == Verdict::absent ? 0 : 1;
      resp::append_integer(reply, verdict == Verdict::unguarded ? -1 : may_exist);
    }
    return answer();
  }

  OwnDecision explain() const {
    if (auto refused = refusal(arguments.subspan(1))) {
      return *std::move(refused);
    }
    const Guard::Inspection seen = inspect(arguments[1]);
    if (waits_for_proof(seen)) {
      return hold();
    }
    reply.clear();
    append_explanation(reply,
                       {.parts = guard.parts(),
                        .redis = redis,
                        .key = arguments[1],
                        .seen = seen,
                        .now = attempt.now,
                        .db = client.db(),
                        .version = client.version(),
                        .why_client = client.why_unsettled()});
    return answer();
  }

  OwnDecision add() const {
    Arguments keys = arguments.subspan(1);
    std::optional<seconds> ttl;
    if (keys.size() > 2 && redis::is_word(keys[keys.size() - 2], "ttl")) {
      const auto given = text::number_of<std::int64_t>(keys.back());
      if (!given) {
        return error("ERR value is not an integer or out of range");
      }
      if (*given <= 0) {
        return error("ERR invalid TTL in 'guard.add' command");
      }
      ttl = seconds(*given);
      keys = keys.first(keys.size() - 2);
    }
    if (auto refused = refusal(keys)) {
      return *std::move(refused);
    }
    if (const auto words = ttl ? error_of_ttl(keys, *ttl) : std::nullopt) {
      return error(*words);
    }
    const auto guarded = std::ranges::count_if(
        keys, [&](std::string_view key) { return guard.add(key, client, attempt.now, ttl); });
    return integer(guarded);
  }

  // Everything is looked at anew each time it is asked: nothing is kept for those who wait.
  OwnDecision wait() const {
    const auto timeout = text::number_of<std::int64_t>(arguments[3]);
    if (!timeout || *timeout > kWaitMax.count()) {
      return error("ERR timeout is not an integer or out of range");
    }
    if (*timeout < 0) {
      return error("ERR timeout is negative");
    }
    const auto source = find_source(arguments[1]);
    if (!source) {
      return error("ERR no such source: " + quoted(arguments[1]));
    }
    const std::string_view position = arguments[2];
    const auto reached = position.size() > kPositionBytesMax
                             ? Reached::not_a_position
                             : guard.parts().process->sources->reached(*source, position);
    switch (reached) {
      case Reached::yes:
        break;
      case Reached::not_yet:
        if (attempt.now - attempt.since < milliseconds(*timeout)) {
          return {.action = OwnDecision::Action::hold_for_source};
        }
        break;
      case Reached::not_a_position:
        return error("ERR " + quoted(position) + " is not a valid position for source " +
                     quoted(arguments[1]));
      case Reached::not_followed:
        return error("ERR source " + quoted(arguments[1]) +
                     " has no positions, because it is always read again as a whole");
    }
    return integer(reached == Reached::yes ? 1 : 0);
  }

  OwnDecision info() const {
    InfoQuestion question{.guard = guard, .redis = redis, .now = attempt.now};
    if (arguments.size() > 1) {
      question.ns = find_namespace();
      if (!question.ns) {
        return no_namespace();
      }
    }
    reply.clear();
    resp::append_verbatim_text(reply, client.version(), info_text(question));
    return answer();
  }

  OwnDecision mode(std::uint32_t ns) const {
    const auto* const wanted = std::ranges::find_if(config::kModeNames, [&](std::string_view name) {
      return redis::is_word(arguments[2], name);
    });
    if (wanted == config::kModeNames.end()) {
      return error("ERR no such mode: " + quoted(arguments[2]) +
                   "; use observe, enforce or bypass");
    }
    const GuardedNamespace& space = guard.parts().namespaces[ns];
    const auto mode = static_cast<config::Mode>(wanted - config::kModeNames.begin());
    if (mode == config::Mode::enforce && !space.may_enforce) {
      return error("ERR enforce requires an absent_reply in the configuration of namespace " +
                   quoted(arguments[1]));
    }
    const std::string seen = seen_in_observe(ns, mode, attempt.now);
    if (space.mode == config::Mode::bypass && mode != config::Mode::bypass) {
      // Nobody has learned what was written meanwhile.
      space.overlay->hold_all_until(attempt.now + space.overlay->ttl(), Overlay::Hold::bypassed);
    }
    space.mode.set(mode);
    tell_log("mode " + std::string(*wanted) + seen);
    return simple("OK");
  }

  OwnDecision clear(std::uint32_t ns) const {
    Overlay& overlay = *guard.parts().namespaces[ns].overlay;
    // Rows whose keys were written just now may be on their way.
    overlay.hold_all_until(attempt.now + guard.parts().process->origins[ns].max_lag,
                           Overlay::Hold::cleared);
    overlay.clear();
    tell_log("clear");
    return simple("OK");
  }

  OwnDecision rebuild(std::uint32_t ns) const {
    guard.parts().namespaces[ns].filter->ask_for_rebuild();
    tell_log("rebuild");
    return simple("OK");
  }

  OwnDecision reload() const {
    Reloads* const reloads = guard.parts().process->reloads;
    if (reloads == nullptr) {
      return error("ERR this guard has no configuration file");
    }
    const auto outcome = reloads->outcome(attempt.since, "user " + std::string(client.user()));
    if (!outcome) {
      return hold();
    }
    if (!outcome->errors.empty()) {
      return error("ERR reload failed, the previous configuration stays active: " +
                   first_of(outcome->errors));
    }
    std::string line = outcome->is_unchanged ? "OK no setting has changed" : "OK";
    std::string_view before = outcome->is_unchanged ? "; needs a restart: " : " needs a restart: ";
    for (const std::string& setting : outcome->needs_restart) {
      line.append(std::exchange(before, ", ")) += setting;
    }
    return simple(line);
  }

  OwnDecision help() const {
    reply.clear();
    std::size_t lines = 1;
    resp::append_simple(reply, "GUARD.<subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    const auto take = [&](std::string_view line) {
      resp::append_simple(reply, line);
      ++lines;
    };
    for (const auto& server : commands.servers()) {
      for (const CommandRow& row : server->rows()) {
        redis::for_each_word(row.help, take, '\n');
      }
    }
    std::string header;
    resp::append_array_header(header, lines);
    reply.insert(0, header);
    return answer();
  }

  // The argument behind the name.
  std::optional<std::uint32_t> find_namespace() const {
    return guard.parts().keyspace.find(arguments[1]);
  }
  OwnDecision no_namespace() const {
    return error("ERR no such namespace: " + quoted(arguments[1]));
  }

  OwnDecision ping() const { return simple("PONG"); }
  OwnDecision unknown() const {
    return error("ERR unknown command " + quoted(arguments.front()) + "; try GUARD.HELP");
  }

 private:
  // Why its user may not GET all of the keys.
  std::optional<OwnDecision> refusal(Arguments keys) const {
    if (access != nullptr && access->is_unrestricted) {
      return std::nullopt;
    }
    const std::string in_doubt = "ERR rights unknown: " + part_unknown(redis);
    for (const std::string_view key : keys) {
      const auto ns = guard.namespace_of(key);
      if (const auto words = ns ? Call::refusal(*ns, in_doubt) : std::nullopt) {
        return error(*words);
      }
    }
    return std::nullopt;
  }

  Guard::Inspection inspect(std::string_view key) const { return guard.inspect(key, reader()); }
  bool waits_for_proof(const Guard::Inspection& seen) const {
    return seen.verdict == Verdict::unproven &&
           guard.wants_proof(seen.found.ns, attempt.since, attempt.now);
  }

  // So that nobody fills an overlay for longer than writes do.
  std::optional<std::string> error_of_ttl(Arguments keys, seconds ttl) const {
    for (const std::string_view key : keys) {
      const auto ns = guard.namespace_of(key);
      if (!ns) {
        continue;
      }
      const auto most = std::chrono::floor<seconds>(guard.parts().namespaces[*ns].overlay->ttl());
      if (ttl > most) {
        return "ERR invalid TTL in 'guard.add' command: overlay.ttl of namespace " +
               quoted(std::string_view(guard.parts().keyspace.name(*ns))) + " is " +
               std::to_string(most.count()) + " s";
      }
    }
    return std::nullopt;
  }

  std::optional<std::size_t> find_source(std::string_view name) const {
    const Process* const process = guard.parts().process;
    const SourceView* const sources = process != nullptr ? process->sources : nullptr;
    for (std::size_t i = 0; sources != nullptr && i < sources->size(); ++i) {
      if (sources->name(i) == name) {
        return i;
      }
    }
    return std::nullopt;
  }

  // What observing has come to, for the line that says that it ends.
  std::string seen_in_observe(std::uint32_t ns, config::Mode next, TimePoint now) const {
    const Guard::Parts& parts = guard.parts();
    if (parts.namespaces[ns].mode != config::Mode::observe || next == config::Mode::observe ||
        parts.process->guards.empty()) {
      return "";
    }
    return "; observe ends: " + advice(evidence(parts, ns, now));
  }

  void tell_log(const std::string& what) const {
    const Process& process = *guard.parts().process;
    if (process.operators.on_change) {
      process.operators.on_change(client.user(), arguments[1], what);
    }
  }
};

template <OwnDecision (GuardCall::*kFunction)() const>
OwnDecision run(const Call& call) {
  return (GuardCall(call).*kFunction)();
}

template <OwnDecision (GuardCall::*kFunction)(std::uint32_t ns) const>
OwnDecision run_in(const Call& of) {
  const GuardCall call(of);
  const auto ns = call.find_namespace();
  return ns ? (call.*kFunction)(*ns) : call.no_namespace();
}

// In the order of GUARD.HELP, which is laid out as Redis lays out its own.
// clang-format off
constexpr auto kRows = std::to_array<CommandRow>({
    {"guard.check", 2, kAny, Needs::rights, run<&GuardCall::check>,
     "CHECK <key> [<key> ...]\n"
     "    Return for each <key> 1 if it may exist, 0 if it cannot exist, and -1 if it belongs to\n"
     "    no namespace."},
    {"guard.explain", 2, 2, Needs::rights, run<&GuardCall::explain>,
     "EXPLAIN <key>\n"
     "    Return how the guard handles a GET of the <key>, and why: its namespace, its identity,\n"
     "    the state of the filter, and the verdict."},
    {"guard.add", 2, kAny, Needs::rights, run<&GuardCall::add>,
     "ADD <key> [<key> ...] [TTL <seconds>]\n"
     "    Let reads of the keys pass for the TTL (at most and by default overlay.ttl), even if\n"
     "    the filter does not contain them yet. Return how many belong to a namespace."},
    {"guard.wait", 4, 4, Needs::login, run<&GuardCall::wait>,
     "WAIT <source> <position> <timeout-ms>\n"
     "    Block until the guard has applied the log of the <source> up to <position> (a GTID or\n"
     "    an LSN). Return 1 when it has, or 0 after the timeout."},
    {"guard.info", 1, 2, Needs::login, run<&GuardCall::info>,
     "INFO [<namespace>]\n"
     "    Return information about the guard, its namespaces and sources, or about one namespace."},
    {"guard.mode", 3, 3, Needs::an_operator, run_in<&GuardCall::mode>,
     "MODE <namespace> OBSERVE|ENFORCE|BYPASS\n"
     "    Change how reads of absent keys are handled, until the guard restarts. For operators."},
    {"guard.clear", 2, 2, Needs::an_operator, run_in<&GuardCall::clear>,
     "CLEAR <namespace>\n"
     "    Clear the list of written and added keys. All keys pass until the filter is certain to\n"
     "    contain them (max_lag). For operators."},
    {"guard.rebuild", 2, 2, Needs::an_operator, run_in<&GuardCall::rebuild>,
     "REBUILD <namespace>\n"
     "    Read all rows again. The current filter stays in use until then, as long as it is\n"
     "    proven to be up to date. For operators."},
    {"guard.reload", 1, 1, Needs::an_operator, run<&GuardCall::reload>,
     "RELOAD\n"
     "    Reload the configuration file. Return OK and the settings that need a restart, or an\n"
     "    error, in which case nothing changes. For operators."},
    {"guard.ping", 1, 1, Needs::nothing, run<&GuardCall::ping>,
     "PING\n"
     "    Return PONG from the guard itself. Needs neither a login nor Redis."},
    {"guard.help", 1, 1, Needs::login, run<&GuardCall::help>,
     "HELP\n"
     "    Print this help."},
    {"guard.", 1, kAny, Needs::login, run<&GuardCall::unknown>},
});
// clang-format on

}  // namespace

std::unique_ptr<CommandServer> guard_commands(Guard& guard) {
  return std::make_unique<CommandServer>(guard, kRows);
}

}  // namespace cuckooguard::guard
