#include "filled/change_queue.h"

#include <algorithm>
#include <utility>

namespace cuckooguard::filled {
namespace {

using Status = Outcome::Status;

std::size_t bytes_of(const Operation& operation) {
  constexpr std::size_t kRest = 64;  // kind, shape, numbers
  return kRest + operation.bytes();
}

}  // namespace

ChangeQueue::~ChangeQueue() {
  close("the guard is shutting down");
  lose("the guard is shutting down");
}

bool ChangeQueue::push(std::shared_ptr<Change> change, TimePoint now) {
  const std::size_t bytes = bytes_of(change->operation());
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      why = *closed_;
    } else if (changes_ >= limits_.changes || bytes_ + bytes > limits_.bytes) {
      why = "too many changes are waiting for Redis";
    } else {
      waiting_.push_back({.change = std::move(change), .due = now + limits_.wait, .bytes = bytes});
      ++changes_;
      bytes_ += bytes;
      return waiting_.size() == 1;
    }
  }
  change->finish({.status = Status::not_in_log, .why = std::move(why)});
  return false;
}

std::size_t ChangeQueue::size() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

void ChangeQueue::open() {
  const std::lock_guard lock(mutex_);
  closed_.reset();
}

void ChangeQueue::close(const std::string& why) {
  std::deque<Waiting> waiting;
  {
    const std::lock_guard lock(mutex_);
    closed_ = why;
    waiting.swap(waiting_);
  }
  for (Waiting& each : waiting) {
    finish(each, {.status = Status::not_in_log, .why = why});
  }
}

ChangeQueue::Batch ChangeQueue::next() {
  const std::lock_guard lock(mutex_);
  Batch batch;
  std::size_t bytes = 0;
  while (!waiting_.empty() && batch.size() < kBatchMax) {
    bytes += waiting_.front().bytes;
    if (!batch.empty() && bytes > kBatchBytesMax) {
      break;
    }
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return batch;
}

void ChangeQueue::sent(std::uint64_t counter, Batch batch) {
  in_flight_.emplace(counter, std::move(batch));
}

std::vector<UnfinishedDump> ChangeQueue::came_back(std::uint64_t counter,
                                                   std::span<Outcome> outcomes) {
  std::vector<UnfinishedDump> dumps;
  dumps.reserve(static_cast<std::size_t>(
      std::ranges::count_if(outcomes, [](const Outcome& each) { return each.image != nullptr; })));
  auto node = in_flight_.extract(counter);
  if (node.empty()) {  // too late
    return dumps;
  }
  Batch& batch = node.mapped();
  for (std::size_t i = 0; i < batch.size() && i < outcomes.size(); ++i) {
    if (outcomes[i].image) {
      leave(batch[i]);
      dumps.push_back(
          {.change = std::move(batch[i].change), .image = std::move(outcomes[i].image)});
    } else {
      finish(batch[i], std::move(outcomes[i]));
    }
  }
  return dumps;
}

void ChangeQueue::refused(std::uint64_t counter, const std::string& why) {
  auto node = in_flight_.extract(counter);
  if (!node.empty()) {
    for (Waiting& each : node.mapped()) {
      finish(each, {.status = Status::not_in_log, .why = why});
    }
  }
}

void ChangeQueue::lose(const std::string& why) {
  for (auto& [counter, batch] : std::exchange(in_flight_, {})) {
    for (Waiting& each : batch) {
      finish(each, {.status = Status::unknown, .why = why});
    }
  }
}

void ChangeQueue::finish_overdue(TimePoint now) {
  std::vector<Waiting> overdue;
  {
    const std::lock_guard lock(mutex_);
    while (!waiting_.empty() && waiting_.front().due <= now) {
      overdue.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
  }
  for (Waiting& each : overdue) {
    finish(each, {.status = Status::not_in_log, .why = "the change was not sent to Redis in time"});
  }
  const auto is_overdue = [&](const auto& sent) {
    return std::ranges::any_of(sent.second, [&](const Waiting& each) { return each.due <= now; });
  };
  while (!in_flight_.empty() && is_overdue(*in_flight_.begin())) {
    auto node = in_flight_.extract(in_flight_.begin());
    for (Waiting& each : node.mapped()) {
      finish(
          each,
          {.status = Status::unknown,
           .why = "Redis did not confirm the change in time: it may or may not have been applied"});
    }
  }
}

void ChangeQueue::leave(const Waiting& waiting) {
  const std::lock_guard lock(mutex_);
  --changes_;
  bytes_ -= waiting.bytes;
}

void ChangeQueue::finish(Waiting& waiting, Outcome outcome) {
  leave(waiting);
  waiting.change->finish(std::move(outcome));
}

}  // namespace cuckooguard::filled
