#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>

#include "guard/promised_reply.h"

namespace cuckooguard::guard {

void KnownReplies::add(Waiters& waiters) noexcept {
  std::unique_lock lock(mutex_);
  const bool is_first = waiters_.empty();
  waiters_.splice(waiters_.end(), waiters);
  if (is_first) {
    post(lock);
  }
}

KnownReplies::Waiters KnownReplies::take() {
  std::unique_lock lock(mutex_);
  const auto count = static_cast<std::ptrdiff_t>(std::min(waiters_.size(), kPerTurn));
  Waiters next;
  next.splice(next.end(), waiters_, waiters_.begin(), std::next(waiters_.begin(), count));
  if (!waiters_.empty()) {
    post(lock);
  }
  return next;
}

void KnownReplies::close() {
  const std::lock_guard lock(mutex_);
  post_ = nullptr;
  closed_.notify_all();
}

// With the lock: once closed, nobody is at it.
void KnownReplies::post(std::unique_lock<std::mutex>& lock) {
  while (post_) {
    try {
      return post_();
    } catch (const std::exception&) {
      closed_.wait_for(lock, std::chrono::milliseconds(1));
    }
  }
}

}  // namespace cuckooguard::guard
