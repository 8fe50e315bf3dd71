#include "source/restore.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "source/server_probe.h"

namespace cuckooguard::source {
namespace {

struct Candidate {
  TableSet::Index index;
  MysqlTable plan;
  Checkpoint checkpoint;
};

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
  if (!found || (found->server != from.server && !from.is_cluster)) {
    return std::nullopt;
  }
  return Candidate{.index = index, .plan = *std::move(plan), .checkpoint = *std::move(found)};
}

// Those of whose tables each goes on from a file that is new enough.
std::set<std::string> namespaces_resumed(const Restoring& from,
                                         TableSet& tables,
                                         const std::vector<Candidate>& candidates) {
  std::set<std::string> resumed;
  std::set<std::string> others;
  for (TableSet::Index index = 0; index < tables.size(); ++index) {
    const auto found = std::ranges::find(candidates, index, &Candidate::index);
    const bool is_new_enough = found != candidates.end() &&
                               found->checkpoint.age >= std::chrono::nanoseconds::zero() &&
                               found->checkpoint.age <= from.max_lag;
    (is_new_enough ? resumed : others).insert(tables.target(index).settings.name);
  }
  std::erase_if(resumed, [&others](const std::string& ns) { return others.contains(ns); });
  return resumed;
}

}  // namespace

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
  // What the server has never had is of another history.
  std::erase_if(candidates,
                [&now](const Candidate& each) { return !now->covers(each.checkpoint.position); });
  if (candidates.empty()) {
    return false;
  }
  const auto covers_fewest = [](const Candidate& a, const Candidate& b) {
    return b.checkpoint.position.covers(a.checkpoint.position) &&
           !a.checkpoint.position.covers(b.checkpoint.position);
  };
  const LogPosition oldest =
      std::ranges::min_element(candidates, covers_fewest)->checkpoint.position;
  std::erase_if(candidates, [&oldest](const Candidate& each) {
    return !each.checkpoint.position.covers(oldest);
  });
  const auto resumed = namespaces_resumed(from, tables, candidates);
  tables.begin_at(oldest);
  for (Candidate& each : candidates) {
    tables.adopt(each.index, std::move(each.plan), std::move(each.checkpoint));
  }
  for (const std::string& ns : resumed) {
    from.observer.on_resumed(ns);
  }
  return true;
}

}  // namespace cuckooguard::source
