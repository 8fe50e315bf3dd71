#include "upstream/control.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <string_view>
#include <utility>

#include <hiredis/hiredis.h>
#include <sys/time.h>

namespace cuckooguard::upstream {
namespace {

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

Reply ask(redisContext& redis, const std::vector<std::string>& words) {
  std::vector<const char*> arguments;
  std::vector<std::size_t> lengths;
  for (const std::string& word : words) {
    arguments.push_back(word.data());
    lengths.push_back(word.size());
  }
  return Reply(static_cast<redisReply*>(
      redisCommandArgv(&redis, static_cast<int>(words.size()), arguments.data(), lengths.data())));
}

timeval to_timeval(std::chrono::milliseconds duration) {
  return {.tv_sec = duration.count() / 1000, .tv_usec = duration.count() % 1000 * 1000};
}

std::vector<std::string> strings_of(const redisReply& reply) {
  if (reply.type == REDIS_REPLY_STRING || reply.type == REDIS_REPLY_STATUS) {
    return {std::string(reply.str, reply.len)};
  }
  std::vector<std::string> strings;
  for (std::size_t i = 0; reply.type == REDIS_REPLY_ARRAY && i < reply.elements; ++i) {
    const redisReply& element = *reply.element[i];
    if (element.type == REDIS_REPLY_STRING || element.type == REDIS_REPLY_STATUS) {
      strings.emplace_back(element.str, element.len);
    }
  }
  return strings;
}

// The reply is a list of name, value, name, value.
AclUser user_of(const redisReply& reply) {
  AclUser user;
  for (std::size_t i = 0; i + 1 < reply.elements; i += 2) {
    const std::string_view name(reply.element[i]->str, reply.element[i]->len);
    const redisReply& value = *reply.element[i + 1];
    if (name == "flags") {
      user.flags = strings_of(value);
    } else if (name == "commands" && value.type == REDIS_REPLY_STRING) {
      user.commands.assign(value.str, value.len);
    } else if (name == "keys") {
      user.keys = strings_of(value);
    } else if (name == "selectors") {
      user.has_selectors = value.elements > 0;
    }
  }
  return user;
}

std::string read_secret(const std::string& path) {
  std::ifstream file(path);
  std::string secret;
  std::getline(file, secret);
  return secret;
}

constexpr const char* kDefaultUser = "default";

}  // namespace

UserFacts facts_of(const std::string& name, const AclUser& user) {
  const auto has = [&user](std::string_view flag) {
    return std::ranges::find(user.flags, flag) != user.flags.end();
  };
  const bool every_key = std::ranges::any_of(
      user.keys, [](const std::string& pattern) { return pattern == "~*" || pattern == "*"; });
  // A command list that says more than "everything" has taken something away again.
  const bool every_command = user.commands == "+@all";
  return {.name = name,
          .unrestricted = has("on") && every_key && every_command,
          .needs_no_password = has("on") && has("nopass")};
}

void Control::Close::operator()(redisContext* context) const {
  redisFree(context);
}

Control::Control(const config::Upstream& settings, Calls calls)
    : settings_(settings), calls_(std::move(calls)) {}

Control::~Control() = default;

void Control::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Control::refresh() {
  {
    const std::lock_guard lock(mutex_);
    refresh_ = true;
  }
  wake_.notify_all();
}

void Control::run(const std::stop_token& stop) {
  Redis redis;
  while (!stop.stop_requested()) {
    std::string why;
    if (!redis) {
      redis = connect(why);
    }
    if (redis && !ask_users(*redis)) {
      why = redis->errstr;
      redis.reset();
    }
    tell_reachable(redis != nullptr, why);
    std::unique_lock lock(mutex_);
    const std::chrono::milliseconds pause = redis ? std::chrono::milliseconds(kEvery) : kRetryEvery;
    wake_.wait_for(lock, stop, pause, [this] { return refresh_; });
    refresh_ = false;
  }
}

Control::Redis Control::connect(std::string& why) const {
  const timeval timeout = to_timeval(settings_.connect_timeout);
  const config::Address& address = settings_.address;
  Redis redis(address.is_unix()
                  ? redisConnectUnixWithTimeout(address.unix_path.c_str(), timeout)
                  : redisConnectWithTimeout(address.host.c_str(), address.port, timeout));
  if (!redis || redis->err != 0) {
    why = redis ? redis->errstr : "out of memory";
    return nullptr;
  }
  redisSetTimeout(redis.get(), to_timeval(kCallTimeout));
  const config::Control& control = settings_.control;
  const std::string password =
      control.password_file.empty() ? control.password : read_secret(control.password_file);
  if (!password.empty()) {
    const std::string user = control.username.empty() ? kDefaultUser : control.username;
    const Reply reply = ask(*redis, {"AUTH", user, password});
    if (!reply || reply->type == REDIS_REPLY_ERROR) {
      why = reply ? reply->str : redis->errstr;
      return nullptr;
    }
  }
  return redis;
}

// False if the connection is of no more use. A Redis that refuses to tell (NOAUTH, NOPERM) is one
// without known users.
bool Control::ask_users(redisContext& redis) {
  const Reply reply = ask(redis, {"ACL", "GETUSER", kDefaultUser});
  if (!reply) {
    return false;
  }
  std::vector<UserFacts> users;
  if (reply->type == REDIS_REPLY_ARRAY) {
    users.push_back(facts_of(kDefaultUser, user_of(*reply)));
  }
  calls_.on_users(std::move(users));
  return true;
}

void Control::tell_reachable(bool reachable, const std::string& why) {
  if (told_ && reachable == reachable_) {
    return;
  }
  told_ = true;
  reachable_ = reachable;
  calls_.on_reachable(reachable, why);
}

}  // namespace cuckooguard::upstream
