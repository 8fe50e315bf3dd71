#include "mysql/deferred_erasures.h"

#include <utility>

namespace cuckooguard::source {

bool Committed::covers(const LogGtid& gtid, const LogPlace& end, bool is_xa_commit) const {
  if (std::holds_alternative<binlog::MySqlGtid>(gtid)) {
    return position.covers(gtid);
  }
  return place >= end && (has_xa || !is_xa_commit);
}

bool DeferredErasures::Group::is_covered_by(const Committed& committed) const {
  return all && !all->is_mariadb() ? committed.position.covers(*all)
                                   : committed.covers(gtid, end, is_xa_commit);
}

void DeferredErasures::begin_all(LogPosition all, const LogPlace& end) {
  // There may be an XA COMMIT among them.
  groups_.push_back(
      {.gtid = {}, .end = end, .is_xa_commit = true, .all = std::move(all), .hashes = {}});
}

void DeferredErasures::add_one(std::uint64_t hash) {
  groups_.back().hashes.push_back(hash);
  ++waiting_[hash].erasures;
  ++hashes_;
}

bool DeferredErasures::take_back(std::uint64_t hash) {
  const auto found = waiting_.find(hash);
  if (found == waiting_.end() || found->second.taken_back == found->second.erasures) {
    return false;
  }
  ++found->second.taken_back;
  return true;
}

bool DeferredErasures::is_due(std::uint64_t hash) {
  const auto found = waiting_.find(hash);
  Waiting& waiting = found->second;
  const bool is_taken_back = waiting.taken_back > 0;
  waiting.taken_back -= is_taken_back ? 1 : 0;
  if (--waiting.erasures == 0) {
    waiting_.erase(found);
  }
  return !is_taken_back;
}

}  // namespace cuckooguard::source
