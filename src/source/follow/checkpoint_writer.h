// Writes the tables that are in step to their files: every so often, after a load, and at the end.
//
// A table's filter is copied while nothing is applied to it (some 0.1 s per 100 MB into the
// system's cache), and waits for the disk beside the log. Of what has not changed the position
// alone is written (Renewal), so that no file is older than the server's log, and the log is not
// kept for it. Of a table that is refused the file is removed.
//
// Must: a renewal names no file but those whose tables have now what they had when it was written,
// and it lacks none that this writer's last one had, unless that was written again: what on_kept()
// was told stays true. A file of a former run may fall back to its own position: what the log does
// not have any more is then read anew. (tests/source/follow/toy_log_test.cpp)
//
// Threads: its own; construction starts it, destruction writes once more and ends it. Lifetimes:
// directory and set outlive it. Errors: reported to the observer, and tried again next time.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "filter/filter_file.h"
#include "follow/checkpoint.h"
#include "follow/table_set.h"
#include "source/source.h"
#include "source/storage_directory.h"

namespace cuckooguard::source {

template <class Log>
class CheckpointWriter : boost::noncopyable {
 public:
  // For the server to commit what its log has deleted (log_feed.h).
  static constexpr std::chrono::seconds kCommitWaitMax{2};
  // After a failure, for a file that somebody waits for: the log does not go on while one is tried.
  static constexpr std::chrono::seconds kWantedPause{5};

  struct Settings {
    std::string source;  // its name
    std::string server;  // which it is
    const StorageDirectory& directory;
    std::chrono::nanoseconds every;
    Observer& observer;
    // Files have all that the log says up to there: it need not be kept for them. Its thread.
    std::function<void(const typename Log::Position& position)> on_kept{};
  };

  CheckpointWriter(Settings settings, TableSet<Log>& tables)
      : settings_(std::move(settings)),
        tables_(tables),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

 private:
  struct Last {
    TableVersion version;
    typename Log::Position position;
    std::uint64_t file;  // FilterFile's id
    bool is_renewed = false;
  };

  void run(const std::stop_token& stop) {
    while (tables_.checkpoints.wait_until_due(settings_.every, stop)) {
      try_to_write_all(false);
    }
    try_to_write_all(true);
  }
  void try_to_write_all(bool is_last) {
    try {
      write_all(is_last);
    } catch (const std::exception& trouble) {  // no memory, say
      settings_.observer.on_trouble(settings_.source, trouble.what());
    }
  }
  void write_all(bool is_last) {
    const TimePoint until = std::chrono::steady_clock::now() + kCommitWaitMax;  // of all together
    for (TableIndex index = 0; index < tables_.size(); ++index) {
      if (tables_.listing.is_gone(index)) {
        last_.erase(index);
        continue;
      }
      if (const auto file =
              tables_.checkpoints.useless_file(index, settings_.directory, settings_.source)) {
        last_.erase(index);
        remove(*file);
        continue;
      }
      const auto known = last_.find(index);
      const auto version = tables_.checkpoints.version(index);
      const bool is_wanted = !is_last && std::chrono::steady_clock::now() >= wanted_again_at_ &&
                             tables_.checkpoints.is_wanted(index);
      if (!version || (known != last_.end() && *version == known->second.version && !is_wanted &&
                       !(is_last && version->will_change))) {
        continue;
      }
      const auto position = tables_.log.resume_position();  // the file's is no earlier
      auto written = tables_.checkpoints.write(
          index, settings_.directory, settings_.source, settings_.server, until);
      const auto done = written ? written->put_in_place() : std::unexpected(written.error());
      if (!done) {
        settings_.observer.on_trouble(settings_.source, done.error().what);
        wanted_again_at_ = std::chrono::steady_clock::now() + kWantedPause;
        continue;
      }
      tables_.checkpoints.tell_kept(index, settings_.directory, settings_.source);
      last_.insert_or_assign(
          index, Last{.version = *version, .position = position, .file = written->id()});
    }
    renew(is_last);
    tell_what_is_kept();
  }
  void renew(bool is_last) {
    std::map<TableIndex, TableVersion> versions;
    for (const auto& [index, last] : last_) {
      versions.emplace(index, last.version);
    }
    const auto now = tables_.checkpoints.unchanged(versions);
    if (!now) {
      return;
    }
    std::vector<std::uint64_t> files;
    bool is_news = is_last;  // then also when it was
    for (const auto& [index, last] : last_) {
      const bool is_unchanged = now->tables.contains(index);
      if (last.is_renewed && !is_unchanged) {
        return;
      }
      if (is_unchanged) {
        files.push_back(last.file);
        is_news = is_news || last.position != now->position;
      }
    }
    if (!is_news) {
      return;
    }
    auto written =
        filter::WrittenFilterFile::write(settings_.directory.position_path(settings_.source),
                                         renewal_text(files, now->resume, settings_.server));
    const auto done = written ? written->put_in_place() : std::unexpected(written.error());
    if (!done) {
      settings_.observer.on_trouble(settings_.source, done.error().what);
      return;
    }
    for (const TableIndex index : now->tables) {
      Last& last = last_.at(index);
      last.position = now->position;
      last.is_renewed = true;
    }
  }
  void remove(const std::string& file) {
    std::error_code error;
    std::filesystem::remove(file, error);
    if (error) {
      settings_.observer.on_trouble(settings_.source,
                                    file + ": cannot remove the file: " + error.message());
    }
  }
  // A table that has no file yet, or only one of a former run, needs the log as it is kept now.
  void tell_what_is_kept() {
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

  Settings settings_;
  TableSet<Log>& tables_;
  std::map<TableIndex, Last> last_;
  TimePoint wanted_again_at_{};
  std::jthread thread_;
};

}  // namespace cuckooguard::source
