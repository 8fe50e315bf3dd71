#include "harness/temporary_directory.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace cuckooguard::harness {

TemporaryDirectory::TemporaryDirectory(const std::filesystem::path& below) {
  std::string pattern = (below / "cuckooguard-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw std::system_error(errno, std::system_category(), "mkdtemp");
  }
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  if (!is_kept_) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

TemporaryDirectory TemporaryDirectory::folder(std::string_view name) const {
  std::filesystem::create_directory(path_ / name);
  return {path_ / name, true};
}

std::string read_whole_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_whole_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace cuckooguard::harness
