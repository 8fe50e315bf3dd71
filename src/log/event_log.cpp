#include "log/event_log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "io/clock.h"
#include "log/background_sink.h"

namespace cuckooguard::log {
namespace {

// Which of the namespaces or sources an event is about.
std::string_view subject_of(std::span<const Field> fields) {
  const auto found = std::ranges::find_if(fields, [](const Field& field) {
    return (field.name() == "namespace" || field.name() == "source") &&
           std::holds_alternative<std::string_view>(field.value());
  });
  return found == fields.end() ? std::string_view{} : std::get<std::string_view>(found->value());
}

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

std::string line_that_counts(std::uint64_t dropped, config::LogFormat format) {
  const std::array fields{Field("count", dropped)};
  const Event event{.time = std::chrono::system_clock::now(),
                    .level = config::LogLevel::warning,
                    .name = EventName("log_dropped").text(),
                    .fields = fields};
  return line_of(event, format) + '\n';
}

}  // namespace

std::optional<std::uint64_t> EventLimits::admit(std::string_view name,
                                                std::string_view subject,
                                                TimePoint now) {
  Window& window = window_of(name, subject, now);
  if (now >= window.ends_at) {
    window.ends_at = now + kWindow;
    window.written = 0;
  }
  if (window.written == kEventsMax) {
    ++window.suppressed;
    return std::nullopt;
  }
  ++window.written;
  return std::exchange(window.suppressed, 0);
}

EventLimits::Window& EventLimits::window_of(std::string_view name,
                                            std::string_view subject,
                                            TimePoint now) {
  std::string key = std::string(name).append(1, '\n').append(subject);
  auto found = windows_.find(key);
  if (found == windows_.end() && windows_.size() >= kSubjectsMax) {
    std::erase_if(windows_, [now](const auto& entry) {
      return now >= entry.second.ends_at && entry.second.suppressed == 0;
    });
    if (windows_.size() >= kSubjectsMax) {
      key.resize(name.size());
    }
    found = windows_.find(key);
  }
  if (found == windows_.end()) {
    found = windows_.emplace(std::move(key), Window{.name = std::string(name)}).first;
  }
  return found->second;
}

void EventLimits::take_suppressed(
    const std::function<void(std::string_view name, std::uint64_t count)>& tell) {
  for (auto& [key, window] : windows_) {
    if (const std::uint64_t count = std::exchange(window.suppressed, 0); count > 0) {
      tell(window.name, count);
    }
  }
}

EventLog::EventLog(const config::Log& settings)
    : background_(std::make_unique<BackgroundSink>(STDERR_FILENO)),
      to_([this](std::string line) { background_->write(std::move(line)); }),
      clock_(io::now_since_boot) {
  set(settings);
}

EventLog::EventLog(const config::Log& settings, Sink to, Clock clock)
    : to_(std::move(to)), clock_(std::move(clock)) {
  set(settings);
}

EventLog::~EventLog() {
  limits_.take_suppressed([this](std::string_view name, std::uint64_t count) {
    const std::array fields{Field("name", name), Field("count", count)};
    write_now({.time = std::chrono::system_clock::now(),
               .level = config::LogLevel::info,
               .name = EventName("suppressed").text(),
               .fields = fields});
  });
}

void EventLog::set(const config::Log& settings) {
  level_.store(settings.level, std::memory_order_relaxed);
  shows_keys_.store(settings.keys == config::LogKeys::plain, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  format_ = settings.format;
  if (background_) {
    background_->set_format(format_);
  }
}

std::uint64_t EventLog::dropped() const {
  return background_ ? background_->dropped() : 0;
}

void EventLog::write(config::LogLevel level, EventName name, std::span<const Field> fields) {
  if (level < level_.load(std::memory_order_relaxed)) {
    return;
  }
  const std::lock_guard lock(mutex_);
  const bool is_unlimited = std::ranges::count(kUnlimitedEvents, name.text()) > 0;
  const auto suppressed = is_unlimited ? std::optional<std::uint64_t>(0)
                                       : limits_.admit(name.text(), subject_of(fields), clock_());
  if (!suppressed) {
    return;
  }
  Event event{.time = std::chrono::system_clock::now(),
              .level = level,
              .name = name.text(),
              .fields = fields};
  std::vector<Field> more;
  if (*suppressed > 0) {
    more.assign(fields.begin(), fields.end());
    more.emplace_back("suppressed", *suppressed);
    event.fields = more;
  }
  write_now(event);
}

void EventLog::write_now(const Event& event) {
  to_(line_of(event, format_) + '\n');
  for (const Listener& listener : listeners_) {
    listener(event);
  }
}

std::uint64_t BackgroundSink::dropped() const {
  const std::lock_guard lock(lines_->mutex);
  return lines_->dropped;
}

void BackgroundSink::write(std::string line) {
  const std::lock_guard lock(lines_->mutex);
  if (!lines_->has_gap && lines_->waiting < kLinesMax && post_line(std::move(line))) {
    ++lines_->waiting;
    return;
  }
  ++lines_->dropped;
  if (!lines_->has_gap) {
    lines_->has_gap = post_count();
  }
}

bool BackgroundSink::post_line(std::string line) {
  return thread_.post([lines = lines_, to = descriptor_, line = std::move(line)] {
    write_all(to, line);
    const std::lock_guard lock(lines->mutex);
    --lines->waiting;
  });
}

bool BackgroundSink::post_count() {
  return thread_.post([lines = lines_, to = descriptor_, format = format_] {
    std::unique_lock lock(lines->mutex);
    const std::uint64_t dropped = lines->dropped - std::exchange(lines->told, lines->dropped);
    lines->has_gap = false;
    lock.unlock();
    write_all(to, line_that_counts(dropped, format));
  });
}

}  // namespace cuckooguard::log
