#include "io/worker.h"

#include <csignal>
#include <ctime>
#include <utility>

#include <pthread.h>

namespace cuckooguard::io {

void Worker::start(std::function<void()> run) {
  thread_ = std::thread([call = std::move(run)] {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are the main thread's
    call();
  });
}

std::chrono::nanoseconds Worker::worked() {
  clockid_t clock{};
  timespec time{};
  if (::pthread_getcpuclockid(thread_.native_handle(), &clock) != 0 ||
      ::clock_gettime(clock, &time) != 0) {
    return {};
  }
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void Worker::stop_and_join() {
  if (thread_.joinable()) {
    loop_.stop();
    thread_.join();
  }
}

}  // namespace cuckooguard::io
