// What a command changes on its connection if Redis accepts it, read from its arguments.
//
// Forms that Redis should refuse are changes, too: they are forwarded like any other command, and
// if Redis should accept one after all, the guard no longer knows the connection's state and says
// so (kNoDb, `unclear`).
//
// Threads: plain values.
// Source: Redis 7.0.15 (db.c selectCommand, acl.c authCommand, networking.c helloCommand), asked by
// hand.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "redis/command_table.h"
#include "redis/subscriptions.h"
#include "resp/version.h"

namespace cuckooguard::redis {

enum class ChangeKind : std::uint8_t {
  select,        // `db`
  auth,          // `user`
  hello,         // `version`, and `user` if it `authenticates`
  multi,         //
  end_multi,     // EXEC, DISCARD: also the end of WATCH
  watch,         //
  unwatch,       //
  reset,         // back to how the connection began
  tracking_on,   // CLIENT TRACKING: Redis would send the client invalidations of what it has read
  tracking_off,  //
  subscribe,     // and unsubscribe: `confirmations` frames of `channels` instead of one reply
  server,        // nothing on the connection: `for_all_clients`
  // If Redis accepts it, nobody knows what has changed or will change: SELECT, AUTH or HELLO that
  // may have been sent inside MULTI, HELLO of another version.
  unknown,
  // The same, and not even RESET is known to end it: CLIENT subcommands that nobody here knows, and
  // Valkey's IMPORT-SOURCE.
  lasting,
  // What is left behind depends on Redis's release and cannot be told from its reply: AUTH or HELLO
  // of a form that Redis should refuse, HELLO with AUTH that may have been sent inside MULTI.
  unclear,
  label,      // nothing but `label`: CLIENT SETNAME, SETINFO
  readonly,   // of a cluster's replica: it answers reads, instead of with -MOVED
  readwrite,  // the end of that
  asking,     // for the next command: it may be of a slot that is on its way to this node
  redirects,  // Valkey's CLIENT CAPA REDIRECT: for good, of a replica -REDIRECT instead of replies
};

// The labels of a connection: CLIENT SETNAME, SETINFO and HELLO's SETNAME.
enum class Label : std::uint8_t { none, name, library, library_version };

// No namespace has this db.
inline constexpr int kNoDb = -1;

struct StateChange {
  ChangeKind kind = ChangeKind::unclear;
  resp::Version version = resp::Version::resp2;
  bool authenticates = false;
  // It may change what any user may do, or pause Redis (redis/facts.h).
  bool for_all_clients = false;
  int db = 0;
  std::string user{};
  std::string secret{};       // that `user` was proven with
  bool names_user = true;     // false: AUTH with the secret alone
  Label label = Label::none;  // HELLO may bring one, too
  std::string label_text{};
  ChannelKind channels = ChannelKind::plain;
  // 0: one for each subscription there is when Redis gets to it, at least one (UNSUBSCRIBE alone).
  std::uint32_t confirmations = 0;
};

// Nothing if the command changes nothing (HELLO alone asks only). `may_be_in_multi`: of the client
// that sends it; a label is one there, too.
std::optional<StateChange> state_change_of(const Command& command,
                                           std::span<const std::string_view> arguments,
                                           bool may_be_in_multi);

// ACL SETUSER, CONFIG SET requirepass, CLIENT PAUSE ...: it may change what holds for all clients,
// if Redis says yes.
bool changes_server(const Command& command, std::span<const std::string_view> arguments);

// CLIENT REPLY ON, OFF or SKIP. It holds from the command itself on, not from a reply: OFF and SKIP
// have none.
enum class ReplyMode : std::uint8_t { on, off, skip };
std::optional<ReplyMode> reply_mode_of(const Command& command,
                                       std::span<const std::string_view> arguments);

// MONITOR, SYNC, CLIENT REPLY where the guard could not follow ...: from here on one command is no
// longer one reply, or the guard has no say.
bool ends_placing(const Command& command, std::span<const std::string_view> arguments);
// SYNC, PSYNC: of these, what makes a replica of the client.
bool makes_raw(const Command& command);

// Of the first chunk of a command too large to be held whole, which may end anywhere behind its
// name: whether it is, or may be, one of either kind. What it changes cannot be said before all of
// it is known.
bool may_change_connection(const Command& command, std::span<const std::string_view> arguments);

}  // namespace cuckooguard::redis
