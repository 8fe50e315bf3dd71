#include "servers.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <system_error>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cache_aside.h"
#include "redis_client.h"

namespace cuckooguard::demo {
namespace {

constexpr std::chrono::seconds kPatience{30};
constexpr int kAttempts = 5;
constexpr std::ptrdiff_t kLogShown = 2000;

// Below the ports that the kernel gives to outgoing connections, so that hardly anybody takes it before the server
// does; if somebody has, the server ends and another port is tried.
std::uint16_t free_port() {
  std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<std::uint16_t> ports(10'000, 32'000);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    throw std::system_error(errno, std::system_category(), "socket");
  }
  for (int attempt = 0; attempt < 1000; ++attempt) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(ports(random));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      close(socket);
      return ntohs(address.sin_port);
    }
  }
  close(socket);
  throw std::runtime_error("there is no free port on 127.0.0.1");
}

std::string end_of(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return text.substr(text.size() - std::min<std::size_t>(text.size(), kLogShown));
}

std::string guard_yaml(std::uint16_t port, std::uint16_t redis_port, const std::string& database) {
  return fmt::format(R"(listen: 127.0.0.1:{}
upstream: 127.0.0.1:{}
sources:
  shop: {{ type: sqlite, path: "{}", max_lag: {}ms, poll_every: 10ms }}
namespaces:
  users:
    keys: "user:{{id:uint64}}"
    source: {{ from: shop, table: users, columns: {{ id: id }} }}
    mode: enforce
    absent_reply: "bytes:{}"
)",
                     port,
                     redis_port,
                     database,
                     kMaxLag.count(),
                     kAbsentReply);
}

}  // namespace

std::string database_path(const TempDirectory& directory) {
  return directory.file("shop.db");
}

Server::Server(const std::string& name,
               const CommandFor& command,
               const TempDirectory& directory,
               const Interrupt& interrupt) {
  const std::string log = directory.file(name + ".log");
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    port_ = free_port();
    process_ = std::make_unique<ChildProcess>(command(port_), log);
    const bool is_decided =
        interrupt.eventually(kPatience, [this] { return !process_->is_running() || answers(); });
    if (is_decided && process_->is_running()) {
      return;
    }
  }
  throw std::runtime_error(name + " does not start. Its log ends:\n" + end_of(log));
}

bool Server::answers() const {
  try {
    return RedisClient(port_).is_alive();
  } catch (const std::runtime_error&) {
    return false;  // not yet
  }
}

Server Server::redis(const TempDirectory& directory, const Interrupt& interrupt) {
  const auto command = [&directory](std::uint16_t port) {
    return std::vector<std::string>{"redis-server",
                                    "--port",
                                    std::to_string(port),
                                    "--bind",
                                    "127.0.0.1",
                                    "--save",
                                    "",
                                    "--appendonly",
                                    "no",
                                    "--dir",
                                    directory.path()};
  };
  return {"redis", command, directory, interrupt};
}

Server Server::guard(const std::string& program,
                     std::uint16_t redis_port,
                     const TempDirectory& directory,
                     const Interrupt& interrupt) {
  const auto command = [&](std::uint16_t port) {
    const std::string config = directory.file("guard.yaml");
    std::ofstream(config) << guard_yaml(port, redis_port, database_path(directory));
    return std::vector<std::string>{program, "--config", config};
  };
  return {"guard", command, directory, interrupt};
}

}  // namespace cuckooguard::demo
