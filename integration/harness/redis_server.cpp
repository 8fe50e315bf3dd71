#include "harness/redis_server.h"

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "harness/missing.h"
#include "harness/ports.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

std::string program() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const char* const other = std::getenv("CUCKOOGUARD_REDIS_SERVER");
  return other != nullptr ? other : "redis-server";
}

}  // namespace

RedisServer::RedisServer(std::vector<std::string> arguments,
                         std::string password,
                         TemporaryDirectory directory)
    : directory_(std::move(directory)),
      arguments_(std::move(arguments)),
      password_(std::move(password)) {
  constexpr int kPortsTried = 20;
  for (int attempt = 0; attempt < kPortsTried; ++attempt) {
    port_ = free_port();
    start();
    if (eventually([this] { return !process_->is_running() || is_ours(); }) &&
        process_->is_running()) {
      return;
    }
    if (const auto missing = missing_program(program(), "redis-server")) {
      throw std::runtime_error(*missing);
    }
  }
  throw std::runtime_error(program() +
                           " does not start: " + read_whole_file(directory_ / "output"));
}

void RedisServer::start() {
  std::vector<std::string> command{program(),
                                   "--port",
                                   std::to_string(port_),
                                   "--bind",
                                   "127.0.0.1",
                                   "--unixsocket",
                                   unix_path().string(),
                                   "--dir",
                                   directory_.path().string(),
                                   "--save",
                                   "",
                                   "--appendonly",
                                   "no",
                                   "--enable-debug-command",
                                   "yes"};
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  process_.emplace(std::move(command),
                   ChildProcess::Output{directory_ / "output", directory_ / "errors"});
}

bool RedisServer::is_ours() const {
  try {
    return info("server", "process_id") == std::to_string(pid());
  } catch (const std::runtime_error&) {  // not listening yet, or closing
    return false;
  }
}

std::string RedisServer::address() const {
  return "127.0.0.1:" + std::to_string(port_);
}

pid_t RedisServer::pid() const {
  return process_->pid();
}

RawClient RedisServer::client() const {
  RawClient client = RawClient::to_port(port_);
  if (!password_.empty()) {
    client.call({"AUTH", password_});
  }
  return client;
}

std::string RedisServer::call(std::initializer_list<std::string_view> arguments) const {
  return client().call(arguments);
}

std::string RedisServer::info(std::string_view section, std::string_view field) const {
  return info_field(call({"INFO", section}), field);
}

std::uint64_t RedisServer::calls(std::string_view name) const {
  return calls_in(call({"INFO", "commandstats"}), name);
}

void RedisServer::kill() {
  process_->send_signal(SIGKILL);
  process_->exit_code();
}

void RedisServer::stop() {
  process_->send_signal(SIGTERM);
  process_->exit_code();
}

void RedisServer::start_again() {
  start();
  if (!eventually([this] { return is_ours() || !process_->is_running(); }) ||
      !process_->is_running()) {
    throw std::runtime_error(program() +
                             " does not start again: " + read_whole_file(directory_ / "output"));
  }
}

}  // namespace cuckooguard::harness
