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
// Cost of a look: one stat, 1.4 us. Threads: the source's. Errors: values.
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>

#include "source/file_stamp.h"
#include "source/input_file.h"
#include "source/origin.h"
#include "source/source.h"

namespace cuckooguard::source {

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
