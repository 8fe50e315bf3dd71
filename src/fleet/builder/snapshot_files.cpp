#include "builder/snapshot_files.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "fleet/layout.h"

namespace cuckooguard::fleet {

std::expected<std::string, std::string> SnapshotFiles::keep(const std::string& path,
                                                            std::string_view name) const {
  std::string own = directory_.snapshot_path(source_, name);
  std::error_code error;
  std::filesystem::create_hard_link(path, own, error);
  if (error) {  // of a file system that has none
    std::filesystem::copy_file(path, own, error);
  }
  return error ? std::expected<std::string, std::string>(
                     std::unexpected(own + ": cannot create the file: " + error.message()))
               : own;
}

bool SnapshotFiles::has(std::string_view name) const {
  std::error_code error;
  return std::filesystem::exists(directory_.snapshot_path(source_, name), error);
}

std::optional<std::string> SnapshotFiles::piece(std::string_view name, std::uint32_t number) const {
  std::ifstream file(directory_.snapshot_path(source_, name), std::ios::binary);
  file.seekg(static_cast<std::streamoff>(number * kPieceBytes));
  std::string bytes(kPieceBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes.empty() || file.bad() ? std::nullopt : std::optional(std::move(bytes));
}

void SnapshotFiles::tidy(const std::set<std::string>& names, source::TimePoint now) {
  std::set<std::string> needed;
  for (const std::string& name : names) {
    needed.insert(directory_.snapshot_path(source_, name));
  }
  std::map<std::string, source::TimePoint> since;
  for (const std::string& path : directory_.snapshots(source_)) {
    if (needed.contains(path)) {
      continue;
    }
    const auto known = not_needed_since_.find(path);
    const auto begun = known == not_needed_since_.end() ? now : known->second;
    if (now - begun >= kOldStays) {
      std::error_code error;
      std::filesystem::remove(path, error);
    }
    since.emplace(path, begun);
  }
  not_needed_since_ = std::move(since);
}

}  // namespace cuckooguard::fleet
