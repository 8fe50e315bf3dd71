// Reads ACL GETUSER and lines of ACL LIST, and judges of them what is certain.
//
// Must: a key access is never more than Redis gives for every key with the prefix; "every command"
// is never said of a user from whom something was taken away again. In doubt: less. A user whom
// Valkey 9.1 keeps out of some databases may nothing.
// Only the root permissions count: what a selector adds is left out, which is on the safe side.
//
// Threads: pure functions. Errors: a strange shape is a user who may nothing.
// Source: https://redis.io/commands/acl-getuser; recorded from Redis 7.0.15, Valkey 9.1.2, and
// Redis 6's form, whose keys are a list of bare patterns.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/reading.h"

struct redisReply;

namespace cuckooguard::upstream {

struct AclUser {
  std::vector<std::string> flags;
  std::string commands;
  std::vector<std::string> keys;  // as in Redis 7: ~pattern, %R~pattern
  bool has_selectors = false;     // or other rules beyond these

  bool has(std::string_view flag) const;
  bool needs_no_password() const { return has("on") && has("nopass"); }
  bool operator==(const AclUser&) const = default;
};

AclUser acl_user_of(const redisReply& reply);

// Of a line of ACL LIST.
std::string_view acl_name_in(std::string_view line);
// The same as acl_user_of(); nullopt: it has a word that is not known here.
std::optional<AclUser> acl_user_in(std::string_view line);

bool may_run_every_command(const AclUser& user);

// False: the user may run nothing but what is listed one by one, and that is all in `harmless`.
bool may_write(const AclUser& user, const std::set<std::string, std::less<>>& harmless);

// On every key that begins with one of `prefixes`: the least of all.
redis::KeyAccess key_access(const AclUser& user, std::span<const std::string> prefixes);

// False: for sure it may read no key that begins with one of `prefixes`.
bool may_read_some_key(const AclUser& user, std::span<const std::string> prefixes);

}  // namespace cuckooguard::upstream
