#include "filter_tool/whole_file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

namespace cuckooguard::cli {
namespace {

constexpr const char* kBeside = ".cuckooguard-new";

std::unexpected<std::string> last_error(const std::string& path) {
  return std::unexpected(path + ": " + std::generic_category().message(errno));
}

// Somebody else may have renamed or removed it since it was opened.
bool is_still_at(const filter::FileDescriptor& file, const std::string& path) {
  struct stat opened{};
  struct stat there{};
  return ::fstat(file.number(), &opened) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

}  // namespace

std::expected<std::string, std::string> read_whole_file(const std::string& path,
                                                        std::uint64_t bytes_max) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) {
    return std::unexpected(path + ": " + error.message());
  }
  if (size > bytes_max) {
    return std::unexpected(
        fmt::format("{}: the file is larger than {} GiB, the maximum", path, bytes_max >> 30U));
  }
  std::string bytes(size, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(size))) {
    return std::unexpected(path + ": cannot read the file");
  }
  return bytes;
}

FileReplacement::FileReplacement(std::string path, filter::FileDescriptor beside)
    : path_(std::move(path)), beside_(std::move(beside)) {}

FileReplacement::~FileReplacement() {
  if (beside_.is_open()) {
    ::unlink((path_ + kBeside).c_str());
  }
}

std::expected<FileReplacement, std::string> FileReplacement::begin(const std::string& path,
                                                                   Existing existing) {
  const std::string beside_path = path + kBeside;
  constexpr mode_t kAsUmaskHasIt = 0666;
  filter::FileDescriptor beside(
      ::open(beside_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kAsUmaskHasIt));
  if (!beside.is_open()) {
    return last_error(beside_path);
  }
  if (::flock(beside.number(), LOCK_EX | LOCK_NB) != 0 || !is_still_at(beside, beside_path)) {
    return std::unexpected(path + ": another command is writing this file");
  }
  FileReplacement replacement(path, std::move(beside));
  std::error_code ignored;
  if (existing == Existing::refused && std::filesystem::exists(path, ignored)) {
    return std::unexpected(path + ": the file already exists");
  }
  return replacement;
}

std::expected<void, std::string> FileReplacement::commit(std::string_view bytes) {
  const int file = beside_.number();
  struct stat old{};
  if (::ftruncate(file, 0) != 0 || !filter::write_all(file, std::as_bytes(std::span(bytes)), 0) ||
      (::stat(path_.c_str(), &old) == 0 && ::fchmod(file, old.st_mode) != 0) ||
      ::fsync(file) != 0 || std::rename((path_ + kBeside).c_str(), path_.c_str()) != 0) {
    return last_error(path_);
  }
  beside_.close();
  return {};
}

}  // namespace cuckooguard::cli
