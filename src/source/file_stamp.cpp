#include "source/file_stamp.h"

#include <cerrno>
#include <system_error>

namespace cuckooguard::source {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * kNanosecondsPerSecond + time.tv_nsec;
}

}  // namespace

FileStamp stamp_of(const struct stat& status) {
  return {.identity = {.device = status.st_dev, .inode = status.st_ino},
          .bytes = status.st_size,
          .modified_ns = nanoseconds(status.st_mtim),
          .changed_ns = nanoseconds(status.st_ctim)};
}

std::expected<FileStamp, std::string> stamp_of_path(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) {
      return std::unexpected("there is no file " + path);
    }
    return std::unexpected("cannot look at " + path + ": " +
                           std::generic_category().message(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    return std::unexpected(path + " is not a regular file");
  }
  return stamp_of(status);
}

}  // namespace cuckooguard::source
