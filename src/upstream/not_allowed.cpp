#include "upstream/not_allowed.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>
#include <vector>

namespace cuckooguard::upstream {
namespace {

using redis::ControlReport;
using State = ControlReport::State;

constexpr std::string_view kAllPass = "all keys pass";
constexpr std::string_view kSomePass = "all keys pass for users who may not run all commands";
constexpr std::string_view kStateUnknown =
    "GETEX of absent keys passes, and the guard cannot detect when Redis is loading or busy";

// What is lacking: the rules that give it, and what holds as long as it does.
struct Lack {
  std::string_view rules;
  std::string_view effect;
  bool passes = false;
};

bool asks_for_users(const config::Upstream& settings) {
  return settings.acl == config::Acl::ask;
}

std::string_view user_of(const config::Upstream& settings) {
  return settings.control.username.empty() ? std::string_view("default")
                                           : std::string_view(settings.control.username);
}

bool are_commands_unknown(const redis::UserAccess& user) {
  const bool may_reach_keys = std::ranges::any_of(
      user.namespaces, [](redis::KeyAccess access) { return access != redis::KeyAccess::none; });
  return !user.knows_commands && may_reach_keys;
}

Lack lack_of(Question question, const config::Upstream& settings, const Answers& answers) {
  const bool asks = asks_for_users(settings);
  const bool is_somebody_unknown =
      asks && std::ranges::any_of(answers.reading.users.restricted | std::views::values,
                                  are_commands_unknown);
  const bool is_kind_unknown = asks && !answers.is_cluster;
  switch (question) {
    case Question::users:
      return {.rules = "+acl|getuser", .effect = kAllPass, .passes = true};
    case Question::commands_of_users:
      return {.rules = "+acl|dryrun", .effect = kSomePass, .passes = is_somebody_unknown};
    case Question::commands:
      return {.rules = "+command",
              .effect = is_somebody_unknown
                            ? kSomePass
                            : "the guard also answers commands that this Redis has renamed",
              .passes = is_somebody_unknown};
    case Question::state:
      return {.rules = "+info +dbsize",
              .effect = is_kind_unknown ? kAllPass : kStateUnknown,
              .passes = is_kind_unknown};
    case Question::takes_writes:
      return {.rules = "+info",
              .effect = is_kind_unknown ? kAllPass : "GETEX of absent keys passes",
              .passes = is_kind_unknown};
    case Question::slots:
      return {.rules = "+cluster|nodes +cluster|info", .effect = kAllPass, .passes = true};
    case Question::idle_timeout:
      break;
  }
  return {.rules = "+config|get",
          .effect = "Redis's own `timeout` may close clients that read only absent keys"};
}

State state_of(bool passes) {
  return passes ? State::not_allowed : State::limited;
}

ControlReport without_login(const config::Upstream& settings, std::string why) {
  const bool is_in_vain = !settings.control.password_file.empty();
  std::string hint = is_in_vain ? "upstream.control.password_file is empty or unreadable"
                                : "set upstream.control (username, password_file)";
  hint.append("; until then ").append(asks_for_users(settings) ? kAllPass : kStateUnknown);
  return {
      .state = state_of(asks_for_users(settings)), .why = std::move(why), .hint = std::move(hint)};
}

// Redis 5 and its like: nothing that it could be allowed helps.
ControlReport without_users(std::string why) {
  return {.state = State::not_allowed,
          .why = std::move(why),
          .hint =
              "set upstream.acl: trust if all clients of this Redis may read the guarded keys; "
              "until then all keys pass"};
}

ControlReport wrong_kind(bool is_cluster) {
  constexpr std::string_view kIsCluster =
      "this Redis is a cluster node (cluster_enabled:1), but upstream.address is for a Redis "
      "without cluster mode";
  constexpr std::string_view kIsNone =
      "this Redis runs without cluster mode (cluster_enabled:0), but is listed in upstream.cluster";
  return {
      .state = State::unsupported,
      .why = std::string(is_cluster ? kIsCluster : kIsNone),
      .hint =
          std::string(is_cluster ? "set upstream.cluster and listen.nodes"
                                 : "set upstream.address instead of upstream.cluster")
              .append("; until then the guard forwards every command and answers nothing itself")};
}

// Each once.
void append(std::string& text, std::string_view separator, std::string_view more) {
  if (text.find(more) == std::string::npos) {
    text.append(text.empty() ? std::string_view() : separator).append(more);
  }
}

}  // namespace

bool is_about_rights(std::string_view error) {
  return error.starts_with("NOPERM ") || error.starts_with("NOAUTH ");
}

bool is_of_wrong_kind(const config::Upstream& settings, const Answers& answers) {
  return answers.is_cluster && *answers.is_cluster == settings.cluster.empty();
}

bool is_about_login(std::string_view error) {
  constexpr std::array<std::string_view, 3> kOfRedisItself{
      "ERR max number of clients", "DENIED ", "LOADING "};
  return std::ranges::none_of(kOfRedisItself,
                              [&](std::string_view words) { return error.starts_with(words); });
}

ControlReport not_logged_in(const config::Upstream& settings, std::string_view error) {
  std::string hint = "correct upstream.control (username, password_file)";
  if (!settings.control.username.empty()) {
    hint.append(", or ACL SETUSER ").append(user_of(settings)).append(" on >PASSWORD ");
    hint.append(kControlRights);
  }
  hint.append("; until then ").append(kAllPass);
  return {.state = State::not_allowed, .why = std::string(error), .hint = std::move(hint)};
}

ControlReport not_allowed(const config::Upstream& settings, const Answers& answers) {
  if (is_of_wrong_kind(settings, answers)) {
    return wrong_kind(answers.is_cluster.value_or(false));
  }
  const std::vector<RefusedQuestion>& refused = answers.refused;
  const auto no_login = std::ranges::find_if(
      refused, [](const RefusedQuestion& each) { return each.error.starts_with("NOAUTH "); });
  if (no_login != refused.end()) {
    return without_login(settings, no_login->error);
  }
  const auto no_users = std::ranges::find_if(
      refused, [](const RefusedQuestion& each) { return !is_about_rights(each.error); });
  if (no_users != refused.end()) {
    return without_users(no_users->error);
  }
  ControlReport all{.state = State::allowed};
  std::string rules;
  std::string effects;
  for (const RefusedQuestion& each : refused) {
    const Lack lack = lack_of(each.question, settings, answers);
    append(all.why, "; ", each.error);
    append(rules, " ", lack.rules);
    if (lack.effect == kAllPass) {
      effects = kAllPass;  // nothing else matters then
    } else if (effects != kAllPass) {
      append(effects, "; ", lack.effect);
    }
    all.state = std::max(all.state, state_of(lack.passes));
  }
  if (!rules.empty()) {
    all.hint.append("ACL SETUSER ").append(user_of(settings)).append(" ").append(rules);
    all.hint.append("; until then ").append(effects);
  }
  return all;
}

}  // namespace cuckooguard::upstream
