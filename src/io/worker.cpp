#include "io/worker.h"

#include <csignal>
#include <utility>

namespace cuckooguard::io {

void Worker::start(std::function<void()> run) {
  thread_ = std::thread([call = std::move(run)] {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are the main thread's
    call();
  });
}

void Worker::stop_and_join() {
  if (thread_.joinable()) {
    loop_.stop();
    thread_.join();
  }
}

}  // namespace cuckooguard::io
