// What a row is to look-ups whose |ci value is other than printable ASCII: a database's collation
// may take it for many ASCII texts, none of which the guard can tell from the bytes (`⒇` is `(20)`
// in utf8mb4_unicode_ci, `é` is `e`, and an accent alone is nothing). So it is a pattern of
// identities: what stands before the first and behind the last such character, folded as |ci folds,
// and between them a run of characters, also none. Or the identities of a row whose keys carry
// different ones.
//
// Must: matches() is true for every identity of printable ASCII that a collation takes for the row,
//   and wherever that is in doubt (tests/keyspace/identity_pattern_test.cpp,
//   integration/mariadb_isolated_rows_test.cpp).
//
// How many ASCII characters one character can be equal to follows from its collation weights: in
// all collations of MariaDB 10.11 Latin letters have at most 2, other characters made of ASCII at
// most 8, and a contraction makes two letters one weight (`aa` in Danish). Twice that is allowed
// here. A possible accent takes the character before it into the run: `u` and a separate diaeresis
// are `y` where `ü` is. Letters with a weight of their own in every collation (Cyrillic, Han ...)
// are equal to no ASCII at all, so that no look-up that is judged finds a row with one of them.
//
// Threads: immutable. Cost: matches() compares at most 2 * kKeptBytes for each value; what is
// longer, or between two runs, is not looked at. Errors: read() of bytes that are none of write()'s
// gives nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/key_template.h"
#include "text/little_endian.h"

namespace cuckooguard::keyspace {

class IdentityPattern {
 public:
  static constexpr std::size_t kKeptBytes = 32;
  static constexpr std::size_t kIdentitiesMax = 16;  // of one row

  // In identity order. Nothing: no printable ASCII is equal to it. `may_split`: what a run has may
  // end the value in a key (a ':' before {x:rest}); which value it goes on in depends on the
  // template, so that none is sure.
  static std::optional<IdentityPattern> of(std::span<const std::string_view> values,
                                           std::span<const ValueType> types,
                                           bool may_split = false);

  // Each of these, kIdentitiesMax at most.
  static IdentityPattern of_identities(std::span<const std::string> identities);

  // `identity` as Keyspace::match() or read() gives it.
  bool matches(std::string_view identity) const noexcept;

  void write(std::string& bytes) const;
  // Takes one from the beginning of `bytes`.
  static std::optional<IdentityPattern> read(text::LittleEndianCursor& bytes);

  bool operator==(const IdentityPattern&) const = default;

 private:
  struct Value {
    std::string begin;
    std::string end;
    std::uint32_t bytes_min = 0;
    std::uint32_t bytes_max = 0;

    bool has_run() const { return bytes_min != bytes_max; }
    bool matches(std::string_view value) const noexcept;
    bool operator==(const Value&) const = default;
  };

  using Values = std::vector<Value>;

  static Value exactly(std::string_view value);
  static std::optional<Value> of_folded(std::string_view value);
  static bool matches(const Values& values, std::string_view identity) noexcept;
  static std::optional<Values> read_values(text::LittleEndianCursor& bytes);

  std::vector<Values> any_of_;
};

}  // namespace cuckooguard::keyspace
