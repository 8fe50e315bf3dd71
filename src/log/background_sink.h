// Lines of the log on their way to standard error, so that no caller waits for its reader: a log
// shipper that hangs, a terminal that is paused.
//
//   event log ──▶ [kLinesMax] ──▶ thread ──▶ write(2)
//         full? dropped and counted ──▶ once the lines before are written: "log_dropped count=N"
//
// Lines are dropped from the first that finds no room until the thread has written all that waited:
// what was dropped is one gap, and the line that counts it stands in it.
//
// Threads: one at a time logs (EventLog's lock). Lifetimes: the descriptor stays open until the
// process ends, since the thread may still be in a write then. Errors: a line that cannot be
// written (the reader is gone) is lost. Limits: kLinesMax lines wait, usually 2 MB. The destructor
// waits for kPatience for a reader.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "config/config.h"
#include "io/blocking_thread.h"

namespace cuckooguard::log {

class BackgroundSink {
 public:
  static constexpr std::size_t kLinesMax = 8192;
  static constexpr std::chrono::seconds kPatience{1};

  explicit BackgroundSink(int descriptor) : descriptor_(descriptor) {}

  // A line with its end.
  void write(std::string line);
  // Of the line that counts what was dropped.
  void set_format(config::LogFormat format) { format_ = format; }
  // Lines, ever. Any thread.
  std::uint64_t dropped() const;
  // Whether all is written, waiting for that at most this long. Any thread.
  bool finish(std::chrono::milliseconds patience) { return thread_.finish(patience); }

 private:
  // With the thread.
  struct Lines {
    std::mutex mutex;
    std::size_t waiting = 0;
    std::uint64_t dropped = 0;  // ever
    std::uint64_t told = 0;     // of them
    bool has_gap = false;       // which the line that counts it will close
  };

  bool post_line(std::string line);
  bool post_count();

  int descriptor_;
  config::LogFormat format_{};
  std::shared_ptr<Lines> lines_ = std::make_shared<Lines>();
  io::BlockingThread thread_{{.waiting_max = kLinesMax + 1, .patience = kPatience, .name = "log"}};
};

}  // namespace cuckooguard::log
