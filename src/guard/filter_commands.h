// RedisBloom's commands, BF.* and CF.*, of a key that a namespace names (`commands: { key: users
// }`): answered from its filter, as if it were one of RedisBloom's that somebody keeps filled.
//
//   CF.EXISTS users 42    0: the row of the key that the first template makes of 42 is absent
//   BF.ADD users 42       as GUARD.ADD of that key: it passes for overlay.ttl; the database is the
//                         truth
//
//   EXISTS, MEXISTS, COUNT          0 is said only where the filter has the proof (guard/guard.h),
//   and
//                                   in mode enforce; else 1
//   ADD, MADD, INSERT, ADDNX ...    the items pass, as by GUARD.ADD; 1: there was proof that it had
//                                   no row
//   DEL                             1: it may have a row. Nothing else comes of it
//   CARD, INFO                      of the filters as they are now
//   RESERVE                         "item exists", as it does. COMPACT: OK
//   SCANDUMP, LOADCHUNK             refused in words
//
// They count as reads of keys, and as keys added. The client's user must be one who may GET the
// namespace's keys. Where that is not known, EXISTS and its like say 1, and the others wait as
// GUARD.* do.
//
// Of a client in another db than the namespace's the key is any key: forwarded. Where a command of
// the guard's own is forwarded (MULTI, replies off ... guard/own_commands.h), and above 64 KiB,
// Redis must not answer either, which may have the commands but not the filter, and would say that
// nothing exists: it is sent GUARD.BF.EXISTS, which it does not know. What a script asks is not
// seen.
//
// Threads: its worker's. Lifetimes: a reply is valid until the next call. Errors: replies, in
// RedisBloom's words. Limits: arguments as any command's.
// Source: https://redis.io/docs/latest/commands (bf.*, cf.*); RedisBloom 2.8, its tests of RESP3.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "guard/filter_info.h"
#include "guard/guard.h"
#include "guard/own_decision.h"
#include "guard/own_reply.h"

namespace cuckooguard::guard {

class FilterCommands : OwnReply {
 public:
  explicit FilterCommands(Guard& guard) : guard_(guard) {}

  // Of a filter that a namespace names.
  bool takes(Arguments arguments) const {
    return arguments.size() > 1 && is_filter_command(arguments[0]) &&
           guard_.filter_named(arguments[1]).has_value();
  }
  OwnDecision decide(Arguments arguments, Client& client, const Attempt& attempt);
  // Of a command above 64 KiB, of which only the front is there: perhaps no more than its name.
  bool may_take_large(Arguments front, const Client& client) const;
  // The bytes of its first chunk, by which Redis does not know it for what it is.
  std::string_view unknown_to_redis(Arguments arguments, std::string_view chunk) {
    return unknown_bytes(arguments, chunk);
  }

 private:
  struct Call {
    std::string_view name;  // Entry::name
    Arguments arguments;
    std::uint32_t ns;
    Client& client;
    const redis::UserAccess* access;  // null: it is not known what its user may do
    const Attempt& attempt;

    Arguments items() const { return arguments.subspan(2); }
    resp::Version version() const { return client.version(); }
  };
  struct Entry {
    std::string_view name;  // as RedisBloom spells it
    std::size_t least;      // arguments, the name included
    std::size_t most;
    bool says_one_in_doubt;  // else it waits for rights
    OwnDecision (FilterCommands::*run)(const Call&);
  };
  static const std::array<Entry, 23> kEntries;

  static Guard::Reader reader(const Call& call) {
    return {.db = call.client.db(),
            .access = *call.access,
            .now = call.attempt.now,
            .read_at = call.attempt.since,
            .writes = call.client.writes()};
  }
  OwnDecision run(const Entry& command, const Call& call);
  bool waits_for_proof(const Call& call);
  OwnDecision exists(const Call& call);
  OwnDecision exists_each(const Call& call);
  OwnDecision count(const Call& call);
  OwnDecision add(const Call& call);
  OwnDecision add_each(const Call& call);
  OwnDecision insert(const Call& call);
  OwnDecision reserve(const Call& call);
  OwnDecision compact(const Call& call);
  OwnDecision card(const Call& call);
  OwnDecision bloom_info(const Call& call);
  OwnDecision cuckoo_info(const Call& call);
  OwnDecision refuse_dump(const Call& call);

  FilterInfo info(const Call& call);
  OwnDecision add_items(const Call& call, Arguments items, bool is_array);
  bool may_exist(std::string_view item, const Call& call);
  bool is_new(std::string_view item, const Call& call);

  Guard& guard_;
};

}  // namespace cuckooguard::guard
