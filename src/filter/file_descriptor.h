// A file descriptor that closes itself. For filter files and the secret only: sockets belong to io.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <unistd.h>

namespace cuckooguard::filter {

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) noexcept : number_(number) {}
  ~FileDescriptor() { close(); }
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }
  [[nodiscard]] int number() const noexcept { return number_; }

  // False: the kernel reported an error that no earlier call did.
  bool close() noexcept {
    const int number = std::exchange(number_, -1);
    return number < 0 || ::close(number) == 0;
  }

 private:
  int number_;
};

// All of it, from there on. False: errno says why.
bool write_all(int file, std::span<const std::byte> bytes, std::uint64_t offset);

// Why a file could not be opened or created, for the operator: the system's reason, and if that is
// about rights, which user this process is, who owns the file or its folder, and what to do.
//
//   Permission denied: /var/lib/cuckooguard belongs to 0:0 with mode 0755, and this process is
//   65532:65532; chown -R 65532:65532 /var/lib/cuckooguard
//
// Threads: free functions. Errors: what cannot be determined is left out.
// `error`: errno of opening the file at `path`, or of making one in it if that is a folder.
std::string write_error(int error, const std::string& path);

// user:group, as numbers: a container has no names for them.
std::string ids_of_process();

// Of a file.
std::string folder_of(const std::string& path);

}  // namespace cuckooguard::filter
