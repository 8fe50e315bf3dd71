// Takes up tables where their checkpoints left them.
//
// The log is to be read from the oldest of their positions; a table whose file is of a later one
// skips what it has. Files that do not lie on one line (the log of another history) are left alone,
// as are those that checkpoint.h does not allow: these tables are read anew.
//
// Threads: the source's. Errors: the reader's; whatever is wrong with a file is told to the
// observer.
#pragma once

#include <algorithm>
#include <chrono>
#include <expected>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "follow/checkpoint.h"
#include "follow/table_set.h"
#include "source/storage_directory.h"
#include "text/try.h"

namespace cuckooguard::source {

// A server, where something is to go on that was followed to a position before.
template <class Log>
struct Successor {
  std::string_view identity;  // which it is
  bool is_cluster;            // several addresses say that it is one of a cluster
  const typename Log::Position& position;
  // Where its log begins, if it says so: of what was committed before it would be silent.
  std::optional<typename Log::Position> begins{};

  // Itself, or another one of the cluster, that has all of it: one that was made the primary
  // without the last transactions has others in their place, and what a server has never had is of
  // another history.
  bool goes_on(std::string_view followed, const typename Log::Position& to) const {
    return (identity == followed || is_cluster) && position.covers(to) &&
           (!begins || to.covers(*begins));
  }
};

// A table that might be taken up.
template <class Log>
struct Candidate {
  TableIndex index;
  typename Log::Plan plan;
  Checkpoint<Log> checkpoint;
};

// Leaves those that the server goes on with and that lie on one line. The oldest of their
// positions, if there are any.
template <class Log>
std::optional<typename Log::Position> leave_resumable(std::vector<Candidate<Log>>& candidates,
                                                      const Successor<Log>& server) {
  using Each = Candidate<Log>;
  std::erase_if(candidates, [&server](const Each& each) {
    return !server.goes_on(each.checkpoint.server, each.checkpoint.position);
  });
  if (candidates.empty()) {
    return std::nullopt;
  }
  const auto covers_fewest = [](const Each& a, const Each& b) {
    return b.checkpoint.position.covers(a.checkpoint.position) &&
           !a.checkpoint.position.covers(b.checkpoint.position);
  };
  auto oldest = std::ranges::min_element(candidates, covers_fewest)->checkpoint.position;
  std::erase_if(candidates,
                [&oldest](const Each& each) { return !each.checkpoint.position.covers(oldest); });
  // Of the same numbers, but another history: what comes behind the oldest shows no group of theirs
  // again.
  const auto first = std::ranges::find_if(
      candidates, [&oldest](const Each& each) { return each.checkpoint.position == oldest; });
  const typename Log::Group group = first->checkpoint.last_group;
  std::erase_if(candidates, [&](const Each& each) {
    const typename Log::Group& last = each.checkpoint.last_group;
    return oldest.covers(last.id()) && !last.is_same_as(group);
  });
  return oldest;
}

template <class Log>
class Restore {
 public:
  using Error = typename Log::Error;

  struct Settings {
    std::string source;  // its name
    const StorageDirectory& directory;
    Observer& observer;
    std::string server;  // which it is
    bool is_cluster;     // a file of another server is as good
    std::chrono::nanoseconds max_lag;
    std::optional<typename Log::Position> begins{};  // Successor's
  };

  Restore(Settings settings, TableSet<Log>& tables, typename Log::Reader& reader)
      : settings_(std::move(settings)), tables_(tables), reader_(reader) {}

  // True if the set has begun, with at least one table in it.
  std::expected<bool, Error> take_up() {
    read_renewal();
    std::vector<Candidate<Log>> candidates;
    for (TableIndex index = 0; index < tables_.size(); ++index) {
      if (auto usable = TRY(candidate(index))) {
        candidates.push_back(*std::move(usable));
      }
    }
    const auto now = TRY(reader_.position());
    const auto oldest = leave_resumable<Log>(candidates,
                                             {.identity = settings_.server,
                                              .is_cluster = settings_.is_cluster,
                                              .position = now,
                                              .begins = settings_.begins});
    if (!oldest) {
      return false;
    }
    const auto restored = namespaces_taken_up(candidates, std::chrono::nanoseconds::max());
    const auto resumed = namespaces_taken_up(candidates, settings_.max_lag);
    tables_.log.begin_at(*oldest, groups_of(candidates, *oldest));
    for (Candidate<Log>& each : candidates) {
      tables_.checkpoints.adopt(each.index, std::move(each.plan), std::move(each.checkpoint));
    }
    for (const std::string& ns : restored) {
      settings_.observer.on_restored(ns);
    }
    for (const std::string& ns : resumed) {
      settings_.observer.on_resumed(ns);
    }
    return true;
  }

 private:
  void read_renewal() {
    auto found = source::read_renewal(settings_.directory.position_path(settings_.source));
    if (found) {
      renewal_ = *std::move(found);
    } else {
      settings_.observer.on_trouble(settings_.source, found.error());
    }
  }

  // Nothing if the table is to be read anew.
  std::expected<std::optional<Candidate<Log>>, Error> candidate(TableIndex index) {
    const Target target = tables_.target(index);
    auto plan = reader_.plan(target, tables_.table(index));
    if (!plan) {
      if (const auto* const error = std::get_if<Error>(&plan.error())) {
        return std::unexpected(*error);
      }
      return std::nullopt;  // the loader will say why
    }
    auto checkpoint =
        read_checkpoint<Log>(settings_.directory.filter_path(
                                 settings_.source, target.settings.name, tables_.table(index)),
                             target.parts.secret(),
                             Log::definition_hash(target, *plan),
                             renewal_);
    if (!checkpoint) {
      settings_.observer.on_trouble(settings_.source,
                                    checkpoint.error() + "; reading the table again");
      return std::nullopt;
    }
    std::optional<Checkpoint<Log>>& found = *checkpoint;
    if (!found) {
      return std::nullopt;
    }
    return Candidate<Log>{
        .index = index, .plan = *std::move(plan), .checkpoint = *std::move(found)};
  }

  // Those of whose tables each goes on from a file, and one that is no older.
  std::set<std::string> namespaces_taken_up(const std::vector<Candidate<Log>>& candidates,
                                            std::chrono::nanoseconds age_max) {
    std::set<std::string> taken_up;
    std::set<std::string> others;
    for (TableIndex index = 0; index < tables_.size(); ++index) {
      const auto found = std::ranges::find(candidates, index, &Candidate<Log>::index);
      const bool is_new_enough = found != candidates.end() &&
                                 found->checkpoint.age >= std::chrono::nanoseconds::zero() &&
                                 found->checkpoint.age <= age_max;
      (is_new_enough ? taken_up : others).insert(tables_.target(index).settings.name);
    }
    std::erase_if(taken_up, [&others](const std::string& ns) { return others.contains(ns); });
    return taken_up;
  }

  // The last groups of the files; first that of the oldest position.
  static std::vector<typename Log::Group> groups_of(const std::vector<Candidate<Log>>& candidates,
                                                    const typename Log::Position& oldest) {
    std::vector<typename Log::Group> groups;
    for (const Candidate<Log>& each : candidates) {
      const bool is_oldest = each.checkpoint.position == oldest;
      groups.insert(is_oldest ? groups.begin() : groups.end(), each.checkpoint.last_group);
    }
    return groups;
  }

  Settings settings_;
  TableSet<Log>& tables_;
  typename Log::Reader& reader_;
  std::optional<Renewal> renewal_;
};

}  // namespace cuckooguard::source
