// What newer servers say of the commands that they have beyond those of Redis 7.0.15
// (redis_7_0_commands.h), in the same form; of all that Redis 7.0.15 has they say the same as it
// does. Nothing here is written by hand: the lists are
//
//   redis-cli --json COMMAND | python3 commands.py | comm -13 redis-7.0.15 -
//
// with, in commands.py,
//
//   import json, sys
//   def show(command, is_whole=True):
//       name, _, flags, first, last, step, _, _, _, subcommands = command
//       writes, is_movable = "write" in flags, "movablekeys" in flags
//       if is_whole or writes or first or is_movable:
//           kind = "write" if writes else "readonly" if "readonly" in flags else "-"
//           print(name.lower(), kind, first, last, step, "movable" if is_movable else "-")
//       for subcommand in subcommands:
//           show(subcommand, False)
//   for command in json.load(sys.stdin):
//       show(command)
//
// and `sort` (LC_ALL=C) behind it. Redis 8.0 lists its vector sets in capitals.
#pragma once

#include <string_view>

namespace cuckooguard::redis {

// 8.0.6, with its module `vectorset`
inline constexpr std::string_view kRedis80Commands = R"(
hexpire write 1 1 1 -
hexpireat write 1 1 1 -
hexpiretime readonly 1 1 1 -
hgetdel write 1 1 1 -
hgetex write 1 1 1 -
hpersist write 1 1 1 -
hpexpire write 1 1 1 -
hpexpireat write 1 1 1 -
hpexpiretime readonly 1 1 1 -
hpttl readonly 1 1 1 -
hsetex write 1 1 1 -
httl readonly 1 1 1 -
vadd write 1 1 1 -
vcard readonly 1 1 1 -
vdim readonly 1 1 1 -
vemb readonly 1 1 1 -
vgetattr readonly 1 1 1 -
vinfo readonly 1 1 1 -
vismember readonly 1 1 1 -
vlinks readonly 1 1 1 -
vrandmember readonly 1 1 1 -
vrem write 1 1 1 -
vsetattr write 1 1 1 -
vsim readonly 1 1 1 -
waitaof - 0 0 0 -
)";

// 8.0.1
inline constexpr std::string_view kValkey80Commands = R"(
waitaof - 0 0 0 -
)";

// 9.1.2
inline constexpr std::string_view kValkey91Commands = R"(
clusterscan readonly 1 1 1 -
cluster|flushslot write 0 0 0 -
commandlog - 0 0 0 -
delifeq write 1 1 1 -
hexpire write 1 1 1 -
hexpireat write 1 1 1 -
hexpiretime readonly 1 1 1 -
hgetdel write 1 1 1 -
hgetex write 1 1 1 -
hpersist write 1 1 1 -
hpexpire write 1 1 1 -
hpexpireat write 1 1 1 -
hpexpiretime readonly 1 1 1 -
hpttl readonly 1 1 1 -
hsetex write 1 1 1 -
httl readonly 1 1 1 -
msetex write 0 0 0 movable
waitaof - 0 0 0 -
)";

}  // namespace cuckooguard::redis
