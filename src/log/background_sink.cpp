#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "log/event_log.h"
#include "log/event_names.h"
#include "log/event_text.h"

namespace cuckooguard::log {
namespace {

void write_all(int descriptor, std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(descriptor, line.data(), line.size());
    if (written >= 0) {
      line.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // whoever else has it has made it so
      pollfd room{.fd = descriptor, .events = POLLOUT, .revents = 0};
      ::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

std::string line_of(spdlog::formatter& formatter, const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t line;
  formatter.format(message, line);
  return {line.data(), line.size()};
}

std::string words_of(std::uint64_t dropped, config::LogFormat format) {
  const std::array fields{Field("count", dropped)};
  const Event event{.time = std::chrono::system_clock::now(),
                    .level = config::LogLevel::warning,
                    .name = EventName("log_dropped").text(),
                    .fields = fields};
  return format == config::LogFormat::json ? json_of(event) : text_of(event);
}

}  // namespace

std::uint64_t BackgroundSink::dropped() const {
  const std::lock_guard lock(lines_->mutex);
  return lines_->dropped;
}

void BackgroundSink::sink_it_(const spdlog::details::log_msg& message) {
  const std::lock_guard lock(lines_->mutex);
  if (!lines_->has_gap && lines_->waiting < kLinesMax && post_line(message)) {
    ++lines_->waiting;
    return;
  }
  ++lines_->dropped;
  if (!lines_->has_gap) {
    lines_->has_gap = post_count();
  }
}

bool BackgroundSink::post_line(const spdlog::details::log_msg& message) {
  return thread_.post([lines = lines_, to = descriptor_, line = line_of(*formatter_, message)] {
    write_all(to, line);
    const std::lock_guard lock(lines->mutex);
    --lines->waiting;
  });
}

bool BackgroundSink::post_count() {
  return thread_.post([lines = lines_,
                       to = descriptor_,
                       format = format_,
                       formatter = std::shared_ptr<spdlog::formatter>(formatter_->clone())] {
    std::unique_lock lock(lines->mutex);
    const std::uint64_t dropped = lines->dropped - std::exchange(lines->told, lines->dropped);
    lines->has_gap = false;
    lock.unlock();
    const std::string words = words_of(dropped, format);
    write_all(
        to,
        line_of(*formatter, spdlog::details::log_msg("cuckooguard", spdlog::level::warn, words)));
  });
}

}  // namespace cuckooguard::log
