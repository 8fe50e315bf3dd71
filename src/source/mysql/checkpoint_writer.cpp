#include "mysql/checkpoint_writer.h"

#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

namespace cuckooguard::source {

CheckpointWriter::CheckpointWriter(Settings settings, TableSet& tables)
    : settings_(std::move(settings)),
      tables_(tables),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void CheckpointWriter::run(const std::stop_token& stop) {
  while (tables_.wait_for_checkpoint(settings_.every, stop)) {
    try_to_write_all(false);
  }
  try_to_write_all(true);  // so that the next run need not read the log again from the oldest
}

void CheckpointWriter::try_to_write_all(bool also_unchanged) {
  try {
    write_all(also_unchanged);
  } catch (const std::exception& trouble) {  // no memory, say
    settings_.observer.on_trouble(settings_.source, trouble.what());
  }
}

void CheckpointWriter::write_all(bool also_unchanged) {
  const TimePoint until = std::chrono::steady_clock::now() + kCommitWaitMax;  // of all together
  for (TableSet::Index index = 0; index < tables_.size(); ++index) {
    if (const auto file = tables_.useless_file(index, settings_.directory, settings_.source)) {
      last_.erase(index);
      remove(*file);
      continue;
    }
    const TimePoint now = settings_.clock();
    const auto known = last_.find(index);
    const auto version = tables_.version(index);
    if (!version || (!also_unchanged && known != last_.end() && *version == known->second.version &&
                     now - known->second.at < kUnchangedEvery)) {
      continue;
    }
    auto written = tables_.write_checkpoint(
        index, settings_.directory, settings_.source, settings_.server, until);
    const auto done = written ? written->put_in_place() : std::unexpected(written.error());
    if (!done) {
      settings_.observer.on_trouble(settings_.source, done.error().what);
      continue;
    }
    last_.insert_or_assign(index, Last{.version = *version, .at = now});
  }
}

void CheckpointWriter::remove(const std::string& file) {
  std::error_code error;
  std::filesystem::remove(file, error);
  if (error) {
    settings_.observer.on_trouble(settings_.source,
                                  file + ": cannot be removed: " + error.message());
  }
}

}  // namespace cuckooguard::source
