// Snapshots in files of a builder's own, of which its admin server gives pieces to followers
// (fleet.snapshots: http). Each is another name of a checkpoint's file, so that it stays when a
// later checkpoint takes that one's place, and costs the disk nothing until then.
//
// Threads:   any; tidy() one. Lifetimes: the folder outlives it.
// Errors:    a sentence; what cannot be removed stays until it is tried again.
// Limits:    a file that nobody needs stays for kOldStays, for those who are reading it.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "source/source.h"
#include "source/storage_directory.h"

namespace cuckooguard::fleet {

class SnapshotFiles {
 public:
  static constexpr std::chrono::seconds kOldStays{60};

  SnapshotFiles(const source::StorageDirectory& directory, std::string source)
      : directory_(directory), source_(std::move(source)) {}

  // A checkpoint's file, which is in its place. The path that it has here.
  std::expected<std::string, std::string> keep(const std::string& path,
                                               std::string_view name) const;
  bool has(std::string_view name) const;
  // The bytes of one; nothing: it is not there, or has no such piece.
  std::optional<std::string> piece(std::string_view name, std::uint32_t number) const;
  // Those with other names go, also what a former run has left.
  void tidy(const std::set<std::string>& names, source::TimePoint now);

 private:
  const source::StorageDirectory& directory_;
  std::string source_;
  std::map<std::string, source::TimePoint> not_needed_since_;  // by path
};

}  // namespace cuckooguard::fleet
