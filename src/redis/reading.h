// The result of one inquiry: which commands Redis has, what its users may do, whether it serves.
//
// Threads: plain values. Lifetimes: own their contents.
// Limits: as many commands as Redis lists, as many users as it was asked for.
#pragma once

#include <array>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "redis/command_table.h"
#include "redis/slot.h"

namespace cuckooguard::redis {

using TimePoint = std::chrono::steady_clock::time_point;

// By command_index().
using CommandSet = std::bitset<kCommandsMax>;

enum class KeyAccess : std::uint8_t { none, read, read_write };

// Which commands on a namespace's keys may be answered to one user.
struct UserAccess {
  bool is_unrestricted = false;         // the rest is then of no matter
  bool may_write = true;                // false: it surely writes no key
  CommandSet on_readable{};             // where the user may only read the keys
  CommandSet on_writable{};             // where it may read and write them
  std::vector<KeyAccess> namespaces{};  // by their number; none for those that are not there
  std::vector<bool> reads_no_key{};     // of those with none: for sure; else it is not known
  bool knows_commands = true;           // else what is in neither set may be allowed all the same
  std::uint64_t numbering = 0;          // of those numbers: guard::Guard::Parts

  bool may(std::size_t command, std::uint32_t ns) const noexcept;
  // Redis refuses the command on every key of the namespace: for sure, for want of a right on the
  // keys, or on the command.
  enum class Refusal : std::uint8_t { none, unknown, key, command };
  Refusal refusal(std::size_t command, std::uint32_t ns) const noexcept;
};

struct Users {
  std::set<std::string, std::less<>> unrestricted{};
  std::map<std::string, UserAccess, std::less<>> restricted{};
  // A new connection is the user "default", authenticated without AUTH.
  bool default_needs_no_password = false;
  // `acl: trust`: whoever Redis has accepted may do everything.
  bool trusts_everyone = false;
  // By one command for all: how many were asked for was of no matter.
  bool are_listed = false;
  // Why nobody is known, in Redis's words: the guard's own user may not ask ...
  std::string refusal{};

  const UserAccess* find(std::string_view name) const;  // null: nothing is known of it
};

// A longer name is not looked for.
inline constexpr std::size_t kLearnedNameBytesMax = 64;

struct Commands {
  // Those of the built-in table that Redis has under their names: not renamed, not switched off.
  CommandSet listed = CommandSet().set();
  // Those that the table lacks, by name in lower case; Command::name is empty.
  std::map<std::string, Command, std::less<>> learned{};

  const Command* find_learned(std::string_view name) const;  // any case; null: not there
};

enum class Availability : std::uint8_t { available, loading, master_link_down, busy };
constexpr std::string_view name_of(Availability availability) {
  constexpr std::array<std::string_view, 4> kNames{
      "available", "loading", "master_link_down", "busy"};
  return kNames.at(static_cast<std::size_t>(availability));
}

// Whether Redis lets the guard ask for all that it wants to know (upstream.control), and is one
// that it can work with.
struct ControlReport {
  enum class State : std::uint8_t {
    unknown,      // it has not been asked yet
    allowed,      //
    limited,      // not all, which costs less than:
    not_allowed,  // all keys pass, or those of some users
    unsupported,  // all keys pass: it is of a kind that the guard cannot work with
  };
  State state = State::unknown;
  std::string why{};   // Redis's words, unless it is unsupported
  std::string hint{};  // the remedy, and what holds until then
  // In one sentence for people, without a full stop; empty: no key passes for it.
  std::string why_keys_pass() const;
  bool operator==(const ControlReport&) const = default;
};
constexpr std::string_view name_of(ControlReport::State state) {
  constexpr std::array<std::string_view, 5> kNames{
      "unknown", "allowed", "limited", "not_allowed", "unsupported"};
  return kNames.at(static_cast<std::size_t>(state));
}

// One asking of Redis.
struct Reading {
  std::shared_ptr<const Commands> commands{};  // null: as before
  Users users{};
  Availability availability = Availability::available;
  std::optional<bool> is_master = true;
  bool takes_writes = true;
  // That a node of a cluster, or its master, has all keys of; not those that are on their way.
  // Null: it is in no cluster.
  std::shared_ptr<const Slots> slots{};
  // They are all nodes', which one connection reaches: keys of several slots may be asked at once.
  bool is_whole_cluster = false;
  std::chrono::seconds idle_timeout{0};
  TimePoint good_until = TimePoint::max();               // Facts::kKnownFor after Redis was asked
  std::optional<std::chrono::nanoseconds> round_trip{};  // until its first reply
};

}  // namespace cuckooguard::redis
