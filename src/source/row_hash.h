// A row as the filter knows it: the hash of its identity.
//
// Called by: FilterLoad (rows of a snapshot), Feed (rows of a log). Threads: each object one.
// Lifetimes: the target outlives it.
// Errors: a sentence that names the row, if its key does not lead back to it (keyspace).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "keyspace/identity_buffer.h"
#include "source/source.h"

namespace cuckooguard::source {

class RowHash {
 public:
  struct Hashed {
    std::uint64_t hash = 0;
    std::uint64_t number = 0;  // the identity, where it is one integer; else 0
  };

  explicit RowHash(const Target& target) : target_(target) {}

  // In the order of Keyspace::identity_columns, nullopt for NULL. Nothing if one of them is NULL: no
  // key can name this row.
  std::expected<std::optional<Hashed>, std::string> operator()(
      std::span<const std::optional<std::string_view>> values);

 private:
  Target target_;
  keyspace::IdentityBuffer scratch_;
};

}  // namespace cuckooguard::source
