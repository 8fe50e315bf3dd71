#include "source/source_thread.h"

#include <utility>

namespace cuckooguard::source {

SourceThread::SourceThread(std::unique_ptr<Follower> follower, std::unique_ptr<RowLookup> rows)
    : follower_(std::move(follower)), rows_(std::move(rows)) {}

SourceThread::~SourceThread() {
  stop();
}

void SourceThread::start() {
  if (!thread_.joinable()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
}

void SourceThread::stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
}

void SourceThread::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto pause = follower_->step(stop);
    // The predicate is never true: the pause ends by its time or by the stop.
    woken_.wait_for(lock, stop, pause, [] { return false; });
  }
  follower_->finish();
}

}  // namespace cuckooguard::source
