#include "mysql/log_feed.h"

#include <algorithm>
#include <array>
#include <span>

namespace cuckooguard::source {

using filter::EraseOutcome;
using filter::InsertOutcome;

namespace {

constexpr std::size_t kInsertsAtOnce = 256;

std::expected<void, std::string> found_all(bool is_so) {
  if (!is_so) {
    return std::unexpected("the log takes a row away that the filter does not have");
  }
  return {};
}

}  // namespace

LogFeed::LogFeed(Feed& feed, const MysqlTable& plan) : feed_(feed), plan_(plan) {
  const std::vector<std::size_t> needed = plan.needed();
  for (const std::size_t column : plan.condition_columns) {
    condition_places_.push_back(
        static_cast<std::size_t>(std::ranges::find(needed, column) - needed.begin()));
  }
}

std::expected<Transaction::Image, std::string> LogFeed::image(RowValues values) {
  // Also of a row that does not count, for its id: the next one is above it, and may.
  const bool is_counted = counts(values);
  auto hash = feed_.hash_of(identity(plan_, values), is_counted);
  if (!is_counted) {
    return std::nullopt;
  }
  return hash;
}

bool LogFeed::has_reached(const LogPosition& applied) {
  if (since_ && applied.covers(*since_)) {
    since_.reset();
  }
  return !since_;
}

std::expected<void, std::string> LogFeed::insert(const CommitMark& mark,
                                                 const Transaction& transaction) {
  if (!is_live_) {
    if (!pending_.add(mark, transaction)) {
      return std::unexpected("more rows are changed than can be kept while a view is opened");
    }
    return {};
  }
  if (has(mark.gtid)) {
    return {};
  }
  ++changes_;
  std::array<std::uint64_t, kInsertsAtOnce> hashes;
  std::size_t count = 0;
  bool is_full = false;
  const auto insert_them = [&] {
    is_full = is_full || feed_.live().insert(std::span(hashes).first(count)) == InsertOutcome::full;
    count = 0;
  };
  bool is_missing = false;
  transaction.for_each_insert([&](std::uint64_t hash) {
    if (erasures_.take_back(hash)) {
      is_missing = is_missing || !feed_.live().writable()->may_contain(hash);
      return;
    }
    hashes[count++] = hash;
    if (count == hashes.size()) {
      insert_them();
    }
  });
  insert_them();
  feed_.follow_growth();
  if (is_full) {
    return std::unexpected("the filter is full: it is built again, larger");
  }
  return found_all(!is_missing);
}

std::expected<void, std::string> LogFeed::erase(const CommitMark& mark,
                                                const Transaction& transaction) {
  if (!is_live_ || has(mark.gtid)) {
    return {};  // pending with the inserts
  }
  bool is_missing = false;
  erasures_.add(mark, transaction, [&](std::uint64_t hash) {
    is_missing = is_missing || feed_.live().erase(hash) == EraseOutcome::not_found;
  });
  return found_all(!is_missing);
}

std::expected<void, std::string> LogFeed::take_pending(filter::CuckooFilter& filter,
                                                       LogPosition position,
                                                       const LogPlace& place) {
  bool is_full = false;
  bool is_missing = false;
  erasures_.begin_all(std::move(position), place);
  pending_.take(
      [&](std::uint64_t hash) {
        if (erasures_.take_back(hash)) {
          is_missing = is_missing || !filter.may_contain(hash);
        } else {
          is_full = is_full || filter.insert(hash) == InsertOutcome::full;
        }
      },
      [this](std::uint64_t hash) { erasures_.add_one(hash); });
  if (is_full) {
    return std::unexpected("the table has grown beyond the filter while it was read");
  }
  return found_all(!is_missing);
}

std::expected<void, std::string> LogFeed::make_erasures(const Committed& committed) {
  bool is_missing = false;
  erasures_.make(committed, [&](std::uint64_t hash) {
    ++changes_;
    is_missing = is_missing || feed_.live().erase(hash) == EraseOutcome::not_found;
  });
  return found_all(!is_missing);
}

bool LogFeed::wants_rebuild() const {
  const filter::CuckooFilter* const filter = feed_.live().writable();
  return filter != nullptr && filter->stats().rebuild_needed;
}

}  // namespace cuckooguard::source
