// A directory of this test's own, removed with everything in it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace cuckooguard::harness {

class TemporaryDirectory {
 public:
  // Short: a Unix socket's path has 107 bytes.
  explicit TemporaryDirectory(const std::filesystem::path& below = "/tmp");
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

std::string read_whole_file(const std::filesystem::path& path);
void write_whole_file(const std::filesystem::path& path, std::string_view text);

}  // namespace cuckooguard::harness
