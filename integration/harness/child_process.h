// A program that is started and ends with its owner, or by the kernel's hand if the owner's process
// dies. Ctrl-C is not the program's, but the owner's to deal with.
//
// Threads: start it from the main thread (PR_SET_PDEATHSIG is about the thread that forks).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "harness/deadline.h"

namespace cuckooguard::harness {

class ChildProcess {
 public:
  struct Output {  // files; one may be both
    std::filesystem::path standard_output;
    std::filesystem::path standard_error;
  };

  // `socket`: becomes its descriptor 3; -1: none.
  ChildProcess(std::vector<std::string> command, const Output& output, int socket = -1);
  ~ChildProcess();  // SIGKILL, also to what it has started itself, if it still runs
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  void send_signal(int signal) const;
  bool is_running() { return !exit_code(milliseconds{0}); }

  // Nothing if it still runs at the deadline. A process ended by signal n has exit code 128 + n.
  std::optional<int> exit_code(milliseconds patience = kPatience);

 private:
  pid_t pid_;
  int pid_descriptor_;
  std::optional<int> exit_code_;
};

// A run that is expected to end by itself.
struct Ended {
  int exit_code = -1;  // -1: it did not end in time, and was ended
  std::string standard_output;
  std::string standard_error;
};
Ended run_program(std::vector<std::string> command);
// `file` is its standard input.
Ended run_program(std::vector<std::string> command, const std::filesystem::path& file);

// "VmRSS" or "VmHWM" of /proc/<pid>/status, in bytes.
std::size_t memory_bytes(pid_t pid, const std::string& field);

// As far as it goes; to which limit. Children inherit it.
std::size_t raise_descriptor_limit();

// Whether a thread of this name has something to do.
bool is_busy(pid_t pid, std::string_view thread);

// Whether no thread of it runs any more. SIGSTOP is told to one of them, which stops the others
// when it gets to it.
bool is_stopped(pid_t pid);

}  // namespace cuckooguard::harness
