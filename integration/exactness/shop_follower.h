// The product's follower of a log, on a thread of its own in the test's process, and what it opens views with.
//
// Threads: the test's. Errors: none; what the follower says is kept for the test's report.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "exactness/shop_tables.h"
#include "source/read_view.h"
#include "source/source_thread.h"

namespace cuckooguard::harness {

// --- ways to open a view ---

// The product's; and counts.
std::expected<source::ReadView, source::MysqlError> open_counted_view(
    source::MysqlConnection& connection);
std::uint64_t views_opened();
std::uint64_t
views_with_a_window();  // of which the server does not say whether a transaction is visible

// What the product does, and two that look right and are not. Each of them makes it certain that a row is committed in
// between: a user who has the next of the ids from kStableFrom on, downwards.
void write_beside_views(const SqlServer* server);  // null: no more
std::expected<source::ReadView, source::MysqlError> open_view_amid_writes(
    source::MysqlConnection& connection);
std::expected<source::ReadView, source::MysqlError> open_view_behind_its_position(
    source::MysqlConnection& connection);
std::expected<source::ReadView, source::MysqlError> open_view_before_its_position(
    source::MysqlConnection& connection);

// --- the follower ---

class ShopFollower final : public source::Observer {
 public:
  static constexpr std::chrono::milliseconds kMaxLag{500};

  ShopFollower(const SqlServer& server, Guarded& guarded, source::OpenView open_view);

  // All namespaces have been proven to be as current as the database was at `at`.
  bool is_proven_since(source::TimePoint at) const;
  std::string reports() const;  // the last of them

 private:
  void on_progress(const source::Progress&) override {}
  void on_state(std::string_view ns, filter::State state, std::string_view why) override;

  Guarded& guarded_;
  mutable std::mutex mutex_;
  std::vector<std::string> reports_;
  source::SourceThread thread_;
};

}  // namespace cuckooguard::harness
