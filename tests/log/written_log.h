// A log whose lines a test reads.
#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include <spdlog/sinks/ostream_sink.h>

#include "log/event_log.h"

namespace cuckooguard::log {

class WrittenLog {
 public:
  explicit WrittenLog(const config::Log& settings = {})
      : log(settings, std::make_shared<spdlog::sinks::ostream_sink_mt>(text_), [this] {
          return now;
        }) {}

  // What has been written since the last time, without the times in front.
  std::string take() {
    std::string lines;
    std::istringstream all(std::exchange(text_, {}).str());
    for (std::string line; std::getline(all, line);) {
      lines += line.substr(line.starts_with('{') ? 0 : line.find(' ') + 1) + ";";
    }
    return lines;
  }

 private:
  std::ostringstream text_;

 public:
  EventLimits::TimePoint now{};
  EventLog log;
};

}  // namespace cuckooguard::log
