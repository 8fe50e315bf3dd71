// A file that is read, and replaced, as a whole: it is written beside its place, synced and
// renamed, so that there is always the old one or the new one.
//
// Threads: one. Lifetimes: a replacement that is not committed leaves all as it was. Errors: a
// sentence that begins with a path. Limits: the reader's.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "filter/file_descriptor.h"

namespace cuckooguard::cli {

std::expected<std::string, std::string> read_whole_file(const std::string& path,
                                                        std::uint64_t bytes_max);

enum class Existing : std::uint8_t { refused, replaced };

// While there is one of a path, no other process of ours has one: what was read meanwhile is what
// is replaced.
class FileReplacement {
 public:
  static std::expected<FileReplacement, std::string> begin(const std::string& path,
                                                           Existing existing);
  ~FileReplacement();
  FileReplacement(FileReplacement&&) = default;
  FileReplacement& operator=(FileReplacement&&) = delete;
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  // Once.
  std::expected<void, std::string> commit(std::string_view bytes);

 private:
  FileReplacement(std::string path, filter::FileDescriptor beside);

  std::string path_;
  filter::FileDescriptor beside_;  // locked; closed once it is in its place
};

}  // namespace cuckooguard::cli
