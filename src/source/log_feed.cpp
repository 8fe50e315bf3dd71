#include "source/log_feed.h"

namespace cuckooguard::source {

using filter::EraseOutcome;
using filter::InsertOutcome;

Feed::Intake LogFeed::load_row(RowValues values) {
  return feed_.add(identity(values));
}

std::expected<Transaction::Image, std::string> LogFeed::image(RowValues values) {
  return feed_.hash_of(identity(values));
}

std::expected<void, std::string> LogFeed::change(const Transaction& transaction) {
  bool is_full = false;
  bool is_missing = false;
  filter::LiveFilter& live = feed_.live();
  transaction.apply(
      [&](std::uint64_t hash) { is_full = is_full || live.insert(hash) == InsertOutcome::full; },
      [&](std::uint64_t hash) {
        is_missing = is_missing || live.erase(hash) == EraseOutcome::not_found;
      });
  if (is_full) {
    return std::unexpected("the filter is full: it is built again, larger");
  }
  if (is_missing) {
    return std::unexpected("the log takes a row away that the filter does not have");
  }
  return {};
}

}  // namespace cuckooguard::source
