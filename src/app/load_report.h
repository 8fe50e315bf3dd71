// Reports what the sources do: a live line on a terminal while something loads, log lines for the
// rest.
//
// Lifetimes: the log outlives it.
// Threads: called on the sources' threads, several at once. Rate: during a load one log line per
// kLogEvery, and one at its end; the terminal's line at most 10 times per second and source.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "log/event_log.h"
#include "source/source.h"
#include "views/process_state.h"

namespace cuckooguard::app {

class LoadReport final : public source::Observer {
 public:
  static constexpr std::chrono::seconds kLogEvery{5};

  // `board`, if not null, is updated too. Both outlive this.
  explicit LoadReport(log::EventLog& log, views::LoadBoard* board = nullptr);

  void on_progress(const source::Progress& progress) override;
  void on_state(std::string_view ns, filter::State state, std::string_view why) override;
  void on_trouble(std::string_view source, std::string_view what) override;
  void on_restored(std::string_view ns) override;

  // Its definition has changed: its next load counts as the first.
  void forget(std::string_view ns);

 private:
  log::EventLog& log_;
  bool is_terminal_;
  views::LoadBoard* board_;
  std::mutex mutex_;
  std::map<std::string, std::chrono::nanoseconds, std::less<>>
      logged_;                                       // by namespace: elapsed at its last line
  std::map<std::string, bool, std::less<>> loaded_;  // by namespace: it has been loaded once
  std::set<std::string, std::less<>>
      held_;  // namespaces of which it was told why they pass though they are ready
  std::set<std::string, std::less<>> troubled_;  // namespaces of which a warning was the last word
};

// "users: 410,000 of 1,000,000 rows, 41 %, 3,100,000 rows/s, 0.2 s left"
std::string describe(const source::Progress& progress);

// Why a source cannot be read, for people: each cause once, with its namespaces and tables. A
// database with a hundred shards lacks one grant, not a hundred.
//
// Threads: none of its own.
// Limits: each cause names kNamesMax namespaces and tables and counts the others.
class Refusals {
 public:
  static constexpr std::size_t kNamesMax = 12;

  Refusals() = default;
  explicit Refusals(const std::vector<source::Refusal>& all);

  void add(const source::Refusal& refusal);
  bool is_empty() const { return causes_.empty(); }
  // There is a cause of the whole source, or of this namespace.
  bool explain(std::string_view ns) const;
  // "source shop, namespaces users, guests, tables user_1, user_2: table `user_1` has no primary
  // key"
  std::vector<std::string> sentences(std::string_view source) const;
  // Of several sources by their names: what is said of each in the same words is said once, as of
  // three databases on one server.
  static std::vector<std::string> sentences(
      std::span<const std::pair<std::string, Refusals>> sources);

 private:
  struct Cause {
    std::string gist;  // what is refused, without the table's name
    std::string what;  // of the first
    std::vector<std::string> namespaces;
    std::vector<std::string> tables;
  };

  std::vector<std::string> sentences_without_source() const;

  std::vector<Cause> causes_;
};
using RefusedSources = std::vector<std::pair<std::string, Refusals>>;

}  // namespace cuckooguard::app
