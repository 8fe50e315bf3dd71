#include "source/input_file.h"

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace cuckooguard::source {

namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * kNanosecondsPerSecond + time.tv_nsec;
}

std::string failure(const std::string& what, const std::string& path) {
  return what + " " + path + ": " + std::generic_category().message(errno);
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
      return std::unexpected("no such file: " + path);
    }
    return std::unexpected("cannot access " + path + ": " + std::generic_category().message(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    return std::unexpected(path + " is not a regular file");
  }
  return stamp_of(status);
}

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
    return std::unexpected(failure("cannot access", path_));
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

SettledFile::SettledFile(std::string path, Clock clock)
    : path_(std::move(path)), clock_(std::move(clock)) {}

Sighting SettledFile::look() {
  const auto stamp = stamp_of_path(path_);
  if (!stamp) {
    stamp_.reset();
    return {.kind = Sighting::Kind::lost, .version = 0, .why = stamp.error()};
  }
  if (stamp_ != *stamp) {
    stamp_ = *stamp;
    stamp_since_ = clock_();
    ++version_;
  }
  return {.kind = Sighting::Kind::seen, .version = version_, .why = ""};
}

std::expected<InputFile, Snapshot> SettledFile::open() {
  const auto unclear = [this](const std::string& why) {
    return std::unexpected(
        Snapshot{.kind = Snapshot::Kind::unclear, .version = 0, .why = path_ + why});
  };
  const auto still_for = clock_() - stamp_since_;
  if (still_for < kSettle) {
    return unclear(" may still be written to");
  }
  auto file = InputFile::open(path_);
  if (!file) {
    return std::unexpected(
        Snapshot{.kind = Snapshot::Kind::lost, .version = 0, .why = file.error()});
  }
  if (file->stamp() != stamp_) {
    return unclear(" is being replaced");
  }
  if (file->is_open_for_writing() && still_for < kSettleWhileOpen) {
    return unclear(
        " is open for writing: the guard reads it when it has been closed, or unchanged for 5 s");
  }
  return *std::move(file);
}

}  // namespace cuckooguard::source
