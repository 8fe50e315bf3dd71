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

// Below the ports that the kernel gives to outgoing connections, so that hardly anybody takes it
// before the server does; if somebody has, the server ends and another port is tried.
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

bool answers_ping(const Endpoint& server) {
  return RedisClient(server).is_alive();
}

std::string guard_yaml(const Endpoint& listen, const Endpoint& page, const Guard& guard) {
  return fmt::format("listen: {}\nupstream: {}\nsources:\n  shop: {}\nnamespaces:{}{}",
                     listen.text(),
                     guard.redis.text(),
                     guard.source,
                     guard.namespaces,
                     guard.has_page ? "admin: { address: \"" + page.text() + "\" }\n" : "");
}

}  // namespace

std::string Guard::users_namespace() {
  return fmt::format(R"(
  users:
    keys: "user:{{id:uint64}}"
    source: {{ from: shop, table: users, columns: {{ id: id }} }}
    mode: enforce
    absent_reply: "bytes:{}"
    overlay: {{ pass_at_start: false }}  # nobody has written before
)",
                     kAbsentReply);
}

Server::Server(const std::string& name,
               const CommandFor& command,
               const Answers& answers,
               const TempDirectory& directory,
               const Interrupt& interrupt) {
  const std::string log = directory.file(name + ".log");
  const auto is_up = [this, &answers] {
    try {
      return answers(endpoint_);
    } catch (const std::runtime_error&) {
      return false;  // not yet
    }
  };
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    endpoint_.port = free_port();
    process_ = std::make_unique<ChildProcess>(command(endpoint_.port), log);
    const bool is_decided =
        interrupt.eventually(kPatience, [&] { return !process_->is_running() || is_up(); });
    if (is_decided && process_->is_running()) {
      return;
    }
  }
  throw std::runtime_error(name + " does not start. Its log ends:\n" + end_of(log));
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
  return {"redis", command, answers_ping, directory, interrupt};
}

Server Server::guard(const Guard& guard,
                     const TempDirectory& directory,
                     const Interrupt& interrupt) {
  Endpoint page;
  const auto command = [&](std::uint16_t port) {
    page.port = free_port();
    const std::string config = directory.file("guard.yaml");
    std::ofstream(config) << guard_yaml({.port = port}, page, guard);
    return std::vector<std::string>{guard.program, "--config", config};
  };
  Server server("guard", command, answers_ping, directory, interrupt);
  server.page_ = page;
  return server;
}

void run_to_end(const std::string& name,
                const std::vector<std::string>& command,
                const TempDirectory& directory,
                const Interrupt& interrupt) {
  const std::string log = directory.file(name + ".log");
  ChildProcess program(command, log);
  const bool has_ended =
      interrupt.eventually(kPatience, [&program] { return !program.is_running(); });
  if (!has_ended || !program.has_succeeded()) {
    throw std::runtime_error(name + " fails. Its log ends:\n" + end_of(log));
  }
}

}  // namespace cuckooguard::demo
