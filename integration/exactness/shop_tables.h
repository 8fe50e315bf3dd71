// The tables of the exactness test, the namespaces that guard them, and what a filter of each must
// be.
//
//   users, names   one table, two identities, both unique: deletes are trusted
//   items          a composite key: a negative number and bytes
//   tags           BINARY: zero bytes at the end, which the log leaves out
//   orders         an identity that many rows have, or none: deletes are deferred
//
// Threads: plain values; a session is its caller's.
#pragma once

#include <string>
#include <vector>

#include "exactness/guarded_filters.h"
#include "harness/sql_server.h"

namespace cuckooguard::harness {

// Ids that writers use, and rows of `user` that nobody ever touches.
inline constexpr unsigned kIds = 300;
inline constexpr unsigned kStableFrom = 100'000;
inline constexpr unsigned kStableRows = 2000;

void create_tables(const SqlServer& server);
// A line of YAML for each, below `namespaces:`, with `from` as their source.
std::string namespaces_yaml();

const std::vector<GuardedTable>& guarded_tables();

// The namespaces of the YAML above, each with a live filter.
class ShopFilters final : public GuardedFilters {
 public:
  explicit ShopFilters(const filter::HashSecret& secret = filter::random_secret())
      : GuardedFilters(guarded_tables(), namespaces_yaml(), secret) {}

  // And keys pass that no row has.
  std::vector<std::string> differences(SqlSession& session);
};

}  // namespace cuckooguard::harness
