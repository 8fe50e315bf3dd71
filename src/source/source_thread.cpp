#include "source/source_thread.h"

#include <utility>

namespace cuckooguard::source {

SourceThread::SourceThread(std::unique_ptr<Follower> follower,
                           std::unique_ptr<RowLookup> rows,
                           filter::Questions* questions)
    : follower_(std::move(follower)), rows_(std::move(rows)), questions_(questions) {}

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
  while (!stop.stop_requested()) {
    pause(follower_->step(stop), stop);
  }
  follower_->finish();
}

void SourceThread::pause(std::chrono::nanoseconds most, const std::stop_token& stop) {
  const auto pace = follower_->question_pace();
  if (questions_ != nullptr && pace) {
    questions_->wait(most, *pace, stop);
    return;
  }
  std::unique_lock lock(mutex_);
  // The predicate is never true: the pause ends by its time or by the stop.
  woken_.wait_for(lock, stop, most, [] { return false; });
}

}  // namespace cuckooguard::source
