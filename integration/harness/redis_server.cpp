#include "harness/redis_server.h"

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "harness/ports.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

// The value behind `label` in text of the form "label:value\r\n" or "label=value,".
std::string_view value_behind(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(at + label.size());
  return rest.substr(0, rest.find_first_of("\r\n,"));
}

std::string program() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const char* const other = std::getenv("CUCKOOGUARD_REDIS_SERVER");
  return other != nullptr ? other : "redis-server";
}

}  // namespace

RedisServer::RedisServer(std::vector<std::string> arguments, std::string password)
    : arguments_(std::move(arguments)), password_(std::move(password)) {
  constexpr int kPortsTried = 20;
  for (int attempt = 0; attempt < kPortsTried; ++attempt) {
    port_ = free_port();
    start();
    if (eventually([this] { return !process_->is_running() || is_ours(); }) &&
        process_->is_running()) {
      return;
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
  const std::string text = call({"INFO", section});
  return std::string(value_behind(text, "\n" + std::string(field) + ":"));
}

std::uint64_t RedisServer::calls(std::string_view name) const {
  const std::string text = call({"INFO", "commandstats"});
  const std::string_view number = value_behind(text, "cmdstat_" + std::string(name) + ":calls=");
  std::uint64_t calls = 0;
  std::from_chars(number.data(), number.data() + number.size(), calls);
  return calls;
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
