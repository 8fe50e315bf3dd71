#include "report.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace cuckooguard::demo {
namespace {

// 1234567 as 1,234,567.
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string row(std::string_view what, std::string_view without, std::string_view with) {
  return fmt::format("  {:<34}{:>16}{:>16}\n", what, without, with);
}

std::string row(std::string_view what, std::uint64_t without, std::uint64_t with) {
  return row(what, grouped(without), grouped(with));
}

std::string milliseconds(std::chrono::nanoseconds time) {
  return fmt::format("{:.2f} ms", std::chrono::duration<double, std::milli>(time).count());
}

// Every existing key that was answered absent is one of a burst's new rows, or was there all the
// time.
std::uint64_t hidden_existing_of(const PhaseResult& phase) {
  return phase.tally.existing_answered_absent - phase.bursts.hidden_in_window;
}

// What only a client of a cluster meets.
std::string cluster_rows(const Verdict& verdict) {
  const auto& [without, with, is_of_cluster] = verdict;
  return !is_of_cluster
             ? ""
             : row("redirects followed (MOVED, ASK)",
                   without.detours.redirects,
                   with.detours.redirects) +
                   row("attempts while a master changed",
                       without.detours.retries,
                       with.detours.retries) +
                   row("look-ups that came to nothing", without.tally.errors, with.tally.errors);
}

// Nothing after a run without the guard alone.
std::string stopped_line(const Verdict& verdict) {
  return verdict.with.tally.absent_lookups == 0
             ? ""
             : fmt::format(
                   "\n  With the guard, {:.2f} % of the look-ups of absent keys reached neither "
                   "Redis nor the database.\n",
                   100 * verdict.stopped_share());
}

}  // namespace

std::uint64_t Verdict::hidden_existing() const {
  return hidden_existing_of(without) + hidden_existing_of(with);
}

std::uint64_t Verdict::hidden_in_window() const {
  return without.bursts.hidden_in_window + with.bursts.hidden_in_window;
}

double Verdict::stopped_share() const {
  const std::uint64_t reached = std::max(with.absent_gets(), with.tally.absent_database_queries);
  return 1.0 - static_cast<double>(reached) / static_cast<double>(with.tally.absent_lookups);
}

bool Verdict::is_good() const {
  return hidden_existing() == 0 && stopped_share() >= kStoppedShareMin &&
         with.tally.errors <= without.tally.errors;
}

std::string table(const Verdict& verdict) {
  const auto& [without, with, is_of_cluster] = verdict;
  return row("", "without guard", "with guard") +
         row("look-ups by the application", without.tally.lookups, with.tally.lookups) +
         row("  of keys that do not exist",
             without.tally.absent_lookups,
             with.tally.absent_lookups) +
         row("GETs that Redis saw", without.redis_gets, with.redis_gets) +
         row("  of keys that do not exist", without.absent_gets(), with.absent_gets()) +
         row("database queries", without.tally.database_queries, with.tally.database_queries) +
         row("  of keys that do not exist",
             without.tally.absent_database_queries,
             with.tally.absent_database_queries) +
         row("look-ups per second",
             static_cast<std::uint64_t>(without.lookups_per_second),
             static_cast<std::uint64_t>(with.lookups_per_second)) +
         row("p99 of a look-up", milliseconds(without.p99), milliseconds(with.p99)) +
         cluster_rows(verdict) + stopped_line(verdict);
}

std::string inserts_line(const Verdict& verdict, bool source_is_followed) {
  const auto passing = verdict.with.bursts.probes_passed * kProbePace / kBursts;
  return fmt::format(
      "New rows: {} bursts of {}, each row read at once and again after {} ms; hidden: {} and {}. "
      "After a burst the guard {} and passed everything for about {} ms; the attack was slowed "
      "down for that time.",
      kBursts,
      kBurstRows,
      kMaxLag.count(),
      verdict.with.bursts.hidden_in_window,
      verdict.with.bursts.hidden_existing,
      source_is_followed ? "knew the rows from the log" : "read the table again",
      passing.count());
}

std::string changes_line(const Verdict& verdict) {
  return fmt::format(
      "After {} slots had moved, and a replica had taken over, the guard passed some keys for "
      "about {} ms; the attack was slowed down from the first slot until then.",
      kMovedSlots,
      verdict.with.unguarded.count());
}

std::string machine_line(const Verdict& verdict) {
  const auto& [without, with, is_of_cluster] = verdict;
  const std::string of_cluster =
      fmt::format(" errors_without={} errors_with={}", without.tally.errors, with.tally.errors);
  return fmt::format(
      "demo: lookups={} absent={} redis_gets_without={} redis_gets_with={} db_queries_without={} "
      "db_queries_with={} hidden_existing_keys={} hidden_in_window={} window_ms={}{}",
      with.tally.lookups,
      with.tally.absent_lookups,
      without.redis_gets,
      with.redis_gets,
      without.tally.database_queries,
      with.tally.database_queries,
      verdict.hidden_existing(),
      verdict.hidden_in_window(),
      kMaxLag.count(),
      is_of_cluster ? of_cluster : "");
}

}  // namespace cuckooguard::demo
