#include "harness/child_process.h"

#include <cerrno>
#include <csignal>
#include <exception>
#include <fstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

constexpr int kCouldNotExecute = 127;

struct Prepared {  // all that the child needs: between fork and exec nothing may be allocated
  std::vector<char*> arguments;
  const char* standard_output;
  const char* standard_error;
  pid_t parent;
  int socket;
};

void redirect(int descriptor, const char* path) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  ::dup2(file, descriptor);
  ::close(file);
}

[[noreturn]] void become(const Prepared& prepared) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != prepared.parent) {  // it has died before the line above
    ::_exit(kCouldNotExecute);
  }
  ::setpgid(0, 0);
  redirect(STDOUT_FILENO, prepared.standard_output);
  redirect(STDERR_FILENO, prepared.standard_error);
  constexpr int kFirstHandedOver = 3;
  if (prepared.socket == kFirstHandedOver) {
    ::fcntl(prepared.socket, F_SETFD, 0);
  } else if (prepared.socket >= 0) {
    ::dup2(prepared.socket, kFirstHandedOver);
  }
  ::execvp(prepared.arguments.front(), prepared.arguments.data());
  ::_exit(kCouldNotExecute);
}

pid_t start(std::vector<std::string> command, const ChildProcess::Output& output, int socket) {
  Prepared prepared{.arguments = {},
                    .standard_output = output.standard_output.c_str(),
                    .standard_error = output.standard_error.c_str(),
                    .parent = ::getpid(),
                    .socket = socket};
  for (std::string& argument : command) {
    prepared.arguments.push_back(argument.data());
  }
  prepared.arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    become(prepared);
  }
  ::setpgid(child, child);  // whichever of the two is first
  if (child < 0) {
    throw std::system_error(errno, std::system_category(), "fork");
  }
  return child;
}

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> command, const Output& output, int socket)
    : pid_(start(std::move(command), output, socket)),
      pid_descriptor_(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))) {}

ChildProcess::~ChildProcess() {
  if (is_running()) {
    ::kill(-pid_, SIGKILL);
    exit_code();
  }
  ::close(pid_descriptor_);
}

void ChildProcess::send_signal(int signal) const {
  if (!exit_code_) {  // reaped, the number may be another's
    ::kill(pid_, signal);
  }
}

std::optional<int> ChildProcess::exit_code(milliseconds patience) {
  if (exit_code_) {
    return exit_code_;
  }
  pollfd ended{.fd = pid_descriptor_, .events = POLLIN, .revents = 0};
  if (!Deadline(patience).poll(ended)) {
    return std::nullopt;
  }
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) {
    return std::nullopt;
  }
  constexpr int kSignalled = 128;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  return exit_code_;
}

Ended run_program(std::vector<std::string> command) {
  return run_program(std::move(command), "/dev/null");
}

Ended run_program(std::vector<std::string> command, const std::filesystem::path& file) {
  const TemporaryDirectory directory;
  std::vector<std::string> with_input{"/bin/sh", "-c", "exec \"$@\" <" + file.string(), "sh"};
  with_input.insert(with_input.end(), command.begin(), command.end());
  ChildProcess process(std::move(with_input), {directory / "output", directory / "errors"});
  static_cast<void>(eventually([&process] { return !process.is_running(); }));
  return {.exit_code = process.exit_code(milliseconds{0}).value_or(-1),
          .standard_output = read_whole_file(directory / "output"),
          .standard_error = read_whole_file(directory / "errors")};
}

std::size_t memory_bytes(pid_t pid, const std::string& field) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  while (status >> word) {
    if (word == field + ":") {
      std::size_t kibibytes = 0;
      status >> kibibytes;
      return kibibytes * 1024;
    }
  }
  return 0;
}

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

bool is_busy(pid_t pid, std::string_view thread) {
  std::error_code gone;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::string stat;
    try {
      stat = read_whole_file(task.path() / "stat");  // as is_stopped()
    } catch (const std::exception&) {
      continue;  // it has ended meanwhile
    }
    const std::size_t name_end = stat.rfind(") ");
    if (name_end != std::string::npos && stat.contains("(" + std::string(thread) + ") ") &&
        std::string_view("RD").contains(stat.at(name_end + 2))) {
      return true;
    }
  }
  return false;
}

bool is_stopped(pid_t pid) {
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    const std::string stat = read_whole_file(task.path() / "stat");
    const std::size_t name_end = stat.rfind(") ");  // "<pid> (<name>) T ..."
    if (name_end == std::string::npos || stat.at(name_end + 2) != 'T') {
      return false;
    }
  }
  return true;
}

}  // namespace cuckooguard::harness
