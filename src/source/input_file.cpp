#include "source/input_file.h"

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace cuckooguard::source {
namespace {

std::string failure(const std::string& what, const std::string& path) {
  return what + " " + path + ": " + std::generic_category().message(errno);
}

}  // namespace

InputFile::InputFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

std::expected<InputFile, std::string> InputFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return std::unexpected(failure("cannot open", path));
  }
  return InputFile(path, descriptor);
}

std::expected<std::size_t, std::string> InputFile::read(std::span<char> buffer) {
  for (;;) {
    const ssize_t bytes = ::read(descriptor_, buffer.data(), buffer.size());
    if (bytes >= 0) {
      return static_cast<std::size_t>(bytes);
    }
    if (errno != EINTR) {
      return std::unexpected(failure("cannot read", path_));
    }
  }
}

void InputFile::rewind() const {
  lseek(descriptor_, 0, SEEK_SET);
}

std::expected<FileStamp, std::string> InputFile::stamp() const {
  struct stat status{};
  if (fstat(descriptor_, &status) != 0) {
    return std::unexpected(failure("cannot look at", path_));
  }
  return stamp_of(status);
}

// A lease can be had only while nobody does. Who opens the file while we have it waits, and the
// kernel signals us: by default with SIGIO, which would end the process.
bool InputFile::is_open_for_writing() const {
  fcntl(descriptor_, F_SETSIG, SIGURG);
  if (fcntl(descriptor_, F_SETLEASE, F_RDLCK) != 0) {
    return errno == EAGAIN;
  }
  fcntl(descriptor_, F_SETLEASE, F_UNLCK);
  return false;
}

}  // namespace cuckooguard::source
