#include "redis/command_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "redis/word.h"
#include "text/number.h"

namespace cuckooguard::redis {
namespace {

// A command's name in lower case as three words: cheap to compute, to hash and to compare, at run
// time and at compile time alike.
// Threads: pure functions.

inline constexpr std::size_t kNameBytesMax = 24;

template <std::size_t kBytes>
constexpr std::uint64_t load_bytes(const char* from) {
  std::uint64_t word = 0;
  if consteval {
    for (std::size_t i = 0; i < kBytes; ++i) {
      word |= std::uint64_t{static_cast<unsigned char>(from[i])} << (8 * i);
    }
  } else {
    std::memcpy(&word, from, kBytes);
  }
  return word;
}
static_assert(std::endian::native == std::endian::little, "load_bytes");

// Eight ASCII characters at once.
constexpr std::uint64_t to_lower(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const std::uint64_t ascii = ~word & (0x80 * kOnes);
  const std::uint64_t low_bits = word & (0x7f * kOnes);
  const std::uint64_t from_a = low_bits + (0x80 - 'A') * kOnes;
  const std::uint64_t beyond_z = low_bits + (0x7f - 'Z') * kOnes;
  return word | ((ascii & from_a & ~beyond_z) >> 2);
}

// A name of 1 to kNameBytesMax bytes in lower case, as three words that overlap where it is not a
// multiple of eight: together with its length they say the name.
using FoldedName = std::array<std::uint64_t, 3>;

constexpr FoldedName fold(std::string_view name) {
  const std::size_t size = name.size();
  const char* const begin = name.data();
  const char* const end = begin + size;
  FoldedName words{};
  if (size >= 8) {
    words = {load_bytes<8>(begin),
             load_bytes<8>(size >= 16 ? begin + 8 : begin),
             load_bytes<8>(end - 8)};
  } else if (size >= 4) {
    words = {load_bytes<4>(begin), load_bytes<4>(end - 4), 0};
  } else {
    words = {load_bytes<1>(begin), load_bytes<1>(begin + size / 2), load_bytes<1>(end - 1)};
  }
  return {to_lower(words[0]), to_lower(words[1]), to_lower(words[2])};
}

// Commands that differ in nothing the guard cares about, names separated by spaces.
struct Family {
  std::string_view names;
  Command as;
};

constexpr Command without_keys(Role role) {
  return {.name = {}, .role = role};
}

constexpr Command keys_in_range(Role role,
                                std::uint8_t first,
                                std::int8_t last,
                                std::uint8_t step = 1) {
  return {.name = {},
          .role = role,
          .keys = KeyShape::range,
          .first = first,
          .last = last,
          .step = step};
}

// destination: an argument that is a key besides those that are counted, or 0.
constexpr Command keys_counted(Role role, std::uint8_t count, std::uint8_t destination = 0) {
  return {
      .name = {}, .role = role, .keys = KeyShape::counted, .first = destination, .count = count};
}

// A key and its value, so many times.
constexpr Command pairs_counted(Role role, std::uint8_t count) {
  Command command = keys_counted(role, count);
  command.step = 2;
  return command;
}

constexpr Command keys_anywhere(Role role, std::uint8_t first) {
  return {.name = {}, .role = role, .keys = KeyShape::anywhere, .first = first};
}

// The write makes a string its key's whole value, `offset` arguments behind the key.
constexpr Command with_value(Command command, std::uint8_t offset) {
  command.value_offset = offset;
  return command;
}

constexpr Command with_expiry(Command command) {
  command.may_set_expiry = true;
  return command;
}

using enum Role;

constexpr Family kFamilies[] = {
    // Reads that are answered in a way of their own.
    {"get", keys_in_range(get, 1, 1)},
    {"getex hgetex", with_expiry(keys_in_range(getex, 1, 1))},
    {"mget", keys_in_range(mget, 1, -1)},
    {"exists touch", keys_in_range(exists, 1, -1)},

    // Writes of one key: strings and keys in general,
    {"set setnx getset", with_expiry(with_value(keys_in_range(write, 1, 1), 1))},
    {"setex psetex", with_expiry(with_value(keys_in_range(write, 1, 1), 2))},
    {"append bitfield decr decrby delifeq getdel incr incrby incrbyfloat setbit setrange",
     keys_in_range(write, 1, 1)},
    {"expire expireat move persist pexpire pexpireat restore restore-asking",
     with_expiry(keys_in_range(write, 1, 1))},
    // hashes, lists, sets,
    {"hdel hexpire hexpireat hgetdel hincrby hincrbyfloat hmset hpersist hpexpire hpexpireat hset "
     "hsetex hsetnx",
     keys_in_range(write, 1, 1)},
    {"linsert lpop lpush lpushx lrem lset ltrim rpop rpush rpushx", keys_in_range(write, 1, 1)},
    {"sadd spop srem", keys_in_range(write, 1, 1)},
    // sorted sets, geo,
    {"zadd zincrby zpopmax zpopmin zrem zremrangebylex zremrangebyrank zremrangebyscore geoadd",
     keys_in_range(write, 1, 1)},
    {"vadd vrem vsetattr", keys_in_range(write, 1, 1)},
    // streams, HyperLogLog. XGROUP CREATE key ...; its other subcommands are writes too.
    {"xack xadd xautoclaim xclaim xdel xsetid xtrim pfadd", keys_in_range(write, 1, 1)},
    {"xgroup pfdebug", keys_in_range(write, 2, 2)},

    // Writes of two keys, and of many.
    {"blmove brpoplpush copy geosearchstore lmove rename renamenx rpoplpush smove zrangestore",
     keys_in_range(write, 1, 2)},
    {"mset msetnx", with_value(keys_in_range(write, 1, -1, 2), 1)},
    {"msetex", with_value(pairs_counted(write, 1), 1)},
    {"del pfmerge sdiffstore sinterstore sunionstore unlink", keys_in_range(write, 1, -1)},
    {"bitop", keys_in_range(write, 2, -1)},
    {"blpop brpop bzpopmax bzpopmin", keys_in_range(write, 1, -2)},
    {"zdiffstore zinterstore zunionstore", keys_counted(write, 2, 1)},
    {"lmpop zmpop", keys_counted(write, 1)},
    {"blmpop bzmpop", keys_counted(write, 2)},
    {"eval evalsha fcall", keys_counted(write, 2)},
    // With a key behind a keyword: STORE, STREAMS, KEYS.
    {"sort georadius georadiusbymember migrate xreadgroup", keys_anywhere(write, 1)},
    {"flushall flushdb swapdb function", without_keys(write)},

    // Reads that are answered if redis/missing_reply.h has them.
    {"bitcount bitfield_ro bitpos dump expiretime getbit getrange pexpiretime pttl strlen "
     "substr ttl type",
     keys_in_range(read, 1, 1)},
    {"hexists hexpiretime hget hgetall hkeys hlen hmget hpexpiretime hpttl hrandfield hscan "
     "hstrlen httl hvals",
     keys_in_range(read, 1, 1)},
    {"lindex llen lpos lrange", keys_in_range(read, 1, 1)},
    {"scard sismember smembers smismember srandmember sscan", keys_in_range(read, 1, 1)},
    {"zcard zcount zlexcount zmscore zrandmember zrange zrangebylex zrangebyscore zrank zrevrange "
     "zrevrangebylex zrevrangebyscore zrevrank zscan zscore",
     keys_in_range(read, 1, 1)},
    {"geodist geohash geopos georadius_ro georadiusbymember_ro geosearch sort_ro",
     keys_in_range(read, 1, 1)},
    {"xlen xpending xrange xrevrange", keys_in_range(read, 1, 1)},
    {"vcard vdim vemb vgetattr vinfo vismember vlinks vrandmember vsim", keys_in_range(read, 1, 1)},
    {"lcs", keys_in_range(read, 1, 2)},
    {"memory object xinfo", keys_in_range(read, 2, 2)},
    {"pfcount sdiff sinter sunion", keys_in_range(read, 1, -1)},
    {"sintercard zdiff zinter zintercard zunion", keys_counted(read, 1)},
    {"eval_ro evalsha_ro fcall_ro", keys_counted(read, 2)},
    {"xread", {.name = {}, .role = read, .keys = KeyShape::streams, .first = 1}},

    // What changes the connection once Redis has said yes.
    {"select", without_keys(select)},
    {"auth", without_keys(auth)},
    {"hello", without_keys(hello)},
    {"multi", without_keys(multi)},
    {"exec discard", without_keys(end_multi)},
    {"watch", keys_in_range(watch, 1, -1)},
    {"unwatch", without_keys(unwatch)},
    {"readonly readwrite asking", without_keys(redirect)},
    {"reset", without_keys(reset)},
    {"subscribe psubscribe unsubscribe punsubscribe", without_keys(subscribe)},
    {"ssubscribe sunsubscribe", keys_in_range(subscribe, 1, -1)},
    {"client", without_keys(client)},
    {"script", without_keys(script)},
    // What changes Redis for all clients.
    {"acl config", without_keys(server)},

    // Not one reply for one command, or no reply, or an end of the connection.
    {"monitor sync psync replconf quit shutdown", without_keys(unplaced)},

    // The rest.
    {"bgrewriteaof bgsave cluster clusterscan command commandlog dbsize debug echo failover "
     "info keys lastsave latency lolwut module pfselftest ping publish pubsub randomkey "
     "replicaof role save scan slaveof slowlog spublish time wait waitaof",
     without_keys(plain)},
};

constexpr std::size_t count_names() {
  std::size_t names = 0;
  for (const Family& family : kFamilies) {
    names += 1 + static_cast<std::size_t>(std::ranges::count(family.names, ' '));
  }
  return names;
}

constexpr auto kCommands = [] {
  std::array<Command, count_names()> commands{};
  std::size_t at = 0;
  for (const Family& family : kFamilies) {
    for_each_word(family.names, [&](std::string_view name) {
      commands[at] = family.as;
      commands[at++].name = name;
    });
  }
  return commands;
}();

constexpr Command kUnknown = keys_anywhere(unknown, 1);

// An open hash table, filled at compile time: most names are found at the first slot.
constexpr std::size_t kSlotBits = 11;
constexpr std::size_t kSlots = std::size_t{1} << kSlotBits;
constexpr std::uint16_t kEmpty = 0xffff;
static_assert(kCommands.size() <= kCommandsMax && kCommandsMax <= kEmpty);

constexpr std::size_t slot_of(const FoldedName& name) {
  const std::uint64_t mixed = name[0] ^ std::rotl(name[1], 21) ^ std::rotl(name[2], 42);
  return static_cast<std::size_t>((mixed * 0x9e3779b97f4a7c15) >> (64 - kSlotBits));
}

struct NameTable {
  std::array<FoldedName, kCommands.size()> names{};
  std::array<std::uint16_t, kSlots> slots{};
};

constexpr NameTable kNames = [] {
  NameTable table;
  table.slots.fill(kEmpty);
  for (std::size_t i = 0; i < kCommands.size(); ++i) {
    table.names[i] = fold(kCommands[i].name);
    std::size_t slot = slot_of(table.names[i]);
    while (table.slots[slot] != kEmpty) {
      slot = (slot + 1) % kSlots;
    }
    table.slots[slot] = static_cast<std::uint16_t>(i);
  }
  return table;
}();

// The index behind `last` of a range in a command of `total` arguments.
constexpr std::uint64_t end_of_range(const Command& command, std::uint64_t total) {
  if (command.last >= 0) {
    return std::min<std::uint64_t>(static_cast<std::uint64_t>(command.last) + 1, total);
  }
  const auto behind = static_cast<std::uint64_t>(-command.last - 1);
  return total > behind ? total - behind : 0;
}

std::size_t number(std::string_view text) {
  return text::number_of<std::size_t>(text).value_or(0);
}

// XREAD [COUNT n] [BLOCK n] STREAMS key ... id ...
KeyIndexes keys_of_streams(std::span<const std::string_view> arguments) {
  std::size_t at = 1;
  while (at < arguments.size() && is_any_of(arguments[at], "count block")) {
    at += 2;
  }
  if (at >= arguments.size() || !is_word(arguments[at], "streams")) {
    return {};
  }
  return {.first = at + 1, .end = at + 1 + (arguments.size() - at - 1) / 2};
}

}  // namespace

const Command& find_command(std::string_view name) noexcept {
  if (name.empty() || name.size() > kNameBytesMax) {
    return kUnknown;
  }
  const FoldedName folded = fold(name);
  for (std::size_t slot = slot_of(folded); kNames.slots[slot] != kEmpty;
       slot = (slot + 1) % kSlots) {
    const std::size_t index = kNames.slots[slot];
    if (kNames.names[index] == folded && kCommands[index].name.size() == name.size()) {
      return kCommands[index];
    }
  }
  return kUnknown;
}

std::span<const Command> all_commands() noexcept {
  return kCommands;
}

bool may_be_key(const Command& command, std::uint64_t index, std::uint64_t total) noexcept {
  if (index == 0) {
    return false;
  }
  const std::size_t first = command.first;
  switch (command.keys) {
    case KeyShape::none:
      return false;
    case KeyShape::range:
      return index >= first && index < end_of_range(command, total) &&
             (index - first) % command.step == 0;
    case KeyShape::counted:
      return true;
    case KeyShape::streams:
    case KeyShape::anywhere:
      return index >= first;
  }
  return true;
}

KeyIndexes key_indexes(const Command& command,
                       std::span<const std::string_view> arguments) noexcept {
  const std::size_t total = arguments.size();
  const std::size_t first = command.first;
  const std::size_t count = command.count;
  switch (command.keys) {
    case KeyShape::none:
      return {};
    case KeyShape::range:
      return {.first = first, .end = end_of_range(command, total), .step = command.step};
    case KeyShape::counted: {
      const std::size_t keys = count < total ? number(arguments[count]) : 0;
      // More keys than arguments: Redis refuses the command.
      const bool fits = keys <= (total - std::min(total, count + 1)) / command.step;
      return {.first = count + 1,
              .end = fits ? count + 1 + keys * command.step : 0,
              .step = command.step,
              .also = first < total ? first : 0};
    }
    case KeyShape::streams:
      return keys_of_streams(arguments);
    case KeyShape::anywhere:
      return {.first = first, .end = total};
  }
  return {};
}

}  // namespace cuckooguard::redis
