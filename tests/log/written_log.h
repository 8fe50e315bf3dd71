// A log whose lines a test reads.
#pragma once

#include <sstream>
#include <string>
#include <utility>

#include "log/event_log.h"

namespace cuckooguard::log {

class WrittenLog {
 public:
  explicit WrittenLog(const config::Log& settings = {})
      : log(settings, [this](const std::string& line) { text_ += line; }, [this] { return now; }) {}

  // What has been written since the last time, without the times in front.
  std::string take() {
    std::string lines;
    std::istringstream all(std::exchange(text_, {}));
    for (std::string line; std::getline(all, line);) {
      lines += line.substr(line.starts_with('{') ? 0 : line.find(' ') + 1) + ";";
    }
    return lines;
  }

 private:
  std::string text_;

 public:
  EventLimits::TimePoint now{};
  EventLog log;
};

}  // namespace cuckooguard::log
