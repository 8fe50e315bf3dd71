// The product's follower of a log, on a thread of its own in the test's process, and what it opens
// views with.
//
// Threads: the test's. Errors: none; what the follower says is kept for the test's report.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "exactness/reports.h"
#include "exactness/shop_tables.h"
#include "mysql/read_view.h"
#include "source/source_kind.h"
#include "source/storage_directory.h"

namespace cuckooguard::harness {

// --- ways to open a view ---

// The product's.
std::expected<source::mysql::ReadView, source::mysql::Error> open_counted_view(
    source::mysql::Connection& connection);
// The same, and two that look right and are not, with time in between for what should not matter:
// each calls `meanwhile` between its steps.
std::expected<source::mysql::ReadView, source::mysql::Error> open_wide_view(
    source::mysql::Connection& connection);
std::expected<source::mysql::ReadView, source::mysql::Error> open_view_behind_its_position(
    source::mysql::Connection& connection);
std::expected<source::mysql::ReadView, source::mysql::Error> open_view_before_its_position(
    source::mysql::Connection& connection);
// To be set while there is no follower.
void set_meanwhile(std::function<void()> meanwhile);

std::uint64_t views_opened();  // rightly
std::uint64_t
views_with_a_window();  // of which the server does not say whether a transaction is visible

// --- the follower ---

class ShopFollower {
 public:
  static constexpr std::chrono::milliseconds kMaxLag{500};

  // `storage`: null: none.
  ShopFollower(const SqlServer& server,
               GuardedFilters& guarded,
               source::mysql::OpenView open_view,
               const source::StorageDirectory* storage = nullptr,
               std::chrono::milliseconds max_lag = kMaxLag);

  // All namespaces have been proven to be as current as the database was at `at`.
  bool is_proven_since(source::TimePoint at) const;
  std::string reports() const { return reports_.last(); }

 private:
  GuardedFilters& guarded_;
  Reports reports_;
  source::SourceThread thread_;
};

}  // namespace cuckooguard::harness
