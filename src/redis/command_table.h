// What the guard must know of Redis's commands: what each does to the connection, and where its
// keys are.
//
// Built in: every command of Redis 7.0 and 8.0 and of Valkey 8.0 and 9.1, from their COMMAND
// (tests/redis/redis_7_0_commands.h and newer_commands.h have the facts, and a test compares them).
// A command that is not listed, of another server or a module, is `unknown`: it is forwarded, and
// since it may write, any of its arguments may be a key. A command that the server at hand lacks is
// `unknown`, too (Commands::listed).
//
// Threads: immutable. A look-up takes about 3 ns.
// Source: COMMAND of Redis 7.0.15 and 8.0.6, Valkey 8.0.1 and 9.1.2;
// https://redis.io/docs/reference/key-specs
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cuckooguard::redis {

enum class Role : std::uint8_t {
  plain,      // neither writes a key nor changes the connection
  read,       // reads keys; answered if redis/missing_reply.h has it
  get,        // reads of a kind of their own
  getex,      // a write for Redis, but of the expiry alone: it makes no key; HGETEX, too
  mget,       //
  exists,     // counts its keys: EXISTS, TOUCH
  write,      // may write its keys
  select,     // changes the connection, once Redis has said yes: see ChangeKind
  auth,       //
  hello,      //
  multi,      //
  end_multi,  //
  watch,      //
  unwatch,    //
  redirect,   // of a cluster's node: READONLY, READWRITE, ASKING
  reset,      //
  subscribe,  // all of the family
  client,     // depends on the subcommand
  script,     //
  server,     // may change what holds for all clients, depending on the subcommand: ACL, CONFIG
  unplaced,   // from here on not one reply per command, or a state unknown to the guard
  unknown,    // not in the table
};

enum class KeyShape : std::uint8_t {
  none,
  // Arguments first, first + step, ... up to last; a negative last counts from the end: -1 is last.
  range,
  // Argument `count` says how many keys follow it, one in `step` arguments; argument first is one
  // too, unless first is 0.
  counted,
  // Those of XREAD: behind STREAMS, followed by as many ids.
  streams,
  // Any argument from first on may be a key: behind a keyword (SORT ... STORE key), or unknown.
  anywhere,
};

// The reads that are answered.
constexpr bool may_be_answered(Role role) {
  return role >= Role::read && role <= Role::exists;
}

constexpr bool changes_connection(Role role) {
  return role >= Role::select && role <= Role::subscribe;
}
constexpr bool changes_user(Role role) {
  return role == Role::auth || role == Role::hello || role == Role::reset;
}

struct Command {
  std::string_view name;  // lower case
  Role role = Role::plain;
  KeyShape keys = KeyShape::none;
  std::uint8_t first = 0;
  std::int8_t last = 0;
  std::uint8_t step = 1;
  std::uint8_t count = 0;
  // How far behind its key stands the string that a write makes the key's whole value (SET 1, SETEX
  // 2); 0: it does not.
  std::uint8_t value_offset = 0;
  bool may_set_expiry = false;  // of its key: redis/expiry.h has when
};

// A write that may be run in parts, one for each slot of its keys (routing/routed_transport.h), of
// which one may fail and the others stay.
constexpr bool is_split_write(const Command& command) {
  return command.name == "mset" || command.name == "del" || command.name == "unlink";
}

// A key and its value, and nothing else.
constexpr bool is_plain_set(const Command& command, std::size_t arguments) {
  return command.role == Role::write && command.value_offset == 1 && arguments == 3;
}

// It runs code that its client has chosen: an error may come after that has changed something.
constexpr bool runs_script(const Command& command) {
  return command.name.starts_with("eval") || command.name.starts_with("fcall");
}

// Any case. Never null: what is not in the table is one `unknown` command whose keys may be
// anywhere.
const Command& find_command(std::string_view name) noexcept;

// All of the table.
std::span<const Command> all_commands() noexcept;

// The place of a command of the table in all_commands(); below kCommandsMax.
inline constexpr std::size_t kCommandsMax = 320;
inline std::size_t command_index(const Command& command) noexcept {
  return static_cast<std::size_t>(&command - all_commands().data());
}

// Whether argument `index` of a command of `total` arguments is a key, without a look at the
// others: for a streamed command. Where that cannot be told, it is.
bool may_be_key(const Command& command, std::uint64_t index, std::uint64_t total) noexcept;

// The indexes of a whole command's keys: first, first + step, ... below end, and `also` unless 0.
struct KeyIndexes {
  std::size_t first = 1;
  std::size_t end = 0;
  std::size_t step = 1;
  std::size_t also = 0;
};
KeyIndexes key_indexes(const Command& command,
                       std::span<const std::string_view> arguments) noexcept;

}  // namespace cuckooguard::redis
