#include "child_process.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cuckooguard::demo {
namespace {

constexpr int kCouldNotExecute = 127;
constexpr std::chrono::seconds kPatience{5};
constexpr int kAskEveryMs = 5;

// Between fork and exec: nothing that allocates.
[[noreturn]] void become(char* const* arguments, const char* log_path, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {  // it has died before the line above
    _exit(kCouldNotExecute);
  }
  setpgid(0, 0);  // Ctrl-C is the demo's to deal with
  const int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log >= 0) {
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
  }
  execvp(arguments[0], arguments);
  _exit(kCouldNotExecute);
}

pid_t start(std::vector<std::string> command, const std::string& log_path) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& argument : command) {
    arguments.push_back(argument.data());
  }
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    become(arguments.data(), log_path.c_str(), parent);
  }
  if (child < 0) {
    throw std::system_error(errno, std::system_category(), "fork");
  }
  return child;
}

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> command, const std::string& log_path)
    : pid_(start(std::move(command), log_path)) {}

ChildProcess::~ChildProcess() {
  if (!is_running()) {
    return;
  }
  kill(pid_, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (is_running() && std::chrono::steady_clock::now() < deadline) {
    poll(nullptr, 0, kAskEveryMs);
  }
  if (is_running()) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

bool ChildProcess::is_running() {
  if (!has_ended_) {
    has_ended_ = waitpid(pid_, &status_, WNOHANG) != 0;
  }
  return !has_ended_;
}

}  // namespace cuckooguard::demo
