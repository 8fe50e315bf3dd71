#include "harness/systemd_double.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness/guard_process.h"
#include "harness/loopback.h"

namespace cuckooguard::harness {
namespace {

constexpr int kBacklog = 4096;

int checked(int result, const char* what) {
  if (result < 0) {
    throw std::system_error(errno, std::system_category(), what);
  }
  return result;
}

}  // namespace

SystemdDouble::SystemdDouble(std::string yaml, std::string environment)
    : yaml_(std::move(yaml)),
      environment_(std::move(environment)),
      notified_(
          checked(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket")) {
  listen();
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::strncpy(&at.sun_path[0], (directory_ / "notify").c_str(), sizeof at.sun_path - 1);
  checked(::bind(notified_, reinterpret_cast<const sockaddr*>(&at), sizeof at), "bind");
}

SystemdDouble::~SystemdDouble() {
  guard_.reset();
  ::close(listening_);
  ::close(notified_);
}

void SystemdDouble::listen() {
  listening_ = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  sockaddr_in any = loopback(0);
  checked(::bind(listening_, reinterpret_cast<const sockaddr*>(&any), sizeof any), "bind");
  checked(::listen(listening_, kBacklog), "listen");
  socklen_t length = sizeof any;
  checked(::getsockname(listening_, reinterpret_cast<sockaddr*>(&any), &length), "getsockname");
  port_ = ntohs(any.sin_port);
}

void SystemdDouble::start() {
  start_with(address());
}

void SystemdDouble::start_with(std::string_view listen) {
  const auto config = directory_ / "guard.yaml";
  write_whole_file(config, "listen: " + std::string(listen) + "\n" + yaml_);
  told_.clear();
  const std::string start = environment_ + " LISTEN_FDS=1 LISTEN_PID=$$ NOTIFY_SOCKET=" +
                            (directory_ / "notify").string() + " exec \"$@\"";
  guard_ = std::make_unique<ChildProcess>(
      std::vector<std::string>{
          "/bin/sh", "-c", start, "sh", guard_binary(), "--config", config.string()},
      ChildProcess::Output{directory_ / "output", directory_ / "errors"},
      listening_);
}

bool SystemdDouble::hears(std::string_view words) {
  return eventually([&] {
           std::array<char, 1024> message{};
           ssize_t bytes = 0;
           while ((bytes = ::recv(notified_, message.data(), message.size(), 0)) > 0) {
             told_.append(message.data(), static_cast<std::size_t>(bytes)).append("\n");
           }
           return told_.find(words) != std::string::npos || !guard_->is_running();
         }) &&
         told_.find(words) != std::string::npos;
}

}  // namespace cuckooguard::harness
