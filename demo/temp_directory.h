// Where the demo keeps all it writes; removed with everything in it unless it is to be kept.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace cuckooguard::demo {

class TempDirectory {
 public:
  explicit TempDirectory(bool keep) : keep_(keep) {
    std::string name = std::filesystem::temp_directory_path() / "cuckooguard-demo-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
      throw std::system_error(errno, std::system_category(), "mkdtemp " + name);
    }
    path_ = name;
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory() {
    if (!keep_) {
      std::error_code ignored;
      std::filesystem::remove_all(path_, ignored);
    }
  }

  std::string path() const { return path_; }
  std::string file(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
  bool keep_;
};

}  // namespace cuckooguard::demo
