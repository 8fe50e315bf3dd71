#include "cli/load_report.h"

#include <cstdio>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "io/clock.h"

namespace cuckooguard::cli {
namespace {

std::string grouped(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t end = digits.size(); end > 3; end -= 3) {
    digits.insert(end - 3, 1, ',');
  }
  return digits;
}

void put(admin::LoadBoard& board, const source::Progress& progress) {
  if (progress.complete) {
    board.remove(progress.ns);
    return;
  }
  board.put(progress.ns,
            {.rows = progress.rows,
             .rows_expected = progress.rows_expected,
             .rows_per_second = progress.rows_per_second,
             .fraction = progress.fraction,
             .remaining = progress.remaining},
            io::now_since_boot());
}

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

std::string describe(const source::Progress& progress) {
  std::string text = fmt::format("{}: {}", progress.ns, grouped(progress.rows));
  if (progress.rows_expected > 0 && !progress.complete) {
    text += fmt::format(" of {}", grouped(progress.rows_expected));
  }
  text += " rows";
  if (!progress.complete) {
    text += fmt::format(", {:.0f} %", progress.fraction * 100);
  }
  text += fmt::format(", {} rows/s", grouped(static_cast<std::uint64_t>(progress.rows_per_second)));
  if (progress.complete) {
    text += fmt::format(", in {:.2f} s", seconds(progress.elapsed));
  } else if (progress.remaining) {
    text += fmt::format(", {:.1f} s left", seconds(*progress.remaining));
  }
  return text;
}

LoadReport::LoadReport(admin::LoadBoard* board)
    : is_terminal_(::isatty(STDERR_FILENO) == 1), board_(board) {}

void LoadReport::on_progress(const source::Progress& progress) {
  if (board_ != nullptr) {
    put(*board_, progress);
  }
  const std::lock_guard lock(mutex_);
  const std::string ns(progress.ns);
  if (is_terminal_) {
    fmt::print(
        stderr, "\r\033[Kloading {}{}", describe(progress), progress.complete ? "\r\033[K" : "");
  }
  if (progress.complete) {
    logged_.erase(ns);
    // A rescan is routine; the first load is what somebody waits for.
    const bool is_first = !std::exchange(loaded_[ns], true);
    spdlog::log(is_first ? spdlog::level::info : spdlog::level::debug,
                "event=loaded {}",
                describe(progress));
  } else if (!is_terminal_ && progress.elapsed >= logged_[ns] + kLogEvery) {
    logged_[ns] = progress.elapsed;
    spdlog::info("event=loading {}", describe(progress));
  }
}

void LoadReport::on_state(std::string_view ns, filter::State state, std::string_view why) {
  const std::lock_guard lock(mutex_);
  // Rescans come and go with every change; what an operator must know of is what does not end by itself, and its end.
  const bool routine = state == filter::State::ready || state == filter::State::loading ||
                       state == filter::State::lagging;
  const bool first = !loaded_.contains(std::string(ns));
  bool over = false;
  if (!routine) {
    troubled_.emplace(ns);
  } else if (state == filter::State::ready) {
    over = troubled_.erase(std::string(ns)) > 0;
  }
  const auto info = first || over ? spdlog::level::info : spdlog::level::debug;
  spdlog::log(routine ? info : spdlog::level::warn,
              "event=state namespace={} state={}{}{}",
              ns,
              filter::state_name(state),
              why.empty() ? "" : " why=",
              why);
}

void LoadReport::on_trouble(std::string_view source, std::string_view what) {
  spdlog::warn("event=source_trouble source={} what={}", source, what);
}

void LoadReport::on_resumed(std::string_view ns) {
  if (when_resumed_) {
    when_resumed_(ns);
  }
}

}  // namespace cuckooguard::cli
