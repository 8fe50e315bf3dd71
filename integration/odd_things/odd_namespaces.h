// The four namespaces of one odd thing, their filters, and the product's follower that keeps them.
//
// What rows there are is asked of SQL (see_rows), before and after each step. Of a row that both
// looks saw no look-up in between may have been answered absent; nor, of one that the first saw
// not, any look-up later than max_lag after the second, or when it is proven that the filters have
// all until then. A look that fails (a table that is not there, or is locked) saw nothing.
//
// Threads: ask() is KeyWatch's, on_state() the follower's, all else the case's. Lifetimes: the
// server outlives it.
// Errors: sentences.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "filter/epochs.h"
#include "filter/live_parts.h"
#include "harness/sql_server.h"
#include "keyspace/keyspace.h"
#include "odd_things/odd_thing.h"
#include "source/source.h"
#include "source/source_kind.h"

namespace cuckooguard::harness {

class OddNamespaces final : public source::Observer {
 public:
  static constexpr std::chrono::milliseconds kMaxLag{150};

  // `thing` with its names in place. The follower starts.
  OddNamespaces(const SqlServer& server, const OddThing& thing, std::string database);
  ~OddNamespaces() override;
  OddNamespaces(const OddNamespaces&) = delete;
  OddNamespaces& operator=(const OddNamespaces&) = delete;

  // All that are expected to be: proven to be as the database was at `at`, or resting (refused,
  // unsynced).
  bool are_settled_since(source::TimePoint at) const;

  // The server has been started again.
  void reconnect();

  // KeyWatch: once for each row that is there.
  void ask();
  // What SQL finds now; what was hidden until then.
  std::vector<std::string> see_rows();
  // All that SQL found last are settled: what is hidden now, without the benefit of max_lag.
  std::vector<std::string> hidden_now();
  // What is not as expected, now that no step is under way: nothing, sentences, or none of the two
  // yet.
  std::optional<std::vector<std::string>> differences(source::TimePoint since);
  // What the last differences() found that is to go yet, since what was deleted leaves the filter
  // behind the proof that all is in it. Nothing, or a sentence.
  const std::string& left_over() const { return left_over_; }
  std::string reports() const;  // the last of them

 private:
  using Identities = std::set<std::string>;
  struct Namespace {
    std::string name;
    bool is_of_all_tables = false;
    bool is_of_groups = false;
    std::uint64_t rows = 0;                            // with a key, when last seen
    std::map<std::string, source::TimePoint> since{};  // identities that are there
    Identities gone{};                                 // that were there once
  };
  struct Absent {
    std::size_t ns;
    std::string identity;
    source::TimePoint at;
  };
  enum class Verdict : std::uint8_t { as_expected, not_yet, wrong };

  static config::Config parsed(const OddThing& thing);
  bool is_meant(const Namespace& each) const;
  std::vector<std::string> tables_of(const Namespace& each);
  Identities identities(std::size_t ns, std::uint64_t& rows);
  // Since when each is there.
  static void remember(Namespace& each, const Identities& seen, source::TimePoint at);
  filter::Finding find(std::size_t ns, std::string_view identity, std::size_t reader);
  Verdict compare(std::size_t ns, std::vector<std::string>& wrong);
  Verdict compare_state(std::size_t ns, std::vector<std::string>& wrong);
  std::uint64_t entries(std::size_t ns) const;
  bool was_said(const Namespace& each, const std::string& words) const;

  void on_progress(const source::Progress&) override {}
  void on_state(std::string_view ns, filter::State state, std::string_view why) override;
  void on_trouble(std::string_view, std::string_view) override {}

  const SqlServer& server_;
  const OddThing& thing_;
  std::string database_;
  std::optional<SqlSession> session_;
  config::Config config_;
  keyspace::Keyspace keyspace_;
  filter::Epochs epochs_{2};  // of the case's thread, and KeyWatch's
  std::deque<filter::LiveParts> parts_;

  std::mutex asked_;  // for what KeyWatch reads and writes
  std::vector<Namespace> namespaces_;
  std::vector<Absent> absent_;

  mutable std::mutex reported_;
  struct Report {
    std::string ns;
    filter::State state;
    std::string why;
  };
  std::vector<Report> reports_;
  std::string left_over_;
  std::unique_ptr<source::SourceThread> follower_;  // the last: it uses the others
};

}  // namespace cuckooguard::harness
