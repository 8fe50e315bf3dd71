// A program that the demo has started. It ends with the object: asked first, then by force; and by
// the kernel's hand if the demo itself is killed.
//
// Threads: the main thread's (PR_SET_PDEATHSIG is about the thread that forks).
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace cuckooguard::demo {

class ChildProcess {
 public:
  // What it prints goes to `log_path`.
  ChildProcess(std::vector<std::string> command, const std::string& log_path);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  bool is_running();
  bool has_succeeded() const { return has_ended_ && status_ == 0; }

 private:
  pid_t pid_;
  bool has_ended_ = false;
  int status_ = 0;
};

}  // namespace cuckooguard::demo
