// GUARD.MODE, GUARD.CLEAR, GUARD.REBUILD and GUARD.RELOAD: what only operators may do.
#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "guard/advice.h"
#include "guard/own_commands.h"
#include "guard/process.h"
#include "redis/word.h"
#include "resp/reply_writer.h"

namespace cuckooguard::guard {
namespace {

// One line; the log has the rest.
std::string first_of(std::span<const std::string> errors) {
  constexpr std::size_t kErrorsShown = 3;
  std::string text;
  for (const std::string& error : errors.first(std::min(errors.size(), kErrorsShown))) {
    text += (text.empty() ? "" : "; ") + error.substr(0, error.find('\n'));
  }
  if (errors.size() > kErrorsShown) {
    text += " (and " + std::to_string(errors.size() - kErrorsShown) + " more: see the log)";
  }
  return text;
}

}  // namespace

OwnDecision OwnCommands::mode(const Call& call) {
  const auto ns = find_namespace(call);
  if (!ns) {
    return no_namespace(call);
  }
  const auto* const wanted = std::ranges::find_if(config::kModeNames, [&](std::string_view name) {
    return redis::is_word(call.arguments[2], name);
  });
  if (wanted == config::kModeNames.end()) {
    return error("ERR no mode " + quoted(call.arguments[2]) + ": observe, enforce or bypass");
  }
  const GuardedNamespace& space = guard_.parts().namespaces[*ns];
  const auto mode = static_cast<config::Mode>(wanted - config::kModeNames.begin());
  if (mode == config::Mode::enforce && !space.may_enforce) {
    return error("ERR enforce needs an absent_reply in the configuration of namespace " +
                 quoted(call.arguments[1]));
  }
  const std::string seen = seen_in_observe(*ns, mode, call.attempt.now);
  if (space.mode == config::Mode::bypass && mode != config::Mode::bypass) {
    // Nobody has learned what was written meanwhile.
    space.overlay->hold_all_until(call.attempt.now + space.overlay->ttl(), Overlay::Hold::bypassed);
  }
  space.mode.set(mode);
  tell_log(call, "mode " + std::string(*wanted) + seen);
  return done();
}

// What observing has come to, for the line that says that it ends.
std::string OwnCommands::seen_in_observe(std::uint32_t ns, config::Mode next, TimePoint now) const {
  const Guard::Parts& parts = guard_.parts();
  if (parts.namespaces[ns].mode != config::Mode::observe || next == config::Mode::observe ||
      parts.process->guards.empty()) {
    return "";
  }
  return "; observe ends: " + advice(evidence(parts, ns, now));
}

OwnDecision OwnCommands::clear(const Call& call) {
  const auto ns = find_namespace(call);
  if (!ns) {
    return no_namespace(call);
  }
  Overlay& overlay = *guard_.parts().namespaces[*ns].overlay;
  // Rows whose keys were written just now may be on their way.
  overlay.hold_all_until(call.attempt.now + guard_.parts().process->origins[*ns].max_lag,
                         Overlay::Hold::cleared);
  overlay.clear();
  tell_log(call, "clear");
  return done();
}

OwnDecision OwnCommands::rebuild(const Call& call) {
  const auto ns = find_namespace(call);
  if (!ns) {
    return no_namespace(call);
  }
  guard_.parts().namespaces[*ns].filter->ask_for_rebuild();
  tell_log(call, "rebuild");
  return done();
}

OwnDecision OwnCommands::reload(const Call& call) {
  Reloads* const reloads = guard_.parts().process->reloads;
  if (reloads == nullptr) {
    return error("ERR this guard has no configuration file");
  }
  const auto outcome =
      reloads->outcome(call.attempt.since, "user " + std::string(call.client.user()));
  if (!outcome) {
    return {.action = OwnDecision::Action::hold_for_client};
  }
  if (!outcome->errors.empty()) {
    return error("ERR the configuration is as before: " + first_of(outcome->errors));
  }
  std::string line = outcome->is_unchanged ? "OK every setting is as before" : "OK";
  std::string_view before = outcome->is_unchanged ? "; needs a restart: " : " needs a restart: ";
  for (const std::string& setting : outcome->needs_restart) {
    line.append(std::exchange(before, ", ")) += setting;
  }
  reply_.clear();
  resp::append_simple(reply_, line);
  return answer();
}

bool OwnCommands::is_operator(const Client& client) const {
  const Process* const process = guard_.parts().process;
  return process != nullptr && std::ranges::find(process->operators.users, client.user()) !=
                                   process->operators.users.end();
}

void OwnCommands::tell_log(const Call& call, const std::string& what) const {
  const Process& process = *guard_.parts().process;
  if (process.operators.on_change) {
    process.operators.on_change(call.client.user(), call.arguments[1], what);
  }
}

}  // namespace cuckooguard::guard
