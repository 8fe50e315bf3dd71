// What was read of the configuration, to be compared with what is read next: every setting, secrets
// too, and which files they name as they were then (certificates, passwords, tokens). Equal are two
// only if nothing has changed.
//
// Not the rows of a `file` source, which are looked at all the time.
//
// Threads: values. Errors: none; a file that cannot be looked at is compared by why.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "config/config.h"
#include "source/file_stamp.h"

namespace cuckooguard::app {

class SettingsAsRead {
 public:
  // Looks at the files: before they are read.
  explicit SettingsAsRead(const config::Config& config);

  bool operator==(const SettingsAsRead&) const = default;

 private:
  void look_at(const std::string& path);  // empty: there is none

  config::Config config_;
  std::vector<std::expected<source::FileStamp, std::string>> files_;
};

}  // namespace cuckooguard::app
