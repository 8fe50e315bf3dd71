// One table of a change stream on its way into its filter.
//
//   waiting ── first row of a snapshot ─▶ loading ── its last row ─▶ following ── changes …
//      ▲                                     │                           │
//      └──────────────── doubt: what is not understood, a gap ───────────┘
//
// A snapshot is whole if its first row and its last say that they are. (Of a table of one row that
// can be one of the two: `first` alone does not tell it from a snapshot that was broken off.) One
// may come while the table is followed: its rows go into another filter, which takes the place of
// the one in force when it ends.
//
// The filter counts its rows (`exact`): one that two messages tell of, as those between a snapshot
// and the log's first changes may, is counted twice rather than not at all, and passes longer.
//
// Threads: the source's. Lifetimes: the feed outlives it. Errors: doubt(), in words without values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "debezium/decoder.h"
#include "debezium/message.h"
#include "source/feeds.h"

namespace cuckooguard::source::stream {

// Which columns are asked for, and what each is for.
struct TablePlan {
  debezium::Table wanted;
  std::vector<std::size_t> identity;   // places in wanted.columns, in identity order
  std::vector<std::size_t> condition;  // likewise, as condition.columns()
  bool has_whole_before = false;       // of every update and delete, not the key's columns alone
};

class StreamedTable {
 public:
  using Change = debezium::Change;
  using Row = debezium::Row;

  StreamedTable(Feed& feed, TablePlan plan) : feed_(&feed), plan_(std::move(plan)) {}

  // `is_whole`: its channel was read from its beginning on. `rows`: how many there may be.
  void snapshot_row(const Change& row, bool is_whole, std::uint64_t rows);
  // A change of the log has come in its channel.
  void log_goes_on();
  void apply(const Change& change);
  // Everything passes until a snapshot comes.
  void doubt(std::string_view why);
  // All messages are read again from the first one.
  void begin_anew(std::string_view why);

  bool is_following() const { return phase_ == Phase::following; }
  // The rows of its snapshot are to be read again, into a larger filter.
  bool wants_rows_again() const { return wants_rows_again_; }
  void prove(TimePoint at);
  Feed& feed() { return *feed_; }

 private:
  enum class Phase : std::uint8_t { waiting, loading, following };
  using Values = std::span<const std::optional<std::string_view>>;
  using Hash = std::optional<std::uint64_t>;  // nothing: no such row, or none that has a key

  // In the order of the columns; until the next.
  std::expected<Values, std::string> values_of(Row row, std::span<const std::size_t> columns);
  std::expected<Hash, std::string> hash_of(Row row, bool counts);
  std::expected<Hash, std::string> hash_before(const Change& change);
  std::expected<void, std::string> change_row(const Change& change);
  std::expected<bool, std::string> holds(Row row);
  std::expected<std::optional<std::string_view>, std::string> value_of(Row row, std::size_t column);
  bool begins_snapshot(const Change& row, bool is_whole) const;
  void load(const Change& row);
  void end_snapshot();
  void clear();
  void insert(std::uint64_t hash);
  void grow();

  Feed* feed_;
  TablePlan plan_;
  Phase phase_ = Phase::waiting;
  bool is_within_snapshot_ = false;  // its last row has yet to come
  bool wants_rows_again_ = false;
  std::vector<std::optional<std::string_view>> values_;
};

}  // namespace cuckooguard::source::stream
