#include "upstream/filter_log.h"

#include <utility>

#include "upstream/log_follower.h"

namespace cuckooguard::upstream {

FilterLog::FilterLog(FindRedis find_redis,
                     Settings settings,
                     filled::Filters& filters,
                     Calls calls,
                     const io::TlsSlot* tls)
    : follower_(std::make_unique<LogFollower>(
          std::move(find_redis), std::move(settings), filters, std::move(calls), tls)) {}

FilterLog::~FilterLog() {
  thread_ = {};  // before what it works with
}

void FilterLog::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { follower_->run(stop); });
}

void FilterLog::submit(std::shared_ptr<filled::Change> change) {
  follower_->submit(std::move(change));
}

bool FilterLog::is_current(filled::TimePoint now) const noexcept {
  return follower_->is_current(now);
}

FilterLog::Status FilterLog::status() const {
  return follower_->status();
}

}  // namespace cuckooguard::upstream
