#include "io/blocking_thread.h"

#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <pthread.h>

namespace cuckooguard::io {

struct BlockingThread::Shared {
  struct Call {
    std::function<void()> call;
    std::function<void()> then;
  };

  void run();
  bool is_done() const { return waiting.empty() && !is_calling; }

  std::mutex owners;  // held while `then` runs: the owner cannot go meanwhile
  std::mutex mutex;   // of all below; taken after `owners`
  std::condition_variable changed;
  std::deque<Call> waiting;
  bool is_calling = false;
  bool is_running = false;
  bool is_owned = true;
};

void BlockingThread::Shared::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return !waiting.empty() || !is_owned; });
    if (waiting.empty()) {
      return;
    }
    Call next = std::move(waiting.front());
    waiting.pop_front();
    is_calling = true;
    lock.unlock();
    next.call();
    next.call = nullptr;
    {
      const std::lock_guard owned(owners);
      lock.lock();
      const bool is_wanted = is_owned && next.then;
      lock.unlock();
      if (is_wanted) {
        next.then();
      }
    }
    lock.lock();
    is_calling = false;
    changed.notify_all();
  }
}

BlockingThread::BlockingThread(Limits limits)
    : limits_(limits), shared_(std::make_shared<Shared>()) {}

BlockingThread::~BlockingThread() {
  finish(limits_.patience);
  const std::lock_guard owned(shared_->owners);
  const std::lock_guard lock(shared_->mutex);
  shared_->is_owned = false;
  shared_->waiting.clear();
  shared_->changed.notify_all();
}

bool BlockingThread::post(std::function<void()> call, std::function<void()> then) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->waiting.size() >= limits_.waiting_max) {
    return false;
  }
  if (!shared_->is_running) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the main thread's
    try {
      std::thread([shared = shared_, name = limits_.name] {
        ::pthread_setname_np(::pthread_self(), name);
        shared->run();
      }).detach();
      shared_->is_running = true;
    } catch (const std::system_error&) {  // no memory for it, or too many
      shared_->is_running = false;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!shared_->is_running) {
      return false;
    }
  }
  shared_->waiting.push_back({.call = std::move(call), .then = std::move(then)});
  shared_->changed.notify_all();
  return true;
}

bool BlockingThread::finish(std::chrono::milliseconds patience) {
  std::unique_lock lock(shared_->mutex);
  return shared_->changed.wait_for(lock, patience, [this] { return shared_->is_done(); });
}

}  // namespace cuckooguard::io
