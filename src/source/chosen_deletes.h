// What a filter does about rows that go, as the operator wants it and the table allows.
//
// Threads: any. Errors: none; that `trusted` is wanted of a table with several rows per identity is
// refused when the table is planned.
#pragma once

#include "config/config.h"
#include "filter/sizing.h"

namespace cuckooguard::source {

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

}  // namespace cuckooguard::source
