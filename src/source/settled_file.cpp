#include "source/settled_file.h"

#include <utility>

namespace cuckooguard::source {

SettledFile::SettledFile(std::string path, Clock clock)
    : path_(std::move(path)), clock_(std::move(clock)) {}

Sighting SettledFile::look() {
  const auto stamp = stamp_of_path(path_);
  if (!stamp) {
    stamp_.reset();
    return {.kind = Sighting::Kind::lost, .version = 0, .why = stamp.error()};
  }
  if (stamp_ != *stamp) {
    stamp_ = *stamp;
    stamp_since_ = clock_();
    ++version_;
  }
  return {.kind = Sighting::Kind::seen, .version = version_, .why = ""};
}

std::expected<InputFile, Snapshot> SettledFile::open() {
  const auto unclear = [this](const std::string& why) {
    return std::unexpected(
        Snapshot{.kind = Snapshot::Kind::unclear, .version = 0, .why = path_ + why});
  };
  const auto still_for = clock_() - stamp_since_;
  if (still_for < kSettle) {
    return unclear(" may still be being written");
  }
  auto file = InputFile::open(path_);
  if (!file) {
    return std::unexpected(
        Snapshot{.kind = Snapshot::Kind::lost, .version = 0, .why = file.error()});
  }
  if (file->stamp() != stamp_) {
    return unclear(" is being replaced");
  }
  if (file->is_open_for_writing() && still_for < kSettleWhileOpen) {
    return unclear(
        " is open for writing: it is read once it has stood still for 5 s, or is closed");
  }
  return *std::move(file);
}

}  // namespace cuckooguard::source
