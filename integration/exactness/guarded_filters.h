// What look-ups see of tables that are followed, and what a filter of each must be: the table,
// entry by entry.
//
// Threads: the test's, but is_answered_absent(): one more.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "filter/epochs.h"
#include "filter/live_parts.h"
#include "keyspace/keyspace.h"
#include "source/publication.h"
#include "source/source.h"

namespace cuckooguard::harness {

struct GuardedTable {
  std::string ns;
  std::string prefix;  // of its keys
  std::string table;
  std::string columns;  // SQL, in identity order
  bool is_unique;
};
class GuardedFilters {
 public:
  using Rows = std::vector<std::vector<std::optional<std::string>>>;
  using Ask = std::function<Rows(const std::string& sql)>;

  // Lines of YAML for each of the tables, in their order, below `namespaces:`.
  GuardedFilters(std::vector<GuardedTable> tables,
                 const std::string& namespaces_yaml,
                 const filter::HashSecret& secret = filter::random_secret());

  const std::vector<GuardedTable>& tables() const { return tables_; }
  // To whom its source tells what it does, from the next one on.
  void publish_to(source::Publication& publication) { publication_ = &publication; }
  source::Publication& publication() const { return *publication_; }
  std::vector<source::Target> targets();
  const config::Config& config() const { return config_; }
  filter::LiveFilter& live(std::size_t ns) const { return *lives_[ns]; }
  // All namespaces have been proven to be as current as the database was at `at`.
  bool is_proven_since(source::TimePoint at, std::chrono::nanoseconds max_lag) const;

  // A sentence for each row that is not in its filter, and each filter that has another number of
  // entries than there are rows. To be called while nothing writes.
  std::vector<std::string> differences(const Ask& ask);
  // Keys of all rows, as clients write them.
  std::vector<std::string> keys(const Ask& ask) const;
  // Whether the filter has the key; of one that has none, too. While differences() may be called.
  bool passes(std::size_t ns, std::string_view key);
  // As a worker asks.
  bool is_answered_absent(std::uint32_t ns, std::string_view identity);

 private:
  bool has(std::size_t ns, std::string_view identity);
  void compare(std::size_t ns, const Rows& rows, std::vector<std::string>& found);

  std::vector<GuardedTable> tables_;
  config::Config config_;
  keyspace::Keyspace keyspace_;
  filter::Epochs epochs_{2};  // the comparison's, and is_answered_absent's
  std::deque<filter::LiveParts> parts_;
  std::vector<filter::LiveFilter*> lives_;  // the one part of each
  source::Publication* publication_ = &source::Publication::none();
};

}  // namespace cuckooguard::harness
