// One load: the rows of a snapshot on their way into a filter that look-ups do not see yet.
//
//   begin(rows) ─▶ add(row) … ─▶ complete() ─▶ take()
//     ▲                              └─▶ too_small ─┐
//     └─────────────────────────────────────────────┘ the same rows again, from the first one
//
// When the filter is full the rest of the rows are only counted, so that the next one has room for
// all: a server's estimate may be off a thousandfold (seen: MySQL, 812 for 1,000,000 rows, filled
// in just before a restart), and a row that is streamed has to be read whether it is wanted or not.
//
// Threads: one, which is not the one that look-ups or proofs run on; the observer is called on it.
// Errors: values; `refused` says why. Limits: filter::choose_sizing's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "filter/cuckoo_filter.h"
#include "filter/isolated_rows.h"
#include "filter/sizing.h"
#include "keyspace/identity.h"
#include "keyspace/identity_pattern.h"
#include "source/source.h"

namespace cuckooguard::source {

// What a filter does about rows that go, as the operator wants it and the table allows. That
// `trusted` is wanted of a table with several rows per identity is refused when that is planned.
// `identity_is_unique`: a NOT NULL unique key of the one table.
constexpr filter::DeleteMode chosen_deletes(config::Deletes wanted, bool identity_is_unique) {
  using filter::DeleteMode;
  switch (wanted) {
    case config::Deletes::exact:
      return DeleteMode::exact;
    case config::Deletes::deferred:
      return DeleteMode::deferred;
    case config::Deletes::automatic:
    case config::Deletes::trusted:
      break;
  }
  return identity_is_unique ? DeleteMode::trusted : DeleteMode::deferred;
}

// The filter that a load begins with, for one of `parts` tables, of which a look-up asks all: each
// may take its share of the namespace's false positives, and gets its share of a configured
// capacity. `capacity_min`: what is known to be needed.
inline filter::Sizing load_sizing(const config::Filter& wanted,
                                  std::size_t parts,
                                  std::uint64_t rows,
                                  filter::DeleteMode deletes,
                                  std::uint64_t capacity_min = 0) {
  const std::uint64_t share = (wanted.capacity.value_or(0) + parts - 1) / parts;
  const double rate = wanted.false_positive_rate / static_cast<double>(parts);
  return filter::choose_sizing(
      rate, std::max({share, filter::automatic_capacity(rows), capacity_min}), deletes);
}

// A row as the filter knows it: the hash of its identity.
// Lifetimes: the target outlives it. Errors: a sentence that names the row, if not all of its keys
// are known (keyspace).
class RowHash {
 public:
  struct Hashed {
    std::uint64_t hash = 0;
    std::uint64_t number = 0;  // the identity, where it is one integer; else 0
    bool is_isolated = false;  // its pattern() goes beside the filter
  };

  explicit RowHash(const Target& target) : target_(target) {}

  // In the order of Keyspace::identity_columns, nullopt for NULL. Nothing if one of them is NULL:
  // no key can name this row.
  std::expected<std::optional<Hashed>, std::string> operator()(
      std::span<const std::optional<std::string_view>> values);

  keyspace::IdentityPattern pattern(std::span<const std::optional<std::string_view>> values) const {
    return target_.keyspace.pattern_of_row(target_.ns, values);
  }
  // For people: that this row is isolated, and that there are more than can be.
  std::string isolated_text(std::span<const std::optional<std::string_view>> values) const;
  std::string too_many_isolated_text(std::span<const std::optional<std::string_view>> values,
                                     std::size_t rows_max) const;

 private:
  Target target_;
  keyspace::IdentityBuffer scratch_;
};

enum class Intake : std::uint8_t {
  taken,
  too_small,  // begin again: the next filter will be larger
  refused,    // the row makes the namespace unsynced; further rows are of no use
};

class FilterLoad {
 public:
  struct Loaded {
    std::unique_ptr<filter::CuckooFilter> filter;
    std::uint64_t largest_id = 0;
    bool ids_grow = false;
    filter::IsolatedRows isolated{};
    std::string first_isolated{};  // in words, if there is one
  };

  // `name`: in reports.
  FilterLoad(const Target& target, std::string name, Observer& observer, Clock clock);

  // Of so many parts, of which a look-up asks all: each may take its share of the namespace's false
  // positives, and gets its share of a configured capacity.
  void be_one_of(std::size_t parts) { parts_ = std::max<std::size_t>(parts, 1); }
  // `deletes`: whether, and how, the published filter is told of rows that go. Refused if there is
  // no memory for a filter of this size.
  Intake begin(std::uint64_t rows_expected, filter::DeleteMode deletes);
  // After begin(): a new row gets the next id, and ids up to `used` were given before.
  void ids_grow(std::uint64_t used);
  // In the order of Keyspace::identity_columns; nullopt for NULL. Taken or refused.
  Intake add(std::span<const std::optional<std::string_view>> values);
  // One whose hash is known, and that is not isolated.
  void add(std::uint64_t hash);
  // Taken or too small.
  Intake complete();
  // Of a load that was completed.
  Loaded take();
  // The filter, completed: for changes since the snapshot.
  filter::CuckooFilter& filter() { return *next_; }

  const std::string& why_refused() const { return why_refused_; }

 private:
  static constexpr std::size_t kBatch = 256;
  static constexpr std::uint64_t kRowsPerClock = 4096;

  void count_row();
  void put(std::uint64_t hash);
  void flush();
  void progress(bool complete);

  bool isolate(std::uint64_t hash, std::span<const std::optional<std::string_view>> values);

  Target target_;
  std::string name_;
  Observer& observer_;
  Clock clock_;
  RowHash hash_;

  filter::IsolatedRows isolated_;
  std::string first_isolated_;
  std::unique_ptr<filter::CuckooFilter> next_;  // none: it was too small
  std::vector<std::uint64_t> batch_;
  std::size_t parts_ = 1;
  std::uint64_t capacity_min_ = 0;  // grows when a filter was too small
  std::uint64_t rows_ = 0;
  std::uint64_t rows_expected_ = 0;
  std::uint64_t largest_id_ = 0;
  bool ids_grow_ = false;
  TimePoint began_at_{};
  TimePoint progress_due_{};
  std::string why_refused_;
};

}  // namespace cuckooguard::source
