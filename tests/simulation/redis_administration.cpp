// The commands of the simulated Redis that attackers and operators use: no more of each than they
// need.
#include <cstdlib>

#include "simulation/redis_connection.h"
#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
namespace {

std::string upper(std::string text) {
  for (char& byte : text) {
    byte = byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - 'a' + 'A') : byte;
  }
  return text;
}

const std::string kOk = simple("OK");
const std::string kSyntax = error("ERR syntax error");

}  // namespace

std::string RedisConnection::strlen(const Words& words) {
  const Value* const value = find(words[1]);
  return integer(value == nullptr ? 0 : static_cast<long long>(value->text.size()));
}

// NOLINTNEXTLINE(readability-make-member-function-const): of the table's type
std::string RedisConnection::publish(const Words& words) {
  store_.published.emplace_back(words[1], words[2]);
  return integer(0);
}

// return redis.error_reply('...'); of everything else the value is nil.
// NOLINTNEXTLINE(readability-make-member-function-const): of the table's type
std::string RedisConnection::eval(const Words& words) {
  constexpr std::string_view kError = "return redis.error_reply('";
  if (words[1].starts_with(kError)) {
    const std::string text = words[1].substr(kError.size());
    return error(text.substr(0, text.find('\'')));
  }
  return nil(standing_.version);
}

std::string RedisConnection::acl(const Words& words) {
  const std::string word = upper(words[1]);
  if (word == "WHOAMI") {
    return bulk(standing_.user);
  }
  if ((store_.users.at(standing_.user).rights & kAdminRight) == 0) {
    return error("NOPERM this user has no permissions to run the 'acl|" + words[1] + "' command");
  }
  if (word == "SETUSER") {
    return acl_setuser(words);
  }
  if (word == "DELUSER" && words.size() > 2) {
    if (words[2] == "default") {
      return error("ERR The 'default' user cannot be removed");
    }
    return integer(static_cast<long long>(store_.users.erase(words[2])));
  }
  return error("ERR This Redis instance is not configured to use an ACL file.");
}

// ACL SETUSER name [>password | nopass | -@all | +@all | +@read]
std::string RedisConnection::acl_setuser(const Words& words) {
  if (words.size() < 3) {
    return error("ERR wrong number of arguments for 'acl|setuser' command");
  }
  RedisUser user{.password = "nobody's", .rights = 0};
  if (const auto found = store_.users.find(words[2]); found != store_.users.end()) {
    user = found->second;
  }
  for (auto rule = words.begin() + 3; rule != words.end(); ++rule) {
    if (rule->starts_with('>')) {
      user.password = rule->substr(1);
    } else if (*rule == "nopass") {
      user.password.clear();
    } else if (*rule == "-@all" || *rule == "+@all") {
      user.rights = rule->front() == '-' ? 0U : kAllRights;
    } else if (*rule == "+@read") {
      user.rights |= kReadRight;
    } else {
      return error("ERR Error in ACL SETUSER modifier '" + *rule + "': Syntax error");
    }
  }
  store_.users[words[2]] = user;
  return kOk;
}

std::string RedisConnection::config(const Words& words) {
  if (words.size() == 4 && upper(words[1]) == "SET" && words[2] == "requirepass") {
    store_.users["default"].password = words[3];
    return kOk;
  }
  return error("ERR Unknown option or number of arguments for CONFIG SET - '" + words.back() + "'");
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): of the table's type
std::string RedisConnection::confirm(const Words&) {
  return kOk;
}

std::string RedisConnection::client_of_attackers(const Words& words) {
  const std::string word = upper(words[1]);
  if (word == "ID" && words.size() == 2) {
    return integer(static_cast<long long>(id_));
  }
  if (word == "TRACKING" && words.size() > 2) {
    return track(words);
  }
  const bool is_administration =
      word == "PAUSE" || word == "UNPAUSE" || word == "NO-EVICT" || word == "KILL";
  if (!is_administration) {
    return error("ERR unknown subcommand '" + words[1] + "'. Try CLIENT HELP.");
  }
  if ((store_.users.at(standing_.user).rights & kAdminRight) == 0) {
    return error("NOPERM this user has no permissions to run the 'client|" + words[1] +
                 "' command");
  }
  if (word == "PAUSE" && words.size() > 2) {
    store_.writes_paused_until =
        store_.now + std::chrono::milliseconds(std::strtol(words[2].c_str(), nullptr, 10));
  } else if (word == "UNPAUSE") {
    store_.writes_paused_until = {};
  } else if (word == "KILL") {
    return error("ERR No such client");
  }
  return kOk;
}

// CLIENT TRACKING ON|OFF [REDIRECT id] [BCAST]
std::string RedisConnection::track(const Words& words) {
  Tracking next{.is_on = upper(words[2]) == "ON"};
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::string word = upper(words[i]);
    if (word == "BCAST") {
      next.broadcasts = true;
    } else if (word == "REDIRECT" && i + 1 < words.size()) {
      next.to = std::strtoull(words[++i].c_str(), nullptr, 10);
      if (!store_.connection_ids.contains(next.to)) {
        return error("ERR The client ID you want redirect to does not exist");
      }
    } else {
      return kSyntax;
    }
  }
  if (next.is_on && standing_.version == 2 && next.to == 0) {
    return error(
        "ERR Client tracking can be switched on only in RESP3 mode, or with the REDIRECT option");
  }
  tracking_ = next.is_on ? next : Tracking{};
  return kOk;
}

bool RedisConnection::takes_notice_of(const std::string& key) {
  return tracking_.is_on && (tracking_.broadcasts || tracking_.keys.erase(key) > 0);
}

}  // namespace cuckooguard::simulation
