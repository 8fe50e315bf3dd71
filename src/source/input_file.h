// Files as sources read them: what stat() says of one, one that is open, one that has stood still.
//
// Threads: one for each object. Errors: a sentence with the path in it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>

#include <sys/stat.h>

#include "source/follower.h"
#include "source/source.h"

namespace cuckooguard::source {

// What stat() says of a path, as far as it tells one content of a file from another.
struct FileIdentity {  // which file: another one after a rename over the path
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  bool operator==(const FileIdentity&) const = default;
};

struct FileStamp {
  FileIdentity identity;
  std::int64_t bytes = 0;
  std::int64_t modified_ns = 0;  // mtime
  std::int64_t changed_ns = 0;   // ctime: moves also where a copy restores the mtime

  bool operator==(const FileStamp&) const = default;
};

FileStamp stamp_of(const struct stat& status);

// Follows symbolic links. The error is a sentence with the path in it; anything but a regular file
// is one.
std::expected<FileStamp, std::string> stamp_of_path(const std::string& path);

// A regular file open for reading.
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

// A file that is read once it has stood still, and its versions, which are stamps (device, inode,
// size, mtime, ctime) of the path.
//
// Why no change is missed. A stamp stands for one content if no write can leave it as it is. The
// kernel takes times from a clock of coarse ticks (10 ms at most), so two writes of equal size
// within a tick look alike. Therefore the file is read only once its stamp has stood still for
// kSettle: any write after the reading began then falls into a later tick. The stamp of what was
// opened must be that stamp, and the next look() takes it again, so a write during the reading is a
// change like any other. An editor's or a job's "write aside and rename" is another inode. A file
// that is written in place may be half there although it stands still: as long as somebody has it
// open for writing, it must have stood still for kSettleWhileOpen. Not seen: who opens it anew for
// each piece, and waits in between.
// Not seen: writes through a shared mapping before the kernel has written the times, clocks set
// back on purpose.
//
// Cost of a look: one stat, 1.4 us.
class SettledFile {
 public:
  static constexpr std::chrono::milliseconds kSettle{50};
  static constexpr std::chrono::seconds kSettleWhileOpen{5};

  SettledFile(std::string path, Clock clock);

  const std::string& path() const { return path_; }
  Sighting look();
  // As look() has just seen it; or why not: it is lost, or unclear.
  std::expected<InputFile, Snapshot> open();

 private:
  std::string path_;
  Clock clock_;
  std::optional<FileStamp> stamp_;
  Version version_ = 0;  // counts the stamps seen
  TimePoint stamp_since_{};
};

}  // namespace cuckooguard::source
