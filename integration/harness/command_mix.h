// A seeded stream of commands of every kind, whose replies depend on nothing but the commands before: not on the clock,
// not on Redis's own random hash seeds. Two Redis servers that are sent the same give the same bytes.
//
// Nothing that makes the guard relay a connection unread (CLIENT REPLY, MONITOR ...): it learns no written keys there.
//
// Keys: `user:` ids 1 to 1000 (rows), ids from 1,000,000 on (absent; seldom written), ids from 2,000,000 on (no rows, but
// often written), `tag:` names, unguarded keys, binary ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::harness {

class CommandMix {
 public:
  explicit CommandMix(std::uint32_t seed) : random_(seed) {}

  // Some commands, whole. Ends outside of MULTI and with replies on.
  std::string pipeline();

  // Ascending offsets into something of this size: none, a few, or one every few bytes.
  std::vector<std::size_t> cuts(std::size_t size);

  // Uniform in [0, below).
  std::size_t choose(std::size_t below) { return random_() % below; }

 private:
  std::string any();
  std::string read();
  std::string string_command();
  std::string list_command();
  std::string hash_command();
  std::string set_command();
  std::string sorted_set_command();
  std::string key_command();
  std::string mistake();
  std::string inline_command();
  std::string connection_command();
  std::string script();
  std::string large();
  std::string transaction();
  std::string reply_type();

  std::string user_key();      // of a row, or absent
  std::string key();           // to write
  std::string readable_key();  // to read: absent ones, too
  std::string value();
  std::string number() { return std::to_string(choose(50)); }
  template <std::size_t n>
  std::string_view one_of(const std::string_view (&choices)[n]) {
    return choices[choose(n)];
  }

  std::mt19937 random_;
};

}  // namespace cuckooguard::harness
