#include <exception>
#include <utility>

#include "app/assembly.h"
#include "text/words.h"

namespace cuckooguard::app {
namespace {

constexpr std::string_view kUnchanged =
    "no setting has changed; if you expected a change: a single file mounted into a container does "
    "not follow when an editor replaces it, so mount its directory";

std::chrono::sys_seconds wall_seconds() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace

ReloadThread::ReloadThread(Load load, log::EventLog& log)
    : load_(std::move(load)), log_(log), last_{.loaded_at = wall_seconds()} {}

void ReloadThread::ask(std::string_view who) {
  const std::lock_guard lock(mutex_);
  want(who);
}

void ReloadThread::want(std::string_view who) {
  if (!std::exchange(is_wanted_, true)) {
    log_.info("reload_asked", {{"by", who}});
    wanted_changed_.notify_all();
  }
}

std::optional<guard::ReloadOutcome> ReloadThread::outcome(io::TimePoint since,
                                                          std::string_view who) {
  const std::lock_guard lock(mutex_);
  if (last_began_ && *last_began_ >= since) {
    return last_;
  }
  if (!running_since_ || *running_since_ < since) {
    want(who);
  }
  return std::nullopt;
}

guard::ReloadOutcome ReloadThread::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void ReloadThread::run(const std::stop_token& stop) {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (!wanted_changed_.wait(lock, stop, [this] { return is_wanted_; })) {
        return;
      }
      is_wanted_ = false;
      running_since_ = io::now_since_boot();
    }
    Loaded loaded;
    try {
      loaded = load_(stop);
    } catch (const std::exception& failure) {  // no memory, no thread
      loaded = std::unexpected(Lines{failure.what()});
    }
    if (stop.stop_requested()) {
      return;
    }
    end(std::move(loaded));
  }
}

// Who hears of it finds it in the log, or about to be written.
void ReloadThread::end(Loaded loaded) {
  if (loaded) {
    if (loaded->is_unchanged) {
      log_.info("reloaded", {{"unchanged", "true"}, {"hint", kUnchanged}});
    } else {
      log_.info("reloaded");
    }
    if (!loaded->needs_restart.empty()) {
      log_.warning("needs_restart", {{"settings", text::joined(loaded->needs_restart, ", ")}});
    }
  } else {
    for (const std::string& error : loaded.error()) {
      log_.error("reload_refused", {{"why", error}});
    }
  }
  const std::lock_guard lock(mutex_);
  last_began_ = std::exchange(running_since_, std::nullopt);
  if (loaded) {
    last_ = {.needs_restart = std::move(loaded->needs_restart),
             .is_unchanged = loaded->is_unchanged,
             .loaded_at = wall_seconds()};
  } else {
    last_.errors = std::move(loaded.error());
  }
}

}  // namespace cuckooguard::app
