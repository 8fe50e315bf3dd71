#include "filter/file_descriptor.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#include <sys/stat.h>

namespace cuckooguard::filter {
namespace {

std::string ids(uid_t user, gid_t group) {
  return std::to_string(user) + ":" + std::to_string(group);
}

// As chmod takes it: 0755.
std::string octal(mode_t mode) {
  constexpr mode_t kBits = 07777;
  std::array<char, 8> digits{};
  char* const end = std::to_chars(digits.begin(), digits.end(), mode & kBits, 8).ptr;
  return "0" + std::string(digits.begin(), end);
}

// Nothing where it is its owner's, who may write it: a security module, a file system without
// links.
std::string remedy(const std::string& path, const struct stat& status) {
  const bool is_folder = S_ISDIR(status.st_mode);
  if (status.st_uid != ::geteuid()) {
    return "; chown -R " + ids_of_process() + " " + (is_folder ? path : folder_of(path));
  }
  const mode_t needed = S_IRUSR | S_IWUSR | (is_folder ? S_IXUSR : 0);
  return (status.st_mode & needed) != needed ? "; chmod u+rwX " + path : "";
}

std::string rights(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return "this process runs as " + ids_of_process() + ", and may not access " + path;
  }
  return path + " belongs to " + ids(status.st_uid, status.st_gid) + " with mode " +
         octal(status.st_mode) + ", and this process runs as " + ids_of_process() +
         remedy(path, status);
}

}  // namespace

bool write_all(int file, std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) {
      continue;
    }
    if (wrote <= 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
    offset += static_cast<std::uint64_t>(wrote);
  }
  return true;
}

std::string write_error(int error, const std::string& path) {
  std::string reason = std::generic_category().message(error);
  switch (error) {
    case EACCES:
    case EPERM:
      return reason + ": " + rights(path);
    case EROFS:
      return reason + ": it needs a volume that is writable by " + ids_of_process();
    default:
      return reason;
  }
}

std::string ids_of_process() {
  return ids(::geteuid(), ::getegid());
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash == 0 ? 1 : slash);
}

}  // namespace cuckooguard::filter
