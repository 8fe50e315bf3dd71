// A regular file open for reading.
//
// Threads: one. Errors: a sentence with the path in it.
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>

#include "source/file_stamp.h"

namespace cuckooguard::source {

class InputFile {
 public:
  static std::expected<InputFile, std::string> open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  // Fills the front of the buffer from where the last read ended; 0 at the end of the file.
  std::expected<std::size_t, std::string> read(std::span<char> buffer);
  void rewind() const;
  std::expected<FileStamp, std::string> stamp() const;
  // Some process has it open for writing. No, if the kernel does not tell us: it is another user's
  // file, or on a file system without leases.
  bool is_open_for_writing() const;

 private:
  InputFile(std::string path, int descriptor);

  std::string path_;
  int descriptor_;
};

}  // namespace cuckooguard::source
