#include "cli/try_redis.h"

#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include "cli/redis_call.h"
#include "config/password_file.h"
#include "upstream/not_allowed.h"

namespace cuckooguard::cli {
namespace {

std::string error_of(const redisReply& reply) {
  return reply.type == REDIS_REPLY_ERROR ? std::string(reply.str, reply.len) : std::string();
}

std::string set_user(const config::Upstream& redis) {
  const std::string& user = redis.control.username;
  return fmt::format(
      "In redis-cli, with the password in place of PASSWORD{}:\n"
      "  ACL SETUSER {} on >PASSWORD resetkeys -@all {}",
      user.empty() ? ", and then --redis-user guard with its --redis-password-file" : "",
      user.empty() ? "guard" : user,
      upstream::kControlRights);
}

std::vector<std::string> log_in(RedisCall& connection, const config::Upstream& redis) {
  const std::string& user = redis.control.username;
  const std::string password =
      config::password_of(redis.control.password_file, redis.control.password);
  if (password.empty()) {
    return {};
  }
  std::vector<std::string_view> words{"AUTH"};
  if (!user.empty()) {
    words.emplace_back(user);
  }
  words.emplace_back(password);
  const auto reply = connection.call(words);
  const std::string error = reply ? error_of(**reply) : reply.error();
  if (error.empty() || !reply || !upstream::is_about_login(error)) {
    return error.empty() ? std::vector<std::string>() : std::vector<std::string>{error};
  }
  return {error, set_user(redis)};
}

}  // namespace

std::vector<std::string> try_redis(const config::Upstream& redis) {
  using upstream::Question;
  static const std::vector<std::pair<Question, std::vector<std::string_view>>> kAll{
      {Question::users, {"ACL", "GETUSER", "default"}},
      {Question::commands_of_users, {"ACL", "DRYRUN", "default", "PING"}},
      {Question::commands, {"COMMAND", "INFO", "GET"}},
      {Question::state, {"DBSIZE"}},
      {Question::takes_writes, {"INFO"}},
      {Question::idle_timeout, {"CONFIG", "GET", "timeout"}}};
  auto connection = RedisCall::open(redis.address, std::chrono::seconds(2));
  if (!connection) {
    return {connection.error()};
  }
  if (std::vector<std::string> refused = log_in(*connection, redis); !refused.empty()) {
    return refused;
  }
  upstream::Answers answers{.is_cluster = false};
  for (const auto& [question, words] : kAll) {
    if (redis.acl == config::Acl::trust && words.front() == "ACL") {
      continue;
    }
    const auto reply = connection->call(words);
    if (!reply) {
      return {reply.error()};
    }
    const std::string error = error_of(**reply);
    if (upstream::is_about_rights(error)) {
      answers.refused.push_back({.question = question, .error = error});
    } else if (question == Question::users && !error.empty()) {
      return {error,
              "if it cannot tell what its users may do: --acl trust, if all may read the keys"};
    }
    if (question == Question::takes_writes && (*reply)->type == REDIS_REPLY_STRING) {
      answers.is_cluster =
          std::string_view((*reply)->str, (*reply)->len).contains("cluster_enabled:1");
    }
  }
  const redis::ControlReport report = upstream::not_allowed(redis, answers);
  if (report.state == redis::ControlReport::State::allowed) {
    return {};
  }
  return {report.why, *answers.is_cluster ? report.hint : set_user(redis)};
}

}  // namespace cuckooguard::cli
