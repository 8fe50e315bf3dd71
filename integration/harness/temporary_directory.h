// A directory of one's own, removed with everything in it, unless it is to be kept.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace cuckooguard::harness {

class TemporaryDirectory {
 public:
  // Short: a Unix socket's path has 107 bytes.
  explicit TemporaryDirectory(const std::filesystem::path& below = "/tmp");
  ~TemporaryDirectory();
  TemporaryDirectory(TemporaryDirectory&& other) noexcept
      : path_(std::move(other.path_)), is_kept_(std::exchange(other.is_kept_, true)) {}
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  void keep() { is_kept_ = true; }
  // A new one in it, which is there as long as this one.
  TemporaryDirectory folder(std::string_view name) const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  TemporaryDirectory(std::filesystem::path path, bool is_kept)
      : path_(std::move(path)), is_kept_(is_kept) {}

  std::filesystem::path path_;
  bool is_kept_ = false;
};

std::string read_whole_file(const std::filesystem::path& path);
void write_whole_file(const std::filesystem::path& path, std::string_view text);

}  // namespace cuckooguard::harness
