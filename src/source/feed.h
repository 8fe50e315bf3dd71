// One part of a namespace, a table, on its way from rows to look-ups: what a source loads, publishes and proves for it.
//
//   begin(rows) ─▶ add(row) … ─▶ complete() publishes ─▶ prove(until) … ─▶ expire() ─▶ begin(rows) …
//                     └─▶ refuse(why): unsynced until the next load
//
// Must: no absent verdict is possible between expire() and the next prove(), and prove() does nothing for a namespace
//       whose last load was not completed.
// Called by: an Origin gives it rows, Rescan the rest. Threads: the source's; it is the one writer of the live filter.
// Errors: values. A filter that turns out too small says so; the rows must then be given again from the first one.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filter/cuckoo_filter.h"
#include "filter/key_hash.h"
#include "keyspace/identity_buffer.h"
#include "source/growth_window.h"
#include "source/source.h"

namespace cuckooguard::source {

class Feed {
 public:
  enum class Intake : std::uint8_t {
    taken,
    too_small,  // begin again: the next filter will be larger
    refused,    // the row makes the namespace unsynced; further rows are of no use
  };

  // `live` is the part of target.parts with the name `table`.
  Feed(const Target& target,
       filter::LiveFilter& live,
       std::string table,
       Observer& observer,
       Clock clock,
       std::chrono::nanoseconds max_lag);

  const Target& target() const { return target_; }
  filter::LiveFilter& live() { return live_; }
  const std::string& table() const { return table_; }

  // --- a load ---
  void snapshot_begins(TimePoint now) { snapshot_at_ = now; }
  // `deletes`: whether, and how, the published filter is told of rows that go. Refused if there is no
  // memory for a filter of this size.
  Intake begin(std::uint64_t rows_expected,
               filter::DeleteMode deletes = filter::DeleteMode::deferred);
  // After begin(): a new row gets the next id, and ids up to `used` were given before.
  void ids_grow(std::uint64_t used);
  // In the order of Keyspace::identity_columns; nullopt for NULL.
  Intake add(std::span<const std::optional<std::string_view>> values);
  Intake complete();
  void refuse(std::string_view why);

  // What a row is to the filter of every load; nothing if one of its values is NULL.
  std::expected<std::optional<std::uint64_t>, std::string> hash_of(
      std::span<const std::optional<std::string_view>> values);

  // --- between loads ---
  void expire() { live_.set_fresh_until(TimePoint::min()); }
  // Nothing has changed since the snapshot in force, as was so at `at`.
  void prove(TimePoint at);
  void report(filter::State state, std::string_view why);
  // The same, unless the namespace is unsynced: then that is what matters about it.
  void report_unless_refused(filter::State state, std::string_view why);

 private:
  static constexpr std::size_t kBatch = 256;
  static constexpr std::uint64_t kRowsPerClock = 4096;

  Intake flush();
  void progress(bool complete);

  Target target_;
  filter::LiveFilter& live_;
  std::string table_;
  std::string name_;  // for reports
  Observer& observer_;
  Clock clock_;
  std::chrono::nanoseconds max_lag_;
  keyspace::IdentityBuffer scratch_;
  GrowthWindow window_;

  std::unique_ptr<filter::CuckooFilter> next_;
  std::vector<std::uint64_t> batch_;
  std::uint64_t capacity_min_ = 0;  // grows when a filter was too small
  std::uint64_t rows_ = 0;
  std::uint64_t rows_expected_ = 0;
  std::uint64_t largest_id_ = 0;
  bool ids_grow_ = false;
  TimePoint snapshot_at_{};
  TimePoint began_at_{};
  TimePoint progress_due_{};

  bool loaded_ = false;  // the last load was completed
  std::optional<TimePoint> proven_at_;
  std::optional<filter::State> state_;
  std::string why_;
};

}  // namespace cuckooguard::source
