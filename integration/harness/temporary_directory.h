// A directory of one's own, removed with everything in it, unless it is to be kept. All in this
// header, for tests of rooms that link no harness.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cuckooguard::harness {

class TemporaryDirectory {
 public:
  // Short: a Unix socket's path has 107 bytes.
  explicit TemporaryDirectory(const std::filesystem::path& below = "/tmp") {
    std::string pattern = (below / "cuckooguard-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::system_error(errno, std::system_category(), "mkdtemp");
    }
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    if (!is_kept_) {
      std::error_code ignored;
      std::filesystem::remove_all(path_, ignored);
    }
  }
  TemporaryDirectory(TemporaryDirectory&& other) noexcept
      : path_(std::move(other.path_)), is_kept_(std::exchange(other.is_kept_, true)) {}
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  void keep() { is_kept_ = true; }
  // A new one in it, which is there as long as this one.
  TemporaryDirectory folder(std::string_view name) const {
    std::filesystem::create_directory(path_ / name);
    return {path_ / name, true};
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  std::string file(std::string_view name) const { return path_ / name; }

 private:
  TemporaryDirectory(std::filesystem::path path, bool is_kept)
      : path_(std::move(path)), is_kept_(is_kept) {}

  std::filesystem::path path_;
  bool is_kept_ = false;
};

inline std::string read_whole_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_whole_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace cuckooguard::harness
