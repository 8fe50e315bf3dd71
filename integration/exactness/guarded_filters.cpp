#include "exactness/guarded_filters.h"

#include <algorithm>
#include <utility>

#include "config/parse.h"
#include "harness/configuration.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

std::string all_rows_of(const GuardedTable& table) {
  return "SELECT " + table.columns + " FROM " + table.table;
}

}  // namespace

GuardedFilters::GuardedFilters(std::vector<GuardedTable> tables,
                               const std::string& namespaces_yaml,
                               const filter::HashSecret& secret)
    : tables_(std::move(tables)),
      config_(config::testing::config_of(Configuration{.namespaces = namespaces_yaml}.yaml())),
      keyspace_(config::keyspace_of(config_)) {
  lives_.reserve(config_.namespaces.size());
  for (const config::Namespace& ns : config_.namespaces) {
    parts_.emplace_back(epochs_, secret);
    lives_.push_back(parts_.back().add(ns.source.tables.front()));
    parts_.back().set_complete(true);
  }
}

std::vector<source::Target> GuardedFilters::targets() {
  std::vector<source::Target> all;
  all.reserve(parts_.size());
  for (std::uint32_t ns = 0; ns < parts_.size(); ++ns) {
    all.push_back({keyspace_, ns, config_.namespaces[ns], parts_[ns]});
  }
  return all;
}

bool GuardedFilters::is_proven_since(source::TimePoint at, std::chrono::nanoseconds max_lag) const {
  return std::ranges::all_of(lives_, [&](const filter::LiveFilter* live) {
    const source::TimePoint until = live->fresh_until();
    return until != source::TimePoint::min() && until - max_lag >= at;
  });
}

bool GuardedFilters::has(std::size_t ns, std::string_view identity) {
  const filter::CuckooFilter* const current = lives_[ns]->current();
  return current == nullptr || current->may_contain(current->hash(identity));
}

bool GuardedFilters::passes(std::size_t ns, std::string_view key) {
  const filter::EpochScope inside(epochs_.reader(0));
  keyspace::IdentityBuffer scratch;
  return has(ns, keyspace_.match(key, scratch).identity);
}

bool GuardedFilters::is_answered_absent(std::uint32_t ns, std::string_view identity) {
  const auto now = std::chrono::steady_clock::now();
  const filter::EpochScope inside(epochs_.reader(1));
  return parts_[ns].find(identity, now) == filter::Finding::absent;
}

void GuardedFilters::compare(std::size_t ns, const Rows& rows, std::vector<std::string>& found) {
  keyspace::IdentityBuffer scratch;
  std::vector<std::optional<std::string_view>> values;
  const std::string& name = tables_[ns].ns;
  for (const auto& row : rows) {
    values.assign(row.begin(), row.end());
    const auto identity =
        keyspace_.identity_of_row(static_cast<std::uint32_t>(ns), values, scratch);
    if (!identity) {
      found.push_back(name + ": " + identity.error().what);
    } else if (*identity && !has(ns, (**identity).identity)) {
      found.push_back(name + ": a row is not in the filter: " + shown((**identity).identity));
    }
  }
  const filter::CuckooFilter* const current = lives_[ns]->current();
  const std::uint64_t items = current == nullptr ? 0 : current->stats().items;
  if (tables_[ns].is_unique && items != rows.size()) {
    found.push_back(name + ": " + std::to_string(rows.size()) + " rows, and " +
                    std::to_string(items) + " entries in the filter");
  }
}

std::vector<std::string> GuardedFilters::keys(const Ask& ask) const {
  std::vector<std::string> all;
  for (const GuardedTable& guarded : tables_) {
    for (const auto& row : ask(all_rows_of(guarded))) {
      std::string key = guarded.prefix;
      bool has_key = true;
      for (const auto& value : row) {
        has_key = has_key && value;
        key += ":" + value.value_or("");
      }
      if (has_key) {
        all.push_back(std::move(key));
      }
    }
  }
  return all;
}

std::vector<std::string> GuardedFilters::differences(const Ask& ask) {
  const filter::EpochScope inside(epochs_.reader(0));
  std::vector<std::string> found;
  for (std::size_t ns = 0; ns < tables_.size(); ++ns) {
    compare(ns, ask(all_rows_of(tables_[ns])), found);
  }
  return found;
}

}  // namespace cuckooguard::harness
