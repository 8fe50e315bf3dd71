#include "follower/asker.h"

#include <utility>

#include "text/try.h"

namespace cuckooguard::fleet {

Asker::Asker(Settings settings, OwnQuestions& questions)
    : settings_(std::move(settings)), questions_(questions) {
  if (settings_.asking.questions() == nullptr) {
    settings_.asking = source::Asking(&nobodys_, kPace);
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

std::string Asker::say(std::optional<Ask> ask, std::optional<TimePoint> proven_at) {
  const std::scoped_lock lock(mutex_);
  if (ask && said_ && ask->lacks == 0) {
    ask->lacks = said_->lacks;
  }
  said_ = std::move(ask);
  proven_at_ = proven_at;
  return trouble_;
}

void Asker::run(const std::stop_token& stop) {
  const source::Asking& asking = settings_.asking;
  while (asking.questions()->wait(kAskEvery, asking.pace(), stop)) {
    {
      std::unique_lock lock(mutex_);
      const TimePoint now = settings_.clock();
      const auto left = open_.value_or(now) + kAskEvery - now;
      changed_.wait_for(lock, stop, left, [this] { return !open_; });
    }
    Done done;
    try {
      done = ask();
    } catch (const std::exception& trouble) {  // no memory, say
      done = std::unexpected(trouble.what());
    }
    std::unique_lock lock(mutex_);
    trouble_ = done ? "" : done.error();
    if (done) {
      backoff_.succeeded();
      continue;
    }
    redis_.reset();
    changed_.wait_for(lock, stop, backoff_.next(), [] { return false; });
  }
}

void Asker::rest_until(TimePoint end, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const TimePoint now = settings_.clock();
  changed_.wait_for(
      lock, stop, end - now, [&] { return open_ && settings_.clock() - *open_ < kAskEvery; });
}

void Asker::told(TableId lacks) {
  const std::scoped_lock lock(mutex_);
  if (said_ && said_->lacks == lacks) {
    said_->lacks = 0;
  }
}

void Asker::answered(TimePoint at) {
  const std::scoped_lock lock(mutex_);
  if (open_ && at >= *open_) {
    open_.reset();
    changed_.notify_all();
  }
}

Asker::Done Asker::ask() {
  const bool is_wanted = settings_.asking.begin();
  if (!redis_) {
    redis_ = TRY(settings_.redis(settings_.keys.asks));
  }
  const TimePoint now = settings_.clock();
  Ask ask;
  {
    const std::scoped_lock lock(mutex_);
    if (!said_) {
      return {};
    }
    ask = *said_;
    if (is_wanted) {
      open_ = now;
      changed_.notify_all();
    }
    if (proven_at_) {
      ask.lag = std::chrono::floor<std::chrono::milliseconds>(now - *proven_at_);
    }
  }
  ask.is_waiting = is_wanted;
  ask.nonce = questions_.ask(random_bytes(kNonceBytes), now).nonce;
  TRY(accepted(redis_->ask({"HSET", settings_.keys.asks, settings_.name, bytes_of(ask)})));
  told(ask.lacks);
  if (!is_wanted) {
    return {};
  }
  const resp::Value woken =
      TRY(redis_->ask({"XADD", settings_.keys.wake, "MAXLEN", "1", "*", "w", ""}));
  if (woken.is_error() && !std::exchange(has_told_, true)) {
    settings_.observer.on_trouble(
        settings_.source,
        "strict reads wait for the builder's next tick because the builder cannot be notified: " +
            woken.text);
  }
  return {};
}

}  // namespace cuckooguard::fleet
