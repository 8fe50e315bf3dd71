// A key template as an automaton over bytes: it accepts every key that an application can make of
// the template, with integers canonical and in range. Used to compare templates, never to match
// keys. Two other sets of keys can be asked for: those that it claims although a row's integer
// cannot be like that (canonical_keys), and those that rows can have whatever texts are in them:
// empty, or with a ':' or the literal behind it. An integer of a row is digits, perhaps behind a
// '-'; a numeric, date or bytea has a byte at least, and no ':'. A key may have these, and a uuid,
// in any spelling: as any text.
//
// It reads a key as KeyTemplate::fit does, the first-occurrence rule included; only a wildcard may
// end at any occurrence of its literal, since its values are not known from rows (fit() calls a key
// uncertain where that makes a difference). A placeholder and the literal behind it are read
// together (Knuth-Morris-Pratt): a state holds how many bytes of the literal have been seen. Bytes
// that turn out to belong to the value after all are checked against its type then.
//
// Threads: const calls may run together. Lifetimes: views the template.
// Source: [1] Knuth, Morris, Pratt, "Fast pattern matching in strings", SIAM J. Comput. 6 (1977),
// section 2.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "keyspace/key_template.h"

namespace cuckooguard::keyspace {

class KeyAutomaton {
 public:
  struct State {
    // 0: the literal prefix, n: the n-th placeholder and the literal behind it.
    std::uint16_t part = 0;
    std::uint16_t matched = 0;  // bytes of the part's literal seen
    bool started = false;       // the value's first byte has been read: the literal may begin
    bool negative = false;
    std::uint8_t digits = 0;  // of the value, if it is an integer
    // Those digits against the first digits of the type's limit: -1, 0, 1.
    std::int8_t compared = 0;

    auto operator<=>(const State&) const = default;
  };

  enum class Keys : std::uint8_t {
    of_applications,
    claimed_if_canonical,
    of_rows,
    of_rows_without_colons
  };

  explicit KeyAutomaton(const KeyTemplate& key_template, Keys keys = Keys::of_applications);

  // The state behind the first `bytes` bytes of the literal prefix.
  State within_prefix(std::size_t bytes) const;
  // The next states: none if no key of the template goes on like this, two where a wildcard, or a
  // row's value, may end or go on.
  struct Next {
    std::array<State, 2> states;
    std::size_t count = 0;

    std::span<const State> all() const { return std::span(states).first(count); }
  };
  Next step(const State& state, char byte) const;
  // Whether the key may end here.
  bool accepts(const State& state) const;

 private:
  struct Part {
    std::string_view literal;
    std::vector<std::uint16_t>
        failure;  // [1]: longest proper prefix that is a suffix, per number of matched bytes
    const Placeholder* placeholder = nullptr;
  };

  bool are_of_rows() const { return keys_ >= Keys::of_rows; }
  bool is_text_of_row(const Placeholder& placeholder) const;
  State beginning_of(std::size_t part) const;
  bool take_value_byte(const Placeholder& placeholder, State& state, char byte) const;
  bool is_whole_value(const Placeholder& placeholder, const State& state) const;
  std::size_t next_matched(const Part& part, std::size_t matched, char byte) const;
  std::optional<State> stay_in_part(State state, char byte) const;
  bool is_last(const State& state) const { return state.part + 1U == parts_.size(); }

  Keys keys_;
  std::vector<Part> parts_;
};

}  // namespace cuckooguard::keyspace
