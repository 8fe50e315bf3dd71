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
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "mysql/table_set.h"
#include "source/source.h"
#include "source/storage_directory.h"

namespace cuckooguard::source {

class CheckpointWriter {
 public:
  static constexpr std::chrono::minutes kUnchangedEvery{10};
  // For the server to commit what its log has deleted (deferred_erasures.h).
  static constexpr std::chrono::seconds kCommitWaitMax{2};

  struct Settings {
    std::string source;  // its name
    std::string server;  // server_identity()
    const StorageDirectory& directory;
    std::chrono::nanoseconds every;
    Observer& observer;
    Clock clock;
  };

  CheckpointWriter(Settings settings, TableSet& tables);
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  ~CheckpointWriter() = default;

 private:
  struct Last {
    TableSet::Version version;
    TimePoint at{};
  };

  void run(const std::stop_token& stop);
  void try_to_write_all(bool also_unchanged);
  void write_all(bool also_unchanged);
  void remove(const std::string& file);

  Settings settings_;
  TableSet& tables_;
  std::map<TableSet::Index, Last> last_;
  std::jthread thread_;
};

}  // namespace cuckooguard::source
