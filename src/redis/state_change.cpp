#include "redis/state_change.h"

#include "redis/word.h"
#include "text/number.h"

namespace cuckooguard::redis {
namespace {

using Arguments = std::span<const std::string_view>;

// Redis takes a number only as it would write it itself.
int db_of(Arguments arguments) {
  if (arguments.size() != 2) {
    return kNoDb;
  }
  const std::string_view text = arguments[1];
  const int db = text::number_of<int>(text).value_or(-1);
  return db >= 0 && (text.size() == 1 || text.front() != '0') ? db : kNoDb;
}

// AUTH password | AUTH user password
StateChange auth_of(Arguments arguments) {
  switch (arguments.size()) {
    case 2:
      return {.kind = ChangeKind::auth,
              .authenticates = true,
              .user = "default",
              .secret = std::string(arguments[1]),
              .names_user = false};
    case 3:
      return {.kind = ChangeKind::auth,
              .authenticates = true,
              .user = std::string(arguments[1]),
              .secret = std::string(arguments[2])};
    default:
      return {.kind = ChangeKind::unclear};
  }
}

// HELLO version [AUTH user password] [SETNAME name]
StateChange hello_of(Arguments arguments) {
  StateChange change{.kind = ChangeKind::hello};
  if (arguments[1] == "3") {
    change.version = resp::Version::resp3;
  } else if (arguments[1] != "2") {
    return {.kind = ChangeKind::unknown};  // Redis looks at the version before all else
  }
  std::size_t at = 2;
  while (at < arguments.size()) {
    const std::size_t behind = arguments.size() - at - 1;
    if (is_word(arguments[at], "auth") && behind >= 2) {
      change.authenticates = true;
      change.user = arguments[at + 1];
      change.secret = arguments[at + 2];
      at += 3;
    } else if (is_word(arguments[at], "setname") && behind >= 1) {
      change.label = Label::name;
      change.label_text = arguments[at + 1];
      at += 2;
    } else {
      return {.kind = ChangeKind::unclear};
    }
  }
  return change;
}

// [P|S][UN]SUBSCRIBE [channel ...]
StateChange subscribe_of(const Command& command, Arguments arguments) {
  return {.kind = ChangeKind::subscribe,
          .channels = channel_kind_of(command.name),
          .confirmations = static_cast<std::uint32_t>(arguments.size() - 1)};
}

// READONLY, READWRITE, ASKING
ChangeKind redirection_of(const Command& command) {
  if (command.name == "asking") {
    return ChangeKind::asking;
  }
  return command.name == "readonly" ? ChangeKind::readonly : ChangeKind::readwrite;
}

// CLIENT TRACKING ON|OFF ...; nothing for other subcommands.
std::optional<StateChange> tracking_of(const Command& command, Arguments arguments) {
  if (command.role != Role::client || arguments.size() < 3 || !is_word(arguments[1], "tracking")) {
    return std::nullopt;
  }
  if (is_word(arguments[2], "on")) {
    return StateChange{.kind = ChangeKind::tracking_on};
  }
  if (is_word(arguments[2], "off")) {
    return StateChange{.kind = ChangeKind::tracking_off};
  }
  return StateChange{.kind = ChangeKind::unclear};
}

// CLIENT SETNAME name | SETINFO LIB-NAME|LIB-VER text; nothing for other subcommands.
std::optional<StateChange> label_of(Arguments arguments) {
  const auto labelled = [](Label label, std::string_view text) {
    return StateChange{.kind = ChangeKind::label, .label = label, .label_text = std::string(text)};
  };
  if (arguments.size() == 3 && is_word(arguments[1], "setname")) {
    return labelled(Label::name, arguments[2]);
  }
  if (arguments.size() == 4 && is_word(arguments[1], "setinfo")) {
    if (is_word(arguments[2], "lib-name")) {
      return labelled(Label::library, arguments[3]);
    }
    if (is_word(arguments[2], "lib-ver")) {
      return labelled(Label::library_version, arguments[3]);
    }
  }
  return std::nullopt;
}

// Subcommands of CLIENT that are answered once, and leave the connection as it is, but for
// TRACKING; MAINT_NOTIFICATIONS asks for pushes. Not REPLY.
constexpr std::string_view kKnownClient =
    "id info list getname setname setinfo kill pause help unpause unblock getredir "
    "trackinginfo no-evict no-touch tracking caching maint_notifications";

// What changes nothing of who may do what. Any other subcommand of ACL and CONFIG, also one that
// the guard has not heard of, may: ACL SETUSER, DELUSER, LOAD. CONFIG SET of what is in
// kUserSettings.
constexpr std::string_view kHarmlessServer =
    "whoami getuser list users cat dryrun log genpass help save get resetstat rewrite";

// Of the settings of Redis 7.0 those that say something of users.
constexpr std::string_view kUserSettings = "requirepass aclfile acl-pubsub-default";

// Redis refuses CLIENT alone.
bool is_known_client(Arguments arguments) {
  return arguments.size() > 1 && is_any_of(arguments[1], kKnownClient);
}

// CLIENT CAPA REDIRECT; of other capabilities it is not known what they change.
bool is_redirecting(Arguments arguments) {
  return arguments.size() == 3 && is_word(arguments[1], "capa") &&
         is_word(arguments[2], "redirect");
}

// CONFIG SET name value [name value ...]
bool sets_users(Arguments arguments) {
  for (std::size_t i = 2; i < arguments.size(); i += 2) {
    if (is_any_of(arguments[i], kUserSettings)) {
      return true;
    }
  }
  return false;
}

// CLIENT PAUSE ms [WRITE|ALL]: what is paused for writes alone still answers reads.
bool pauses_reads(Arguments arguments) {
  const bool for_writes_alone = arguments.size() == 4 && is_word(arguments[3], "write");
  return arguments.size() > 2 && is_word(arguments[1], "pause") && !for_writes_alone;
}

}  // namespace

std::optional<StateChange> state_change_of(const Command& command,
                                           Arguments arguments,
                                           bool may_be_in_multi) {
  StateChange change;
  switch (command.role) {
    case Role::select:
      change = {.kind = ChangeKind::select, .db = db_of(arguments)};
      break;
    case Role::auth:
      change = auth_of(arguments);
      break;
    case Role::hello:
      if (arguments.size() == 1) {
        return std::nullopt;
      }
      change = hello_of(arguments);
      break;
    case Role::multi:
      return StateChange{.kind = ChangeKind::multi};
    case Role::end_multi:
      return StateChange{.kind = ChangeKind::end_multi};
    case Role::watch:
      return StateChange{.kind = ChangeKind::watch};
    case Role::unwatch:
      return StateChange{.kind = ChangeKind::unwatch};
    case Role::redirect:
      change = {.kind = redirection_of(command)};
      break;
    case Role::reset:
      return StateChange{.kind = ChangeKind::reset};
    case Role::subscribe:
      return subscribe_of(command, arguments);
    case Role::server:
    case Role::client:
      if (changes_server(command, arguments)) {
        return StateChange{.kind = ChangeKind::server, .for_all_clients = true};
      }
      if (const auto tracking = tracking_of(command, arguments)) {
        change = *tracking;
        break;
      }
      if (command.role == Role::client && is_redirecting(arguments)) {
        return StateChange{.kind = ChangeKind::redirects};
      }
      if (command.role == Role::client && !is_known_client(arguments)) {
        return StateChange{.kind = ChangeKind::lasting};
      }
      return command.role == Role::client ? label_of(arguments) : std::nullopt;
    default:
      return std::nullopt;
  }
  if (may_be_in_multi && change.kind != ChangeKind::unclear) {
    // MULTI itself may be refused, and then HELLO, too, after its AUTH has been taken: not even a
    // refusal says that nothing has changed.
    const bool may_be_half_done = change.kind == ChangeKind::hello && change.authenticates;
    return StateChange{.kind = may_be_half_done ? ChangeKind::unclear : ChangeKind::unknown};
  }
  return change;
}

std::optional<ReplyMode> reply_mode_of(const Command& command, Arguments arguments) {
  if (command.role != Role::client || arguments.size() != 3 || !is_word(arguments[1], "reply")) {
    return std::nullopt;
  }
  if (is_word(arguments[2], "on")) {
    return ReplyMode::on;
  }
  if (is_word(arguments[2], "off")) {
    return ReplyMode::off;
  }
  if (is_word(arguments[2], "skip")) {
    return ReplyMode::skip;
  }
  return std::nullopt;
}

bool changes_server(const Command& command, Arguments arguments) {
  switch (command.role) {
    case Role::server:
      if (command.name == "config" && arguments.size() > 1 && is_word(arguments[1], "set")) {
        return sets_users(arguments);
      }
      return arguments.size() > 1 && !is_any_of(arguments[1], kHarmlessServer);
    case Role::client:
      return pauses_reads(arguments);
    default:
      return false;
  }
}

bool ends_placing(const Command& command, Arguments arguments) {
  switch (command.role) {
    case Role::unplaced:
      return true;
    case Role::client:
      return reply_mode_of(command, arguments).has_value();
    case Role::script:
      return arguments.size() > 1 && is_word(arguments[1], "debug");
    default:
      return false;
  }
}

bool makes_raw(const Command& command) {
  return command.name == "sync" || command.name == "psync";
}

bool may_change_connection(const Command& command, Arguments arguments) {
  switch (command.role) {
    case Role::client:
      return !is_known_client(arguments) || is_word(arguments[1], "tracking");
    case Role::script:
      return arguments.size() < 2 || ends_placing(command, arguments);
    default:
      return changes_connection(command.role) || ends_placing(command, arguments);
  }
}

}  // namespace cuckooguard::redis
