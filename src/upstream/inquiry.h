// What is asked of Redis on one connection, and what is remembered between two inquiries, so that
// the second is cheap: HELLO, DBSIZE, CONFIG GET, INFO and ACL LIST in one write. Redis 7 keeps the
// text of each user's rights: ACL LIST takes 2 us for each user, GETUSER 0.1 to 0.2 ms. So GETUSER
// is only asked in a connection's first inquiry, before Redis 7, where ACL LIST is not permitted,
// for a user whose line has a word that is not known here, and where Redis has more than
// kListedPerAsked users for each one that is asked for: for the first ones in the same write, for
// the others a few at a time.
//
//   once            COMMAND, COMMAND INFO name ...
//   each time       HELLO            cluster? master?   needs no permission; before Redis 6: INFO
//                   DBSIZE           -LOADING, -MASTERDOWN, -BUSY, or it serves. Not permitted:
//                                    INFO
//                   INFO             does it take writes? From Redis 7 the sections that tell
//                   CONFIG GET       timeout: when does it close silent clients?
//                   ACL LIST         all users, or
//                   ACL GETUSER      for each user
//   of a cluster    CLUSTER NODES    each time, and INFO: which slots does it serve?
//   if that differs ACL DRYRUN       for each answerable command, in one pipeline; from Redis 7
//                   ACL GETUSER      at its end: DRYRUN was about the rights that GETUSER has named
//
// Must: what DRYRUN says is remembered together with the rights that it refers to. A user whose
//   rights change in between is unknown in this inquiry, and is asked for again in the next.
//
// A user who may run every command needs no further questions. For a user with selectors, DRYRUN
// cannot show the root permissions: such a user is known only if those are "+@all". DRYRUN names
// keys that begin like the user's own and end at random, so that no rule can have been written for
// them.
//
// What Redis refuses for want of a right is asked again each time, DRYRUN for one command: a right
// that is granted counts at once.
//
// Threads: its own. Lifetimes: the connection outlives this.
// Errors: nullopt if the connection is lost. What Redis refuses to say is unknown, and allows
//   nothing.
// Limits: each call waits at most Control::kCallTimeout.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/reading.h"
#include "upstream/answers.h"
#include "upstream/redis_client.h"
#include "upstream/server_reply.h"

struct redisReply;

namespace cuckooguard::upstream {

// Reads what Redis says of its commands: COMMAND, and COMMAND INFO name ...
//
// COMMAND calls a renamed command by its first name, so that it cannot tell which names are there:
// that is what COMMAND INFO is asked for.
//
// Threads: pure functions. Errors: an entry of a strange shape is left out of the list, and is not
// there by its name. Limits: kCommandsMax entries are read.
// Source: https://redis.io/commands/command; recorded from Redis 7.0.15, and Redis 6's shorter
// form.

inline constexpr std::size_t kCommandsMax = 4096;

struct ListedCommand {
  std::string name;            // lower case
  int arity = 0;               // the name included; negative: at least so many
  bool writes_no_key = false;  // for sure, nor do its subcommands
  redis::Command command;      // as redis::Commands has it: without a name
};

std::vector<ListedCommand> commands_of(const redisReply& reply);

// Those that the built-in table lacks.
std::map<std::string, redis::Command, std::less<>> beyond_table(
    std::span<const ListedCommand> commands);

// Which of `commands` are there, by their place in it, from the reply to COMMAND INFO with their
// names.
redis::CommandSet names_there(const redisReply& reply, std::span<const redis::Command> commands);

// Reads ACL GETUSER and lines of ACL LIST, and judges of them what is certain.
//
// Must: a key access is never more than Redis gives for every key with the prefix; "every command"
//   is never said of a user from whom something was taken away again. In doubt: less. A user whom
//   Valkey 9.1 keeps out of some databases is allowed nothing. Only the root permissions count:
//   what a selector adds is left out, which is on the safe side.
//
// Threads: pure functions. Errors: a strange shape is a user who may nothing.
// Source: https://redis.io/commands/acl-getuser; recorded from Redis 7.0.15, Valkey 9.1.2, and
// Redis 6's form, whose keys are a list of bare patterns.
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

// The name in a line of ACL LIST.
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

class Inquiry {
 public:
  Inquiry(RedisClient& redis, const Questions& questions);

  // `users`: whom to ask for.
  std::optional<Answers> ask(std::span<const std::string> users);

  // One of them in ACL LIST costs so much less than one GETUSER.
  static constexpr std::size_t kListedPerAsked = 64;

 private:
  // Of users: Redis 7.0 takes 0.1 to 0.2 ms for each, and serves nobody else until it has answered
  // all that it has read of a connection.
  static constexpr std::size_t kUsersAtOnce = 16;

  struct Known {
    AclUser acl;
    redis::UserAccess access;
  };
  struct Tried {
    bool is_told = false;     // else Redis does not say
    bool is_changed = false;  // the rights that it is about are not those that were asked for
    redis::CommandSet may{};  // of those that may be answered
  };

  bool ask_commands(Answers& answers);
  bool learn_kind(const redisReply& hello, Answers& answers);
  bool learn_state(const redisReply& size, const redisReply& info, Answers& answers);
  void note_refusals(const redisReply& size,
                     const redisReply& timeout,
                     const redisReply& info,
                     Answers& answers) const;
  bool learn_slots(Answers& answers);  // whose replies are to come
  void learn_whether_to_try(const redisReply& dryrun);
  bool learn_users(std::span<const std::string> names,
                   Answers& answers);  // whose replies are to come
  void append_users(std::span<const std::string> names);
  bool learn_list(std::span<const std::string> names, Answers& answers);  // likewise
  bool ask_each(std::span<const std::string> names, Answers& answers);
  bool learn_user(const std::string& name, const redisReply& getuser, redis::Users& users);
  bool learn_rights(const std::string& name, AclUser acl, redis::Users& users);
  // Nullopt: its rights were changed meanwhile. False: the connection failed.
  std::optional<bool> ask_what_it_may(const std::string& name,
                                      const AclUser& acl,
                                      redis::UserAccess& access);
  std::optional<bool> ask_commands(const std::string& name,
                                   const AclUser& acl,
                                   redis::UserAccess& access);  // likewise
  // On keys that begin with `prefix`; nullopt: the connection failed.
  std::optional<Tried> try_commands(const std::string& user,
                                    const AclUser& acl,
                                    const std::string& prefix);
  std::optional<std::string> prefix_with(const std::vector<redis::KeyAccess>& keys,
                                         redis::KeyAccess access) const;

  RedisClient& redis_;
  const Questions& questions_;
  std::string random_;
  std::optional<ServerKind> kind_;
  std::map<std::string, int, std::less<>> arity_;  // of all commands
  std::set<std::string, std::less<>> harmless_;    // commands that surely write no key
  std::map<std::string, Known> known_;
  bool has_asked_commands_ = false;
  bool may_list_ = true;
  std::string no_commands_;  // COMMAND was refused for want of a right: Redis's words
  std::string no_dryrun_;    // and so was ACL DRYRUN
  std::string no_slots_;     // or CLUSTER NODES, or CLUSTER INFO
};

}  // namespace cuckooguard::upstream
