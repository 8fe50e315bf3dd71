#include "log/last_word.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <new>

#include <unistd.h>

namespace cuckooguard::log {
namespace {

constexpr unsigned kPatienceSeconds = 1;

std::atomic<bool> is_json{false};

constexpr const char* kOutOfMemory =
    "out of memory: an allocation failed, and the process exits because a worker's state cannot be "
    "recovered";

// Nobody may be reading. By a signal, since a write that blocks has no time-out.
void end_in_time() {
  struct sigaction action{};
  action.sa_handler = [](int) { ::_exit(EXIT_FAILURE); };
  ::sigaction(SIGALRM, &action, nullptr);
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  ::pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
  ::alarm(kPatienceSeconds);
}

void say(const char* event, const char* why) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm utc{};
  ::gmtime_r(&now.tv_sec, &utc);
  std::array<char, 32> time{};
  std::strftime(time.data(), time.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::array<char, 512> line{};
  constexpr long kNanosecondsPerMs = 1'000'000;
  const int bytes = std::snprintf(
      line.data(),
      line.size(),
      is_json.load() ? R"({"time":"%s.%03ldZ","level":"error","event":"%s","why":"%s"})"
                       "\n"
                     : "%s.%03ldZ error event=%s why=\"%s\"\n",
      time.data(),
      now.tv_nsec / kNanosecondsPerMs,
      event,
      why);
  if (bytes > 0) {
    end_in_time();
    const std::size_t length = std::min(static_cast<std::size_t>(bytes), line.size() - 1);
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), length);
  }
}

[[noreturn]] void speak_and_end() {
  if (std::current_exception() != nullptr) {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      say("out_of_memory", kOutOfMemory);
      ::_exit(EXIT_FAILURE);
    } catch (const std::exception& failure) {
      say("unexpected", failure.what());
    } catch (...) {
      say("unexpected", "an unknown exception was thrown");
    }
  }
  std::abort();
}

}  // namespace

void prepare_last_word(config::LogFormat format) {
  is_json.store(format == config::LogFormat::json);
  std::set_terminate(speak_and_end);
}

}  // namespace cuckooguard::log
