// A seeded stream of commands of every kind, whose replies depend on nothing but the commands
// before: not on the clock, not on Redis's own random hash seeds. Two Redis servers that are sent
// the same give the same bytes.
//
// Nothing that makes the guard relay a connection unread (MONITOR ...): it learns no written keys
// there.
//
// Keys: `user:` ids 1 to 1000 (rows), ids from 1,000,000 on (absent; never written), ids from
// 2,000,000 on (no rows, but often written), `tag:` names, unguarded keys, binary ones. Each data
// type has keys of its own, and sometimes takes another's. The commands are forms:
// command_mix/forms.h.
//
// Several mixes may run at once on one Redis if each has an owner's number: what it writes, watches
// and subscribes to is then its own, and nothing is asked that tells of the others (DBSIZE). Owner
// n has the rows from n * kRowsOfOwner + 1 on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/command_mix/forms.h"

namespace cuckooguard::harness {

class CommandMix {
 public:
  static constexpr std::size_t kRowsOfOwner = 1000;

  explicit CommandMix(std::uint32_t seed, std::size_t owner = 0) : random_(seed), owner_(owner) {}

  // Some commands, whole. Ends outside of MULTI, with replies on, and without subscriptions. The
  // next one is for the same connection, behind all replies, or for a new one.
  std::string pipeline();

  // The connection has been told something else meanwhile, say AUTH: the next pipeline does not
  // rely on what it is.
  void was_changed() { is_plain_ = false; }

  // How many there have been.
  std::size_t commands() const { return commands_; }

  // Ascending offsets into something of this size: none, a few, or one every few bytes.
  std::vector<std::size_t> cuts(std::size_t size);

 private:
  std::string any();
  std::string read();
  std::string of_some_type();
  std::string inline_command();
  std::string watched_read();
  std::string large();
  std::string transaction();
  std::string reply_type();
  std::string some();
  std::string followed_state();  // CLIENT REPLY, SUBSCRIBE, CLIENT TRACKING, and back

  // One of the forms, filled in.
  std::string one_of_forms(std::span<const std::string_view> forms, DataType type);
  std::string filled_in(std::string_view word, DataType type);

  DataType any_type();
  std::string absent();
  std::string row(std::size_t number) const;  // its key
  // What is not a row is told apart by its end.
  std::string owners(std::string key) const {
    return owner_ == 0 ? key : std::move(key) + "@" + std::to_string(owner_);
  }
  std::string channel() const { return owners("news"); }
  std::string user_key();                   // of a row, or absent
  std::string key(DataType type);           // to write
  std::string readable_key(DataType type);  // to read: absent ones, too
  std::string stream_id();
  std::string value();
  std::string number() { return std::to_string(choose(50)); }

  std::string counted(std::initializer_list<std::string_view> arguments);

  // Uniform in [0, below).
  std::size_t choose(std::size_t below) { return random_() % below; }
  std::string_view one_of(std::span<const std::string_view> choices) {
    return choices[choose(choices.size())];
  }

  std::mt19937 random_;
  std::size_t owner_;
  std::size_t commands_ = 0;
  std::size_t last_stream_id_ = 0;
  bool is_plain_ = true;  // the connection that the next pipeline is for
};

}  // namespace cuckooguard::harness
