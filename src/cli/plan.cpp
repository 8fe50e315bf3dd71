#include "cli/plan.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "app/load_report.h"
#include "cli/offline_targets.h"
#include "cli/output.h"
#include "config/values.h"
#include "filter/exact_counts.h"
#include "source/filter_load.h"
#include "text/grouped.h"

namespace cuckooguard::cli {
namespace {

constexpr std::uint64_t kOverlayKeyBytes = 16 + 40;  // guard/overlay.h, guard/learner.h
constexpr double kBitsPerByte = 8;
constexpr unsigned kGuardsMax = 1'000'000;

PlannedTable planned(const source::Target& target,
                     const source::TableSize& size,
                     std::size_t tables) {
  PlannedTable table{
      .ns = target.settings.name,
      .table = size.table,
      .rows = size.rows,
      .is_estimate = size.is_estimate,
      .why_unknown = size.why_unknown,
      .sizing = source::load_sizing(target.settings.filter, tables, size.rows, size.deletes)};
  if (!size.why_unknown.empty()) {
    return table;
  }
  table.steady = size.bytes.value_or(table.sizing.bytes());
  if (size.deletes == filter::DeleteMode::exact) {
    table.steady += filter::ExactCounts::bytes_for(table.sizing.capacity());
  }
  table.rebuild = 2 * table.steady;
  return table;
}

// What stands beside the filters in force while those of a source are built again: of a database
// that is followed by its log one table at a time, else all.
std::uint64_t most_beside(const std::vector<PlannedTable>& tables, bool is_one_at_a_time) {
  std::uint64_t most = 0;
  std::uint64_t all = 0;
  for (const PlannedTable& table : tables) {
    most = std::max(most, table.steady);
    all += table.steady;
  }
  return is_one_at_a_time ? most : all;
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 4> kUnits{"B", "KiB", "MiB", "GiB"};
  constexpr double kStep = 1024;
  auto number = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (number >= kStep && unit + 1 < kUnits.size()) {
    number /= kStep;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", number, unit == 0 ? 0 : 1, kUnits.at(unit));
}

std::string bits_per_row(const PlannedTable& table) {
  return table.rows == 0 ? "-"
                         : fmt::format("{:.1f}",
                                       kBitsPerByte * static_cast<double>(table.steady) /
                                           static_cast<double>(table.rows));
}

using Cells = std::array<std::string, 6>;

// Names to the left, numbers to the right.
std::string aligned(const std::vector<Cells>& rows) {
  constexpr std::size_t kNames = 2;
  std::array<std::size_t, std::tuple_size_v<Cells>> widths{};
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i < kNames ? fmt::format("{:<{}}  ", row[i], widths[i])
                         : fmt::format("{:>{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

// False: they cannot be counted.
bool plan_rows(const source::SourceKind& kind,
               const config::Source& source,
               const source::Target& target,
               app::Refusals& refusals,
               std::vector<PlannedTable>& tables) {
  const auto sizes = kind.count_rows(source, target);
  if (!sizes) {
    if (!refusals.explain(target.settings.name)) {
      refusals.add({.ns = target.settings.name, .what = sizes.error()});
    }
    return false;
  }
  for (const source::TableSize& size : *sizes) {
    tables.push_back(planned(target, size, sizes->size()));
  }
  return true;
}

void plan_source(const source::SourceKind& kind,
                 const config::Source& source,
                 const std::vector<source::Target>& targets,
                 Plan& plan) {
  std::vector<PlannedTable> tables;
  app::Refusals refusals;
  if (kind.is_server || kind.checks_settings_alone) {
    refusals = app::Refusals(kind.check(source, targets, std::chrono::steady_clock::now));
  }
  for (const source::Target& target : targets) {
    if (plan_rows(kind, source, target, refusals, tables)) {
      plan.overlays += target.settings.overlay.max_keys * kOverlayKeyBytes;
    }
  }
  if (kind.is_server && refusals.is_empty()) {
    plan.checked.push_back(source.name);
  }
  std::ranges::move(refusals.sentences(source.name), std::back_inserter(plan.failures));
  for (const PlannedTable& table : tables) {
    plan.steady += table.steady;
  }
  plan.rebuild += most_beside(tables, kind.is_server);
  plan.tables.insert(plan.tables.end(), tables.begin(), tables.end());
}

// As it was measured with 1,000 followers (docs/fleet.md).
std::string fleet_text(const Plan& plan, unsigned followers) {
  constexpr std::uint64_t kBytesOfAFollower = 500;
  constexpr double kCoreOfAFollower = 0.00025;
  return fmt::format(
      "A fleet of {} followers (--guards): the database serves two builders with two connections "
      "each. Redis stores {} of snapshots (twice that while new ones are written) and {} for "
      "followers, and spends about {:.1f} % of one core. Each follower receives about 4 kB/s, plus "
      "8 to 24 bytes per changed row.\n",
      followers,
      bytes_text(plan.in_redis),
      bytes_text(kBytesOfAFollower * followers),
      100 * kCoreOfAFollower * followers);
}

// Each guard tolerates as many by itself.
std::string tolerated_text(double per_second, unsigned guards) {
  if (per_second == 0) {
    return "";
  }
  std::string text = fmt::format(
      "Tolerated look-ups of absent rows that reach the database (tolerate): {} per guard",
      config::text_of_rate(per_second));
  text += guards == 1
              ? "; N guards tolerate N times as many (--guards N)"
              : fmt::format("; {} guards: {}", guards, config::text_of_rate(per_second * guards));
  return text + ".\n";
}

}  // namespace

Parser ShowPlan::add(Parser app) {
  Parser command = config.add_subcommand(
      app,
      "plan",
      "Count the rows of every source, and print how much memory their filters will need");
  command.add_option("--guards", guards, "N", "Number of guards that run with this configuration")
      .within(1, kGuardsMax)
      .otherwise(std::to_string(guards));
  return command;
}

int ShowPlan::run(const app::Guests& guests) const {
  const auto read = config.load(guests.built);
  if (!read) {
    return report(read.error());
  }
  const Plan plan = make_plan(read->config, guests);
  fmt::print("{}", describe(plan, guards));
  for (const std::string& failure : plan.failures) {
    fmt::print(stderr, "cuckooguard: {}\n", failure);
  }
  return plan.failures.empty() ? 0 : kExitFailure;
}

Plan make_plan(const config::Config& config, const app::Guests& guests) {
  Plan plan;
  OfflineTargets all(config);
  for (const config::Source& source : config.sources) {
    const std::uint64_t before = plan.steady;
    plan_source(guests.kind_of(source), source, all.targets(source.name), plan);
    if (source.publish == config::Publish::redis) {
      plan.is_published = true;
      plan.in_redis +=
          source.fleet.snapshots == config::Snapshots::redis ? plan.steady - before : 0;
    }
  }
  plan.rebuild += plan.steady;
  for (const config::Namespace& space : config.namespaces) {
    plan.tolerated += space.tolerate;
  }
  return plan;
}

std::string describe(const Plan& plan, unsigned guards) {
  std::vector<Cells> rows{{"namespace", "table", "rows", "bits/row", "steady", "at rebuild"}};
  bool has_estimates = false;
  std::set<std::string_view> unknown;
  for (const PlannedTable& table : plan.tables) {
    has_estimates = has_estimates || table.is_estimate;
    const std::string name = table.table.empty() ? "-" : table.table;
    if (!table.why_unknown.empty()) {
      unknown.insert(table.why_unknown);
      rows.push_back({table.ns, name, "?", "-", "?", "?"});
      continue;
    }
    rows.push_back({table.ns,
                    name,
                    (table.is_estimate ? "~" : "") + text::grouped(table.rows),
                    bits_per_row(table),
                    bytes_text(table.steady),
                    bytes_text(table.rebuild)});
  }
  rows.push_back({"all", "", "", "", bytes_text(plan.steady), bytes_text(plan.rebuild)});
  std::string text = aligned(rows);
  if (has_estimates) {
    text += "~ marks the server's own estimate, which may be far off shortly after its start.\n";
  }
  for (const std::string_view why : unknown) {
    text += fmt::format("? marks {}. They are not included in the sum.\n", why);
  }
  text +=
      fmt::format("In addition, up to {} for keys written through the guard (overlay.max_keys).\n",
                  bytes_text(plan.overlays));
  text += tolerated_text(plan.tolerated, guards);
  if (plan.is_published) {
    text += fleet_text(plan, guards);
  }
  for (const std::string& source : plan.checked) {
    text += fmt::format(
        "Source {}: grants, settings and tables were checked as at startup and are sufficient.\n",
        source);
  }
  return text;
}

}  // namespace cuckooguard::cli
