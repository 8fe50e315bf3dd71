// Reads ACL GETUSER, and judges of it what is certain.
//
// Must: a key access is never more than Redis gives for every key with the prefix; "every command"
// is never said of a user from whom something was taken away again. In doubt: less.
// Only the root permissions count: what a selector adds is left out, which is on the safe side.
//
// Called by: Inquiry. Threads: pure functions. Errors: a strange shape is a user who may nothing.
// Source: https://redis.io/commands/acl-getuser; recorded from Redis 7.0.15, and Redis 6's form,
// whose keys are a list of bare patterns.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "upstream/facts.h"

struct redisReply;

namespace cuckooguard::upstream {

struct AclUser {
  std::vector<std::string> flags;
  std::string commands;
  std::vector<std::string> keys;  // as in Redis 7: ~pattern, %R~pattern
  bool has_selectors = false;

  bool has(std::string_view flag) const;
  bool operator==(const AclUser&) const = default;
};

AclUser acl_user_of(const redisReply& reply);

bool may_run_every_command(const AclUser& user);

// On every key that begins with one of `prefixes`: the least of all.
KeyAccess key_access(const AclUser& user, std::span<const std::string> prefixes);

}  // namespace cuckooguard::upstream
