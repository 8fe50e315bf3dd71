// The rows of one table that a stretch of a trigger log speaks of: what each was before it, from
// the log, and what it is after it, from the table itself.
//
//   came   a row with this identity was put there           nothing -> row
//   gone   a row with this identity was taken away          row -> nothing
//   seen   a row with this identity was there, and what is about to be written may take its place:
//          a REPLACE removes rows without a word (recursive_triggers is off by default), an upsert
//          or IGNORE does not
//
// A row is named by all its logged values: one whose condition's columns change is gone, and
// another has come.
//
// The first entry of a row tells whether it was there before the stretch, the table whether it is
// there now; the filter is told of the difference. So it does not matter what a `seen` has come to,
// nor how often a row was replaced: the filter has one copy of each row.
//
// Must: a row that was not there is never taken for one that was, since the filter would then erase
// what it does not
//       have, and with it perhaps another key. A row that comes is always logged, but a trigger of
//       the application that runs in the middle of the insert can have its own changes of that row
//       logged first. Then one `came` too many stands behind them: two in a row, or a last one
//       where the table has no row. So what does not explain itself is refused, and the table is to
//       be read again.
//
// Threads: the source's. Errors: values. Limits: as many rows as the log holds (kLogRowsMax), about
// 100 bytes each.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "source/transaction.h"

namespace cuckooguard::source::sqlite {

class TouchedRows {
 public:
  enum class Event : std::int8_t { gone = -1, seen = 0, came = 1 };

  // The log's next entry. `hash` is the identity's, `is_there` what the table says now. False: this
  // cannot be.
  [[nodiscard]] bool add(const RowName& row, std::uint64_t hash, Event event, bool is_there);

  // After the last entry: the log has led to what the table says.
  [[nodiscard]] bool is_explained() const;

  template <class Insert>
  void for_each_insert(const Insert& insert) const {
    for (const auto& [name, row] : rows_) {
      if (!row.was_there && row.is_there) {
        insert(row.hash);
      }
    }
  }
  // After all inserts, of all tables: no look-up sees a row gone that has only moved.
  template <class Erase>
  void for_each_erase(const Erase& erase) const {
    for (const auto& [name, row] : rows_) {
      if (row.was_there && !row.is_there) {
        erase(row.hash);
      }
    }
  }

 private:
  enum class Logged : std::uint8_t { absent, present, either };

  struct Row {
    std::uint64_t hash = 0;
    bool was_there = false;
    bool is_there = false;
    Logged logged = Logged::either;
  };
  struct NameHash {
    std::size_t operator()(const RowName& name) const { return name.low; }
  };

  std::unordered_map<RowName, Row, NameHash> rows_;
};

}  // namespace cuckooguard::source::sqlite
