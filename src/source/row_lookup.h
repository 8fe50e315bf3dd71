// Whether the database itself has a row, asked by a query: an exact answer, for whoever doubts a
// filter.
//
// Each question is a connection of its own: it is asked seldom, once per second at most, and an
// idle one would be one more to watch. The database narrows the rows down by equality of the
// columns, which may find more than the row that is meant (a collation); condition and identity are
// then compared by the guard, as in a snapshot. All tables are read in one transaction.
//
// Threads: one at a time; it blocks, for up to kTimeout and until `stop` is requested. Lifetimes:
// what Targets refer to outlives it. Errors: `unknown`, and why.
// Limits: kRowsMax rows of a table are compared; if none of so many is the one, the answer is
// unknown. A namespace of n tables costs n queries, and some more to see how each has to be read.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "keyspace/keyspace.h"
#include "source/source.h"

namespace cuckooguard::source {

class RowLookup : boost::noncopyable {
 public:
  static constexpr std::size_t kRowsMax = 1000;
  static constexpr std::chrono::seconds kTimeout{3};

  explicit RowLookup(std::vector<Target> targets) : targets_(std::move(targets)) {}
  virtual ~RowLookup() = default;

  // `identity` as Keyspace::match gives it.
  RowAnswer ask(std::uint32_t ns, std::string_view identity, const std::stop_token& stop);

 protected:
  using Has = std::expected<bool, std::string>;  // or why nobody knows

  // Whether one of the namespace's tables has the row.
  virtual Has look(const Target& target,
                   std::string_view identity,
                   const std::stop_token& stop) = 0;
  // Whether these values of a row are that identity.
  bool is_it(const Target& target,
             std::span<const std::optional<std::string_view>> values,
             std::string_view identity);

 private:
  std::vector<Target> targets_;
  keyspace::IdentityBuffer scratch_;
};

}  // namespace cuckooguard::source
