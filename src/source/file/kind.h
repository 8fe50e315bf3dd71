// A file of rows, which is read again whenever it has changed.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <vector>

#include "config/config.h"
#include "source/follower.h"
#include "source/input_file.h"
#include "source/source.h"
#include "source/source_kind.h"

namespace cuckooguard::source {

// A text file of identities as an Origin: a version is a stamp (device, inode, size, mtime, ctime)
// of the path (source/input_file.h).
//
//   lines  one identity per line: for namespaces with one placeholder
//   csv    the first record names the columns; an empty field is NULL, that is a row without a key
//
// cost of a look: one stat, 1.4 us.
// Threads: the source's. Errors: values.
class FileOrigin final : public Origin {
 public:
  static constexpr std::chrono::milliseconds kSettle = SettledFile::kSettle;
  static constexpr std::chrono::seconds kSettleWhileOpen = SettledFile::kSettleWhileOpen;

  // `at_check` is for tests: called every FilePass::kRecordsPerCheck records.
  FileOrigin(config::FileSource settings, Clock clock, std::function<void()> at_check = {});

  // Before the start: everything that keeps the targets from being read, with the fix.
  std::vector<Refusal> check(std::span<const Target> targets) const;

  Sighting look() override { return file_.look(); }
  Snapshot take(Feeds& feeds, const std::stop_token& stop) override;

 private:
  config::FileSource settings_;
  SettledFile file_;
  std::function<void()> at_check_;
};

extern const SourceKind kFile;

}  // namespace cuckooguard::source
