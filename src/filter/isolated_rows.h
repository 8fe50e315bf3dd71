// Rows of one part that a look-up cannot find by one hash (keyspace/identity_pattern.h). Each is in
// the filter like any other row, under a hash of its own, and has its pattern here. An absent
// look-up that matches a pattern may be that row if the filter has its hash. So rows come and go
// with the filter alone; a pattern must only be here before its hash is in the filter, and may go
// once that is gone.
//
// Threads: a value; immutable once readers can see it.
// Cost: a look-up that the filter does not have compares each pattern, at some 5 ns each.
// Errors: parse() returns nothing for bytes that bytes() did not make.
// Limits: kRowsMax per namespace, shared by its parts; kParsedMax from a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/cuckoo_filter.h"
#include "keyspace/identity_pattern.h"

namespace cuckooguard::filter {

class IsolatedRows {
 public:
  static constexpr std::size_t kRowsMax = 1000;
  static constexpr std::size_t kParsedMax = 4 * kRowsMax;  // with those that have gone
  // The share of one part, with so many parts.
  static constexpr std::size_t rows_max(std::size_t parts) {
    return parts > kRowsMax ? 1 : kRowsMax / (parts == 0 ? 1 : parts);
  }

  // `any`: whatever the identity is.
  [[nodiscard]] bool may_be(std::string_view identity,
                            const CuckooFilter& filter,
                            bool any = false) const noexcept;

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] bool has(std::uint64_t hash) const noexcept;
  // Those that the filter has.
  [[nodiscard]] std::size_t count_in(const CuckooFilter& filter) const noexcept;

  void add(std::uint64_t hash, keyspace::IdentityPattern pattern);
  void add(const IsolatedRows& others);
  // Leaves those that the filter has. True: some were not.
  bool leave_those_in(const CuckooFilter& filter);

  // For filter files.
  [[nodiscard]] std::string bytes() const;
  static std::optional<IsolatedRows> parse(std::string_view bytes);

 private:
  struct Row {
    std::uint64_t hash;
    keyspace::IdentityPattern pattern;
  };

  std::vector<Row> rows_;  // by hash
};

}  // namespace cuckooguard::filter
