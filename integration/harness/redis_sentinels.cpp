#include "harness/redis_sentinels.h"

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "harness/certificates.h"
#include "harness/configuration.h"
#include "harness/ports.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

constexpr std::size_t kQuorum = 2;

std::string program() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const char* const other = std::getenv("CUCKOOGUARD_REDIS_SERVER");
  return other != nullptr ? other : "redis-server";
}

}  // namespace

RedisSentinels::RedisSentinels(RedisSentinelsOptions options) : options_(std::move(options)) {
  for (std::size_t i = 0; i < options_.nodes; ++i) {
    start_node();
  }
  for (std::size_t i = 0; i < options_.sentinels; ++i) {
    start(sentinels_.emplace_back());
  }
  wait_until_ok();
}

void RedisSentinels::start_node() {
  std::vector<std::string> arguments{"--repl-diskless-sync-delay", "0"};
  arguments.insert(arguments.end(), options_.arguments.begin(), options_.arguments.end());
  const bool has_tls = !options_.tls_folder.empty();
  const std::uint16_t tls_port = has_tls ? free_port() : std::uint16_t{0};
  if (has_tls) {
    const auto tls = redis_tls_arguments(options_.tls_folder, tls_port, "no");
    arguments.insert(arguments.end(), tls.begin(), tls.end());
    arguments.insert(arguments.end(), {"--tls-replication", "yes"});
  }
  Node& node = nodes_.emplace_back(std::move(arguments), options_.password);
  node.told_port = has_tls ? tls_port : node.server.port();
  if (nodes_.size() > 1 &&
      node.server.call({"REPLICAOF", "127.0.0.1", std::to_string(port(0))}) != kOk) {
    throw std::runtime_error("a node does not become a replica");
  }
}

std::string RedisSentinels::settings_of(const Sentinel& sentinel) const {
  const std::string name = kMaster;
  std::string file = "port " + std::to_string(sentinel.port) + "\nbind 127.0.0.1\ndir " +
                     sentinel.directory.path().string() + "\n";
  if (!options_.tls_folder.empty()) {
    const auto tls = redis_tls_arguments(options_.tls_folder, sentinel.told_port, "no");
    for (std::size_t i = 0; i < tls.size(); i += 2) {
      file += tls[i].substr(2) + " " + tls[i + 1] + "\n";
    }
    file += "tls-replication yes\n";
  }
  for (const std::string& line : options_.sentinel_settings) {
    file += line + "\n";
  }
  file += "sentinel monitor " + name + " 127.0.0.1 " + std::to_string(port(0)) + " " +
          std::to_string(kQuorum) + "\nsentinel down-after-milliseconds " + name +
          " 1000\nsentinel failover-timeout " + name + " 5000\nsentinel parallel-syncs " + name +
          " 8\n";
  if (!options_.password.empty()) {
    file += "sentinel auth-pass " + name + " " + options_.password + "\n";
  }
  return file;
}

void RedisSentinels::start(Sentinel& sentinel) const {
  constexpr int kPortsTried = 20;
  for (int attempt = 0; attempt < kPortsTried; ++attempt) {
    sentinel.port = free_port();
    sentinel.told_port = options_.tls_folder.empty() ? sentinel.port : free_port();
    write_whole_file(sentinel.directory / "sentinel.conf", settings_of(sentinel));
    sentinel.process.emplace(
        std::vector<std::string>{
            program(), (sentinel.directory / "sentinel.conf").string(), "--sentinel"},
        ChildProcess::Output{sentinel.directory / "output", sentinel.directory / "errors"});
    if (eventually([&] { return answers(sentinel) || !sentinel.process->is_running(); }) &&
        sentinel.process->is_running()) {
      return;
    }
  }
  throw std::runtime_error("a Sentinel does not start: " +
                           read_whole_file(sentinel.directory / "output"));
}

// And has timers by which it notices more than by its own, and does not stand still for half a
// minute after a moment in which the machine did (TILT).
bool RedisSentinels::answers(const Sentinel& sentinel) const {
  try {
    RawClient client = RawClient::to_port(sentinel.port);
    if (!options_.sentinel_password.empty()) {
      client.call({"AUTH", options_.sentinel_password});
    }
    return client.call({"SENTINEL",
                        "DEBUG",
                        "INFO-PERIOD",
                        "200",
                        "PUBLISH-PERIOD",
                        "200",
                        "TILT-PERIOD",
                        "1000"}) == kOk;
  } catch (const std::runtime_error&) {
    return false;
  }
}

RawClient RedisSentinels::sentinel(std::size_t i) const {
  RawClient client = RawClient::to_port(sentinels_[i].port);
  if (!options_.sentinel_password.empty()) {
    client.call({"AUTH", options_.sentinel_password});
  }
  return client;
}

std::string RedisSentinels::ask(std::size_t i,
                                std::initializer_list<std::string_view> arguments) const {
  return sentinel(i).call(arguments);
}

std::string RedisSentinels::sentinel_addresses() const {
  std::string all = "[ ";
  for (const Sentinel& sentinel : sentinels_) {
    all += (all.size() > 2 ? ", " : "") + port_address(sentinel.told_port);
  }
  return all + " ]";
}

std::optional<std::size_t> RedisSentinels::master(std::size_t sentinel) const {
  const std::string said = ask(sentinel, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", kMaster});
  for (std::size_t i = 0; i < size(); ++i) {
    if (said.ends_with("\r\n" + std::to_string(port(i)) + "\r\n")) {
      return i;
    }
  }
  return std::nullopt;
}

void RedisSentinels::kill(std::size_t node) {
  nodes_[node].server.kill();
  nodes_[node].runs = false;
}

void RedisSentinels::start_again(std::size_t node) {
  nodes_[node].server.start_again();
  nodes_[node].runs = true;
}

void RedisSentinels::kill_sentinel(std::size_t i) {
  sentinels_[i].process->send_signal(SIGKILL);
  sentinels_[i].process->exit_code();
  sentinels_[i].runs = false;
}

// Empty: nothing is wrong.
std::string RedisSentinels::why_not_ok() const {
  std::optional<std::size_t> master;
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    if (!sentinels_[i].runs) {
      continue;
    }
    const auto said = this->master(i);
    if (!said || (master && said != master)) {
      return "the Sentinels do not name one master";
    }
    master = said;
    const std::string state = ask(i, {"SENTINEL", "MASTER", kMaster});
    const auto has = [&](std::string_view field, std::size_t value) {
      return state.contains(bulk(field) + bulk(std::to_string(value)));
    };
    if (!state.contains(bulk("flags") + bulk("master")) || !has("num-slaves", size() - 1) ||
        !has("num-other-sentinels", sentinels_.size() - 1)) {
      return "a Sentinel does not know all: " + state;
    }
    const std::string replicas = ask(i, {"SENTINEL", "REPLICAS", kMaster});
    if (count_in(replicas, bulk("flags") + bulk("slave")) != size() - 1 ||
        count_in(replicas, bulk("master-link-status") + bulk("ok")) != size() - 1) {
      return "a Sentinel's replicas are not ready: " + replicas;
    }
  }
  for (std::size_t i = 0; i < size(); ++i) {
    const bool is_master = i == master;
    if (node(i).info("replication", "role") != (is_master ? "master" : "slave") ||
        (!is_master && node(i).info("replication", "master_link_status") != "up")) {
      return "a node is not what the Sentinels say";
    }
  }
  return {};
}

void RedisSentinels::wait_until_ok() const {
  std::string why;
  if (!eventually([&] {
        try {
          why = why_not_ok();
        } catch (const std::runtime_error& error) {
          why = error.what();
        }
        return why.empty();
      })) {
    throw std::runtime_error(why);
  }
}

}  // namespace cuckooguard::harness
