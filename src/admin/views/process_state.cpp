#include "views/process_state.h"

#include <algorithm>

namespace cuckooguard::views {
namespace {

bool is_of(std::string_view what, std::string_view ns) {
  return what.starts_with(ns) && (what.size() == ns.size() || what[ns.size()] == '/');
}

// Tables are loaded one after the other or side by side: the longest tells when all are in.
void add(Load& all, const Load& one) {
  const double rows = all.fraction * static_cast<double>(all.rows_expected) +
                      one.fraction * static_cast<double>(one.rows_expected);
  all.rows += one.rows;
  all.rows_expected += one.rows_expected;
  all.rows_per_second += one.rows_per_second;
  all.fraction =
      all.rows_expected == 0 ? one.fraction : rows / static_cast<double>(all.rows_expected);
  all.remaining = std::max(all.remaining, one.remaining);
}

}  // namespace

void LoadBoard::put(std::string_view what, const Load& load, io::TimePoint now) {
  const std::lock_guard lock(mutex_);
  loads_.insert_or_assign(std::string(what), Entry{.load = load, .written = now});
}

void LoadBoard::remove(std::string_view what) {
  const std::lock_guard lock(mutex_);
  if (const auto found = loads_.find(what); found != loads_.end()) {
    loads_.erase(found);
  }
}

std::optional<Load> LoadBoard::of(std::string_view ns, io::TimePoint now) const {
  const std::lock_guard lock(mutex_);
  std::optional<Load> all;
  for (const auto& [what, entry] : loads_) {
    if (!is_of(what, ns) || now - entry.written > kShownFor) {
      continue;
    }
    if (all) {
      add(*all, entry.load);
    } else {
      all = entry.load;
    }
  }
  return all;
}

void LoadBoard::count_trouble(std::string_view source) {
  const std::lock_guard lock(mutex_);
  ++troubles_[std::string(source)];
}

std::uint64_t LoadBoard::troubles(std::string_view source) const {
  const std::lock_guard lock(mutex_);
  const auto found = troubles_.find(source);
  return found == troubles_.end() ? 0 : found->second;
}

bool Heartbeat::is_alive(io::TimePoint now) {
  if (has_arrived_ != nullptr && !has_arrived_->load(std::memory_order_acquire)) {
    return now - sent_ < kStalledAfter;
  }
  has_arrived_ = std::make_shared<std::atomic<bool>>(false);
  sent_ = now;
  post_([arrived = has_arrived_] { arrived->store(true, std::memory_order_release); });
  return true;
}

}  // namespace cuckooguard::views
