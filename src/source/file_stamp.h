// What stat() says of a path, as far as it tells one content of a file from another.
//
// Threads: a free function without state.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include <sys/stat.h>

namespace cuckooguard::source {

struct FileIdentity {  // which file: another one after a rename over the path
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  bool operator==(const FileIdentity&) const = default;
};

struct FileStamp {
  FileIdentity identity;
  std::int64_t bytes = 0;
  std::int64_t modified_ns = 0;  // mtime
  std::int64_t changed_ns = 0;   // ctime: moves also where a copy restores the mtime

  bool operator==(const FileStamp&) const = default;
};

FileStamp stamp_of(const struct stat& status);

// Follows symbolic links. The error is a sentence with the path in it; anything but a regular file
// is one.
std::expected<FileStamp, std::string> stamp_of_path(const std::string& path);

}  // namespace cuckooguard::source
