// The feeds of a source: one per part of each of its namespaces, that is per table. Tables of a
// namespace that is given by a pattern or a list may come and go.
//
// Must: the tables that set_tables() is given are those of the snapshot being read, and a feed is
// proven for
//       that snapshot alone. So no proof outlives the knowledge of which tables there are
//       (filter/live_parts.h).
// Threads: the source's; it is the one writer of the targets' parts. Lifetimes: a feed lives until
// set_tables() leaves its table out. Limits: kPartsMax tables of a namespace; with more it passes,
// and says so. Without any it passes, too.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "source/feed.h"
#include "source/source.h"

namespace cuckooguard::source {

class Feeds {
 public:
  // With the tables that are named, without those that patterns may find.
  Feeds(std::span<const Target> targets,
        Observer& observer,
        const Clock& clock,
        std::chrono::nanoseconds max_lag);

  auto begin() { return feeds_.begin(); }
  auto end() { return feeds_.end(); }
  Feed& front() { return feeds_.front(); }
  std::size_t size() const { return feeds_.size(); }

  std::span<const Target> targets() const { return targets_; }
  // Also of the feeds that it will add.
  void snapshot_begins(TimePoint now);
  // From now on these are the namespace's tables, and no others. A new one passes until it is
  // loaded.
  void set_tables(const Target& target, std::span<const std::string> tables);
  // Why the namespace passes although no feed says so; empty: no more.
  void report(const Target& target,
              const std::string& why,
              filter::State state = filter::State::unsynced);

 private:
  bool has(const Target& target, const std::string& table) const;
  bool add(const Target& target, const std::string& table);

  std::vector<Target> targets_;
  std::vector<std::string> reported_;  // of each target: why it passes although no feed says so
  Observer* observer_;
  Clock clock_;
  std::chrono::nanoseconds max_lag_;
  TimePoint snapshot_at_{};
  std::list<Feed> feeds_;
};

}  // namespace cuckooguard::source
