// A row as the filter knows it: the hash of its identity.
//
// Threads: each object one.
// Lifetimes: the target outlives it.
// Errors: a sentence that names the row, if not all of its keys are known (keyspace).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "keyspace/identity_buffer.h"
#include "keyspace/identity_pattern.h"
#include "source/source.h"

namespace cuckooguard::source {

class RowHash {
 public:
  struct Hashed {
    std::uint64_t hash = 0;
    std::uint64_t number = 0;  // the identity, where it is one integer; else 0
    bool is_isolated = false;  // its pattern() goes beside the filter
  };

  explicit RowHash(const Target& target) : target_(target) {}

  // In the order of Keyspace::identity_columns, nullopt for NULL. Nothing if one of them is NULL:
  // no key can name this row.
  std::expected<std::optional<Hashed>, std::string> operator()(
      std::span<const std::optional<std::string_view>> values);

  keyspace::IdentityPattern pattern(std::span<const std::optional<std::string_view>> values) const {
    return target_.keyspace.pattern_of_row(target_.ns, values);
  }
  // For people: that this row is isolated, and that there are more than can be.
  std::string isolated_text(std::span<const std::optional<std::string_view>> values) const;
  std::string too_many_isolated_text(std::span<const std::optional<std::string_view>> values,
                                     std::size_t rows_max) const;

 private:
  Target target_;
  keyspace::IdentityBuffer scratch_;
};

}  // namespace cuckooguard::source
