#include "source/log_feed.h"

namespace cuckooguard::source {

using filter::EraseOutcome;
using filter::InsertOutcome;

std::expected<Transaction::Image, std::string> LogFeed::image(RowValues values) {
  return feed_.hash_of(identity(plan_, values));
}

bool LogFeed::has_reached(const LogPosition& applied) {
  if (since_ && applied.covers(*since_)) {
    since_.reset();
  }
  return !since_;
}

std::expected<void, std::string> LogFeed::change(const CommitMark& mark,
                                                 const Transaction& transaction) {
  if (!is_live_) {
    if (!pending_.add(mark, transaction)) {
      return std::unexpected("more rows are changed than can be kept while a view is opened");
    }
    return {};
  }
  if (since_ && since_->covers(mark.gtid)) {
    return {};
  }
  bool is_full = false;
  bool is_missing = false;
  filter::LiveFilter& live = feed_.target().live;
  transaction.apply(
      [&](std::uint64_t hash) { is_full = is_full || live.insert(hash) == InsertOutcome::full; },
      [&](std::uint64_t hash) {
        is_missing = is_missing || live.erase(hash) == EraseOutcome::not_found;
      });
  feed_.follow_growth();
  if (is_full) {
    return std::unexpected("the filter is full: it is built again, larger");
  }
  if (is_missing) {
    return std::unexpected("the log takes a row away that the filter does not have");
  }
  return {};
}

}  // namespace cuckooguard::source
