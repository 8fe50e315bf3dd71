#include "guard/own_commands.h"

#include "guard/process.h"
#include "redis/word.h"
#include "text/ascii.h"

namespace cuckooguard::guard {
namespace {

constexpr std::string_view kUnknownPrefix = "GUARD.";
constexpr std::string_view kNotLoggedIn = "NOAUTH Authentication required.";

// Why it is not known what a user may do.
struct Ignorance {
  std::string cause;
  bool passes = true;  // by itself, perhaps soon
};

Ignorance ignorance_of(const Call& call) {
  const redis::Snapshot& redis = call.redis;
  const redis::ControlReport& control = redis.control;
  const std::string remedy =
      control.state == redis::ControlReport::State::not_allowed ? "; " + control.hint : "";
  if (redis.is_lost) {
    return {"Redis is unreachable: " + redis.why_lost + remedy};
  }
  if (redis.availability != redis::Availability::available ||
      call.attempt.now >= redis.good_until) {
    return {"Redis does not respond"};
  }
  if (control.state == redis::ControlReport::State::unsupported) {
    return {.cause = control.why_keys_pass(), .passes = false};
  }
  if (!redis.users->refusal.empty()) {
    return {.cause = "Redis does not let the guard read user permissions (see upstream.control): " +
                     redis.users->refusal + remedy,
            .passes = false};
  }
  if (!call.guard.parts().facts.asks_for(call.client.user())) {
    return {.cause = "the guard tracks the permissions of at most " +
                     std::to_string(redis::Facts::kUsersToAskMax) + " users",
            .passes = false};
  }
  return {"Redis has not reported the permissions of this user yet"};
}

// As far as it can be relied upon; else `unknown`.
Client::Login known_login(const Call& call) {
  const Client& client = call.client;
  return client.may_rely_on(call.redis, call.attempt.now) || client.has_authenticated()
             ? client.login(call.redis)
             : Client::Login::unknown;
}

bool is_among(std::string_view user, std::span<const std::string> users) {
  return std::ranges::find(users, user) != users.end();
}

bool is_operator(const Call& call) {
  const Process* const process = call.guard.parts().process;
  return process != nullptr && is_among(call.client.user(), process->operators.users);
}

// `own` is a row's; one that ends with a dot is that of all names that begin with it.
bool is_name_of(std::string_view name, std::string_view own) {
  const bool is_longer = own.ends_with('.') && name.size() > own.size();
  return is_longer == own.ends_with('.') &&
         text::equals_in_any_case(name.substr(0, is_longer ? own.size() : name.size()), own);
}

}  // namespace

OwnDecision Call::integer(std::int64_t value) const {
  reply.clear();
  resp::append_integer(reply, value);
  return answer();
}

OwnDecision Call::simple(std::string_view text) const {
  reply.clear();
  resp::append_simple(reply, text);
  return answer();
}

OwnDecision Call::error(std::string_view line) const {
  reply.clear();
  resp::append_error(reply, line);
  return answer();
}

OwnDecision Call::error_of_arity() const {
  return error("ERR wrong number of arguments for '" + text::lower_case(name) + "' command");
}

OwnDecision Call::no_permission(std::string_view why) const {
  return error("NOPERM this user has no permissions to run the '" + text::lower_case(name) +
               "' command: " + std::string(why));
}

OwnDecision Call::hold() const {
  OwnDecision decision = for_redis_to_refuse();
  decision.action = OwnDecision::Action::hold_for_client;
  return decision;
}

// It may be in MULTI: then Redis's error aborts the transaction, and ours is what the client hears.
OwnDecision Call::for_redis_to_refuse() const {
  if (is_of_guard() || row.is_of_redis) {
    return {};
  }
  OwnDecision decision = commands.for_redis_to_refuse(arguments);
  const bool is_known = !name.ends_with('.');
  if (is_known && client.may_be_in_multi() && !client.is_silent() && !client.has_unread_replies()) {
    decision.action = OwnDecision::Action::ask;
    decision.asked = {
        .reply =
            [name = text::lower_case(name)](std::string_view redis, std::string& out) {
              if (!redis.starts_with("-ERR unknown command") && redis.ends_with("\r\n")) {
                out += redis;  // of a client without a login, say
              } else {
                resp::append_error(out,
                                   "ERR '" + name +
                                       "' of a filter of the guard is not allowed "
                                       "inside MULTI: the guard answers it, not Redis");
              }
              return std::unique_ptr<PromisedReply>();
            },
        .takes_errors = true};
  }
  return decision;
}

OwnDecision Call::ask(std::span<const std::string_view> words, AskedReply asked) const {
  commands.words_.assign(words.begin(), words.end());
  return {
      .action = OwnDecision::Action::ask, .instead = commands.words_, .asked = std::move(asked)};
}

OwnDecision Call::wait_for_rights() const {
  if (!is_of_guard()) {
    return attempt.may_wait() ? hold()
                              : error("ERR rights unknown: GUARD.CHECK returns the reason");
  }
  const Ignorance ignorance = ignorance_of(*this);
  return attempt.may_wait() && ignorance.passes ? hold()
                                                : error("ERR rights unknown: " + ignorance.cause);
}

std::optional<std::string_view> Call::refusal(std::uint32_t ns, std::string_view in_doubt) const {
  static const std::size_t kGet = redis::command_index(redis::find_command("get"));
  using Refusal = redis::UserAccess::Refusal;
  if (access != nullptr && access->is_unrestricted) {
    return std::nullopt;
  }
  switch (access != nullptr ? access->refusal(kGet, ns) : Refusal::unknown) {
    case Refusal::none:
      break;
    case Refusal::key:
      return "NOPERM this user has no permissions to access one of the keys used as arguments";
    case Refusal::command:
      return "NOPERM this user has no permissions to run the 'get' command";
    case Refusal::unknown:
      return in_doubt;
  }
  return std::nullopt;
}

Reader Call::reader() const {
  return {.db = client.db(),
          .access = *access,
          .now = attempt.now,
          .read_at = attempt.since,
          .writes = client.writes()};
}

void OwnCommands::add(std::unique_ptr<CommandServer> server) {
  if (!server) {
    return;
  }
  for (const CommandRow& row : server->rows()) {
    redis::for_each_word(row.names, [&](std::string_view name) {
      const std::size_t letter = letter_of(name);
      served_[letter].push_back({.name = name, .row = row, .server = *server});
      lengths_[letter] |=
          name.ends_with('.') ? ~std::uint32_t{1} << name.size() : std::uint32_t{1} << name.size();
    });
  }
  servers_.push_back(std::move(server));
}

template <class Takes>
const OwnCommands::Served* OwnCommands::first_of(std::string_view name, Takes takes) const {
  if (!may_find(name)) {
    return nullptr;
  }
  const std::vector<Served>& all = served_[letter_of(name)];
  const auto found = std::ranges::find_if(
      all, [&](const Served& each) { return is_name_of(name, each.name) && takes(each); });
  return found == all.end() ? nullptr : &*found;
}

const OwnCommands::Served* OwnCommands::find_taken(Arguments arguments, TimePoint now) const {
  return first_of(arguments.front(),
                  [&](const Served& each) { return each.server.takes(each.row, arguments, now); });
}

bool OwnCommands::must_see_key(Arguments front) const {
  return front.size() == 1 && first_of(front.front(), [](const Served& each) {
                                return each.server.must_see_key();
                              }) != nullptr;
}

bool OwnCommands::may_take_large(Arguments front, const Client& client, TimePoint now) const {
  return !front.empty() && first_of(front.front(), [&](const Served& each) {
                             return each.server.may_take_large(each.row, front, client, now);
                           }) != nullptr;
}

OwnDecision OwnCommands::serve(const Served& served,
                               Arguments arguments,
                               Client& client,
                               const Attempt& attempt) {
  const redis::Snapshot& redis = guard_.facts();
  const bool is_reliable = client.may_rely_on(redis, attempt.now);
  const redis::UserAccess* const access = guard_.access_of(client, redis);
  const Call call{.row = served.row,
                  .name = served.name,
                  .arguments = arguments,
                  .client = client,
                  .attempt = attempt,
                  .guard = guard_,
                  .commands = *this,
                  .server = served.server,
                  .redis = redis,
                  .access = is_reliable ? access : nullptr,
                  .reply = reply_};
  if (served.server.is_of_another_db(call)) {
    return {};
  }
  if (call.is_left_to_redis()) {
    return call.for_redis_to_refuse();
  }
  if (call.must_be_held()) {
    return call.hold();
  }
  if (auto refused = refusal(call)) {
    return *std::move(refused);
  }
  return served.row.run(call);
}

// Why it is not run, or not yet.
std::optional<OwnDecision> OwnCommands::refusal(const Call& call) const {
  const CommandRow& row = call.row;
  const Client::Login login = known_login(call);
  if (row.needs != Needs::nothing && login == Client::Login::no) {
    return call.error(kNotLoggedIn);
  }
  const bool must_be_known = row.needs > Needs::no_refusal && row.needs < Needs::everything;
  if (must_be_known && login == Client::Login::unknown) {
    return call.wait_for_rights();
  }
  if (row.needs == Needs::everything) {
    if (call.access == nullptr) {
      return call.wait_for_rights();
    }
    if (!call.access->is_unrestricted && !call.server.trusts(call.client.user())) {
      return call.no_permission(
          "it is not allowed to run all commands on all keys, and is not listed in " +
          std::string(call.server.trusted()));
    }
  }
  if (call.arguments.size() < row.least || call.arguments.size() > row.most) {
    return call.error_of_arity();
  }
  if (row.needs == Needs::rights && call.access == nullptr) {
    return call.wait_for_rights();
  }
  if (row.needs == Needs::an_operator && !is_operator(call)) {
    return call.no_permission("it is not listed in admin.operators");
  }
  if (row.waits_for_promises && call.attempt.has_promises) {
    return call.hold();
  }
  return std::nullopt;
}

// As a command of which Redis knows nothing, also if it has a module that knows this one.
OwnDecision OwnCommands::for_redis_to_refuse(Arguments arguments) {
  name_.assign(kUnknownPrefix).append(arguments[0]);
  words_.assign(arguments.begin(), arguments.end());
  words_.front() = name_;
  return {.instead = words_};
}

std::string_view OwnCommands::unknown_to_redis(Arguments arguments, std::string_view chunk) {
  const auto name = static_cast<std::size_t>(arguments[0].data() - chunk.data());
  reply_.assign(chunk.substr(0, chunk.find('\n') + 1));
  reply_.append("$").append(std::to_string(kUnknownPrefix.size() + arguments[0].size()));
  reply_.append("\r\n").append(kUnknownPrefix).append(chunk.substr(name));
  return reply_;
}

}  // namespace cuckooguard::guard
