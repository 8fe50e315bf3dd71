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

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "filter/epochs.h"
#include "filter/live_parts.h"
#include "harness/sql_server.h"
#include "keyspace/keyspace.h"
#include "source/source.h"

namespace cuckooguard::harness {

// Ids that writers use, and rows of `user` that nobody ever touches.
inline constexpr unsigned kIds = 300;
inline constexpr unsigned kStableFrom = 100'000;
inline constexpr unsigned kStableRows = 2000;

void create_tables(const SqlServer& server);
// A line of YAML for each, below `namespaces:`, with `from` as their source.
std::string namespaces_yaml();

struct GuardedTable {
  std::string ns;
  std::string prefix;  // of its keys
  std::string table;
  std::string columns;  // SQL, in identity order
  bool is_unique;
};
const std::vector<GuardedTable>& guarded_tables();

// What look-ups see: the namespaces of the YAML above, each with a live filter.
class ShopFilters {
 public:
  ShopFilters();

  std::vector<source::Target> targets();
  const config::Config& config() const { return config_; }
  filter::LiveFilter& live(std::size_t ns) const { return *lives_[ns]; }

  // A sentence for each row that is not in its filter, and each filter that has another number of
  // entries than there are rows. To be called while nothing writes.
  std::vector<std::string> differences(SqlSession& session);
  // Keys of all rows, as clients write them.
  std::vector<std::string> keys(SqlSession& session) const;
  // As a worker asks.
  bool is_answered_absent(std::uint32_t ns, std::string_view identity);

 private:
  bool has(std::size_t ns, std::string_view identity);
  void compare(std::size_t ns, const SqlSession::Rows& rows, std::vector<std::string>& found);
  void look_for_deleted_users(SqlSession& session, std::vector<std::string>& found);

  config::Config config_;
  keyspace::Keyspace keyspace_;
  filter::Epochs epochs_{2};  // the comparison's, and is_answered_absent's
  std::deque<filter::LiveParts> parts_;
  std::vector<filter::LiveFilter*> lives_;  // the one part of each
};

}  // namespace cuckooguard::harness
