#include "harness/interrupt.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace cuckooguard::harness {
namespace {

// What a signal handler can reach is global by nature.
std::array<int, 2> interrupt_pipe{-1, -1};

extern "C" void note_interrupt(int /*signal*/) {
  const int before = errno;
  static_cast<void>(!write(interrupt_pipe[1], "!", 1));
  errno = before;
}

}  // namespace

Interrupt::Interrupt() {
  if (pipe2(interrupt_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::system_error(errno, std::system_category(), "pipe2");
  }
  struct sigaction action{};
  action.sa_handler = note_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // a server that has gone is an error of the call
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  for (int& end : interrupt_pipe) {
    close(end);
    end = -1;  // which poll passes over
  }
}

bool Interrupt::wait_until(Clock::time_point until) {
  pollfd interrupted{.fd = interrupt_pipe[0], .events = POLLIN, .revents = 0};
  for (;;) {
    const auto left = std::max(until, Clock::now()) - Clock::now();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec time{.tv_sec = seconds.count(),
                        .tv_nsec = std::max<long>(0, (left - seconds).count())};
    const int ready = ppoll(&interrupted, 1, &time, nullptr);
    if (ready >= 0) {
      return ready == 0;
    }
  }
}

}  // namespace cuckooguard::harness
