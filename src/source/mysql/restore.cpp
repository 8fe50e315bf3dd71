#include "mysql/restore.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mysql/server_probe.h"

namespace cuckooguard::source {
namespace {

// Nothing if the table is to be read anew.
std::expected<std::optional<Candidate>, MysqlError> candidate(const Restoring& from,
                                                              TableSet& tables,
                                                              TableSet::Index index,
                                                              MysqlConnection& connection) {
  const Target target = tables.target(index);
  auto plan = plan_mysql_table(connection, target, tables.table(index));
  if (!plan) {
    if (const auto* const error = std::get_if<MysqlError>(&plan.error())) {
      return std::unexpected(*error);
    }
    return std::nullopt;  // the loader will say why
  }
  auto checkpoint = read_checkpoint(
      from.directory.filter_path(from.source, target.settings.name, tables.table(index)),
      target.parts.secret(),
      definition_hash(target, *plan));
  if (!checkpoint) {
    from.observer.on_trouble(from.source, checkpoint.error() + "; the table is read anew");
    return std::nullopt;
  }
  std::optional<Checkpoint>& found = *checkpoint;
  if (!found) {
    return std::nullopt;
  }
  return Candidate{.index = index, .plan = *std::move(plan), .checkpoint = *std::move(found)};
}

// Those of whose tables each goes on from a file, and one that is no older.
std::set<std::string> namespaces_taken_up(TableSet& tables,
                                          const std::vector<Candidate>& candidates,
                                          std::chrono::nanoseconds age_max) {
  std::set<std::string> taken_up;
  std::set<std::string> others;
  for (TableSet::Index index = 0; index < tables.size(); ++index) {
    const auto found = std::ranges::find(candidates, index, &Candidate::index);
    const bool is_new_enough = found != candidates.end() &&
                               found->checkpoint.age >= std::chrono::nanoseconds::zero() &&
                               found->checkpoint.age <= age_max;
    (is_new_enough ? taken_up : others).insert(tables.target(index).settings.name);
  }
  std::erase_if(taken_up, [&others](const std::string& ns) { return others.contains(ns); });
  return taken_up;
}

// The last groups of the files; first that of the oldest position.
std::vector<LogGroup> groups_of(const std::vector<Candidate>& candidates,
                                const LogPosition& oldest) {
  std::vector<LogGroup> groups;
  for (const Candidate& each : candidates) {
    const bool is_oldest = each.checkpoint.position == oldest;
    groups.insert(is_oldest ? groups.begin() : groups.end(), each.checkpoint.last_group);
  }
  return groups;
}

}  // namespace

bool goes_on(const Successor& server, std::string_view followed, const LogPosition& position) {
  return (server.identity == followed || server.is_cluster) && server.position.covers(position);
}

std::optional<LogPosition> leave_resumable(std::vector<Candidate>& candidates,
                                           const Successor& server) {
  std::erase_if(candidates, [&server](const Candidate& each) {
    return !goes_on(server, each.checkpoint.server, each.checkpoint.position);
  });
  if (candidates.empty()) {
    return std::nullopt;
  }
  const auto covers_fewest = [](const Candidate& a, const Candidate& b) {
    return b.checkpoint.position.covers(a.checkpoint.position) &&
           !a.checkpoint.position.covers(b.checkpoint.position);
  };
  LogPosition oldest = std::ranges::min_element(candidates, covers_fewest)->checkpoint.position;
  std::erase_if(candidates, [&oldest](const Candidate& each) {
    return !each.checkpoint.position.covers(oldest);
  });
  // Of the same numbers, but another history: what comes behind the oldest shows no group of theirs
  // again.
  const auto first = std::ranges::find_if(
      candidates, [&oldest](const Candidate& each) { return each.checkpoint.position == oldest; });
  const LogGroup group = first->checkpoint.last_group;
  std::erase_if(candidates, [&](const Candidate& each) {
    const LogGroup& last = each.checkpoint.last_group;
    return oldest.covers(last.gtid) && !last.is_same_as(group);
  });
  return oldest;
}

std::expected<bool, MysqlError> restore(const Restoring& from,
                                        TableSet& tables,
                                        MysqlConnection& connection) {
  std::vector<Candidate> candidates;
  for (TableSet::Index index = 0; index < tables.size(); ++index) {
    auto found = candidate(from, tables, index, connection);
    if (!found) {
      return std::unexpected(found.error());
    }
    if (std::optional<Candidate>& usable = *found) {
      candidates.push_back(*std::move(usable));
    }
  }
  const auto now = server_position(connection);
  if (!now) {
    return std::unexpected(now.error());
  }
  const auto oldest = leave_resumable(
      candidates, {.identity = from.server, .is_cluster = from.is_cluster, .position = *now});
  if (!oldest) {
    return false;
  }
  const auto restored = namespaces_taken_up(tables, candidates, std::chrono::nanoseconds::max());
  const auto resumed = namespaces_taken_up(tables, candidates, from.max_lag);
  tables.begin_at(*oldest, groups_of(candidates, *oldest));
  for (Candidate& each : candidates) {
    tables.adopt(each.index, std::move(each.plan), std::move(each.checkpoint));
  }
  for (const std::string& ns : restored) {
    from.observer.on_restored(ns);
  }
  for (const std::string& ns : resumed) {
    from.observer.on_resumed(ns);
  }
  return true;
}

}  // namespace cuckooguard::source
