// Writes the tables that are in step to their files: every so often, after a load, and at the end.
//
// A table's filter is copied while nothing is applied to it (some 0.1 s per 100 MB into the
// system's cache), and waits for the disk beside the log. What has not changed is written again
// only so that its position does not become older than the server's log: every kUnchangedEvery. Of
// a table that is refused the file is removed.
//
// Threads: its own; construction starts it, destruction writes once more and ends it. Lifetimes:
// directory and set outlive it. Errors: reported to the observer, and tried again next time.
#pragma once

#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "follow/table_set.h"
#include "source/source.h"
#include "source/storage_directory.h"

namespace cuckooguard::source {

template <class Log>
class CheckpointWriter {
 public:
  static constexpr std::chrono::minutes kUnchangedEvery{10};
  // For the server to commit what its log has deleted (deferred_erasures.h).
  static constexpr std::chrono::seconds kCommitWaitMax{2};

  struct Settings {
    std::string source;  // its name
    std::string server;  // which it is
    const StorageDirectory& directory;
    std::chrono::nanoseconds every;
    Observer& observer;
    Clock clock;
    // Files have all that the log says up to there: it need not be kept for them. Its thread.
    std::function<void(const typename Log::Position& position)> on_kept{};
  };

  CheckpointWriter(Settings settings, TableSet<Log>& tables);
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  ~CheckpointWriter() = default;

 private:
  struct Last {
    TableVersion version;
    typename Log::Position position;
    TimePoint at{};
  };

  void run(const std::stop_token& stop);
  void try_to_write_all(bool also_unchanged);
  void write_all(bool also_unchanged);
  void remove(const std::string& file);
  void tell_what_is_kept();

  Settings settings_;
  TableSet<Log>& tables_;
  std::map<TableIndex, Last> last_;
  std::jthread thread_;
};

template <class Log>
CheckpointWriter<Log>::CheckpointWriter(Settings settings, TableSet<Log>& tables)
    : settings_(std::move(settings)),
      tables_(tables),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

template <class Log>
void CheckpointWriter<Log>::run(const std::stop_token& stop) {
  while (tables_.checkpoints.wait_until_due(settings_.every, stop)) {
    try_to_write_all(false);
  }
  try_to_write_all(true);  // so that the next run need not read the log again from the oldest
}

template <class Log>
void CheckpointWriter<Log>::try_to_write_all(bool also_unchanged) {
  try {
    write_all(also_unchanged);
  } catch (const std::exception& trouble) {  // no memory, say
    settings_.observer.on_trouble(settings_.source, trouble.what());
  }
}

template <class Log>
void CheckpointWriter<Log>::write_all(bool also_unchanged) {
  const TimePoint until = std::chrono::steady_clock::now() + kCommitWaitMax;  // of all together
  for (TableIndex index = 0; index < tables_.size(); ++index) {
    if (const auto file =
            tables_.checkpoints.useless_file(index, settings_.directory, settings_.source)) {
      last_.erase(index);
      remove(*file);
      continue;
    }
    const TimePoint now = settings_.clock();
    const auto known = last_.find(index);
    const auto version = tables_.checkpoints.version(index);
    if (!version || (!also_unchanged && known != last_.end() && *version == known->second.version &&
                     now - known->second.at < kUnchangedEvery)) {
      continue;
    }
    const auto position = tables_.log.position();  // the file's is no earlier
    auto written = tables_.checkpoints.write(
        index, settings_.directory, settings_.source, settings_.server, until);
    const auto done = written ? written->put_in_place() : std::unexpected(written.error());
    if (!done) {
      settings_.observer.on_trouble(settings_.source, done.error().what);
      continue;
    }
    last_.insert_or_assign(index, Last{.version = *version, .position = position, .at = now});
  }
  tell_what_is_kept();
}

// A table that has no file yet, or only one of a former run, needs the log as it is kept now.
template <class Log>
void CheckpointWriter<Log>::tell_what_is_kept() {
  if (!settings_.on_kept) {
    return;
  }
  std::optional<typename Log::Position> oldest;
  for (TableIndex index = 0; index < tables_.size(); ++index) {
    if (tables_.listing.is_gone(index) ||
        tables_.checkpoints.useless_file(index, settings_.directory, settings_.source)) {
      continue;
    }
    const auto known = last_.find(index);
    if (known == last_.end()) {
      return;
    }
    if (!oldest || !known->second.position.covers(*oldest)) {
      oldest = known->second.position;
    }
  }
  if (oldest) {
    settings_.on_kept(*oldest);
  }
}

template <class Log>
void CheckpointWriter<Log>::remove(const std::string& file) {
  std::error_code error;
  std::filesystem::remove(file, error);
  if (error) {
    settings_.observer.on_trouble(settings_.source,
                                  file + ": cannot be removed: " + error.message());
  }
}

}  // namespace cuckooguard::source
