// Rows of a followed database, looked up (source/row_lookup.h).
//
// Threads, errors: as there.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "follow/log_feed.h"
#include "source/row_lookup.h"

namespace cuckooguard::source {

template <class Log>
class LogRowLookup : public RowLookup {
 protected:
  using RowLookup::RowLookup;

  // Whether the row is among those that the database has found, kRowsMax at most. `rows`: next(),
  // or why there are none.
  template <class Rows>
  Has is_among(Rows rows,
               const Target& target,
               const typename Log::Plan& plan,
               std::string_view identity) {
    if (!rows) {
      return std::unexpected(rows.error().what);
    }
    const auto places = places_in(plan.needed(), plan.condition_columns);
    for (std::size_t seen = 0; seen < kRowsMax; ++seen) {
      const auto next = rows->next();
      if (!next) {
        return std::unexpected(next.error().what);
      }
      const auto& row = *next;
      if (!row) {
        return false;
      }
      if (plan.condition.holds(*row, places) &&
          is_it(target, LogFeed<Log>::identity(plan, *row), identity)) {
        return true;
      }
    }
    return std::unexpected("too many rows are equal to it");
  }
};

}  // namespace cuckooguard::source
