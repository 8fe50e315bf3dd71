// The configuration, read again while the process runs, as GUARD.RELOAD, `POST /-/reload` and
// whoever shows the state see it. What a reload does, and what it leaves: app/assembly.h.
//
// Threads: any; no call waits for a reload. Errors: an outcome's errors. Limits: one reload at a
// time, and one more that begins when it has ended, for all who have asked meanwhile.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::guard {

struct ReloadOutcome {
  // Why the configuration of before is still in force, each a line; none: the file's is.
  std::vector<std::string> errors{};
  // Settings that are other in the file than in this process, and stay so until it is started
  // again.
  std::vector<std::string> needs_restart{};
  bool is_unchanged = false;             // the file says what it said when it was last loaded
  std::chrono::sys_seconds loaded_at{};  // when the configuration in force was read
};

class Reloads {
 public:
  // Of a reload that began at `since` or later; `who` asks for one, if there is none, for the log.
  // Nothing: it has not ended yet; ask again.
  virtual std::optional<ReloadOutcome> outcome(std::chrono::steady_clock::time_point since,
                                               std::string_view who) = 0;
  // The last one; the start counts as one.
  virtual ReloadOutcome last() const = 0;

 protected:
  ~Reloads() = default;
};

}  // namespace cuckooguard::guard
