#include "io/worker.h"

#include <csignal>

namespace cuckooguard::io {

void Worker::start() {
  thread_ = std::thread([this] {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are the main thread's
    loop_.run();
  });
}

void Worker::stop_and_join() {
  if (thread_.joinable()) {
    loop_.stop();
    thread_.join();
  }
}

}  // namespace cuckooguard::io
