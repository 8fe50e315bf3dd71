#include "harness/guard_process.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "harness/ports.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {

GuardProcess GuardProcess::on_port(const std::string& yaml,
                                   const std::string& program,
                                   TemporaryDirectory directory) {
  return GuardProcess(program, std::move(directory), {}).on_any_port(yaml);
}

GuardProcess GuardProcess::on_tls_port(const std::string& yaml, const Tls& tls) {
  GuardProcess guard =
      GuardProcess(guard_binary(), TemporaryDirectory(), tls.settings).on_any_port(yaml);
  guard.tunnel_ = std::make_unique<TlsTunnel>(guard.port_, tls.authority);
  return guard;
}

GuardProcess GuardProcess::on_node_ports(const std::string& yaml,
                                         std::size_t nodes,
                                         const std::string& program,
                                         TemporaryDirectory directory) {
  GuardProcess guard(program, std::move(directory), {});
  guard.nodes_ = nodes;
  return std::move(guard).on_any_port(yaml);
}

GuardProcess GuardProcess::on_sentinel_ports(const std::string& yaml, std::size_t nodes) {
  GuardProcess guard(guard_binary(), TemporaryDirectory(), {});
  guard.nodes_ = nodes;
  guard.is_sentinel_ = true;
  return std::move(guard).on_any_port(yaml);
}

GuardProcess GuardProcess::on_any_port(const std::string& yaml) && {
  constexpr int kPortsTried = 20;
  for (int attempt = 0; attempt < kPortsTried; ++attempt) {
    port_ = free_port();
    if (start(yaml)) {
      return std::move(*this);
    }
    if (!log().contains("in use") && !log().contains("is also the upstream")) {
      throw std::runtime_error("the guard does not start: " + log());
    }
  }
  throw std::runtime_error("the guard finds no port");
}

GuardProcess GuardProcess::on_unix_socket(const std::string& yaml,
                                          const std::string& program,
                                          TemporaryDirectory directory) {
  GuardProcess guard(program, std::move(directory), {});
  if (!guard.start(yaml)) {
    throw std::runtime_error("the guard does not start: " + guard.log());
  }
  return guard;
}

bool GuardProcess::tells_that_it_listens() const {
  const std::string lines = log();
  return lines.contains("event=listening") || lines.contains("\"event\":\"listening\"");
}

std::string GuardProcess::listening() const {
  const std::string address =
      port_ == 0 ? "unix:" + unix_path().string() : "127.0.0.1:" + std::to_string(port_);
  if (is_sentinel_) {
    const std::string nodes =
        "127.0.0.1:" + std::to_string(port_ + 2) + "-" + std::to_string(port_ + 1 + nodes_);
    return "listen: [ '" + address +
           "', { sentinels: '127.0.0.1:" + std::to_string(sentinel_port()) + "' }" +
           (nodes_ > 0 ? ", { nodes: '" + nodes + "' }" : "") + " ]\n";
  }
  if (nodes_ > 0) {
    return "listen: { nodes: '" + address + "-" + std::to_string(port_ + nodes_ - 1) + "' }\n";
  }
  return tls_.empty() ? "listen: " + address + "\n"
                      : "listen: { address: \"" + address + "\", tls: " + tls_ + " }\n";
}

void GuardProcess::set_configuration(const std::string& yaml) const {
  write_whole_file(*directory_ / "guard.yaml",
                   (yaml.starts_with("listen:") ? "" : listening()) + yaml +
                       (yaml.contains("drain_timeout:") ? "" : "\ndrain_timeout: 0s\n"));
}

bool GuardProcess::start(const std::string& yaml) {
  const std::filesystem::path config = *directory_ / "guard.yaml";
  set_configuration(yaml);
  std::filesystem::remove(*directory_ / "errors");  // what the one before has told is not its word
  process_ = std::make_unique<ChildProcess>(
      std::vector<std::string>{program_, "--config", config.string()},
      ChildProcess::Output{*directory_ / "output", *directory_ / "errors"});
  const bool told =
      eventually([this] { return tells_that_it_listens() || !process_->is_running(); });
  return told && process_->is_running();
}

void GuardProcess::restart(const std::string& yaml) {
  send_signal(SIGTERM);
  if (exit_code() != 0) {
    throw std::runtime_error("the guard does not end: " + log());
  }
  start_again(yaml);
}

void GuardProcess::kill() {
  send_signal(SIGKILL);
  exit_code();
}

void GuardProcess::start_again(const std::string& yaml) {
  if (!start(yaml)) {
    throw std::runtime_error("the guard does not start again: " + log());
  }
}

GuardProcess::~GuardProcess() {
  if (!process_ || !process_->is_running()) {
    return;
  }
  process_->send_signal(SIGTERM);
  const std::optional<int> code = process_->exit_code();
  if (code != 0) {
    const std::string how = code ? std::to_string(*code) : "no exit at all";
    std::fprintf(
        stderr, "the guard ended with %s after SIGTERM:\n%s\n", how.c_str(), log().c_str());
    std::abort();
  }
}

RawClient GuardProcess::client() const {
  return port_ == 0 ? RawClient::to_unix(unix_path()) : RawClient::to_port(port());
}

std::string GuardProcess::call(std::initializer_list<std::string_view> arguments) const {
  return client().call(arguments);
}

std::string GuardProcess::log() const {
  static_cast<void>(eventually([this] { return !is_busy(pid(), "log"); }));
  return read_whole_file(*directory_ / "errors");
}

std::string guard_binary() {
  const char* const other =
      std::getenv("CUCKOOGUARD_BINARY");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return other != nullptr ? other : CUCKOOGUARD_BINARY;
}

const std::string& sanitizers() {
  static const std::string kNames = [] {
    constexpr std::string_view kLine = "\nsanitizers: ";
    const std::string said = run_guard({"--version"}).standard_output;
    const std::size_t line = said.find(kLine);
    if (line == std::string::npos) {
      throw std::runtime_error("the guard does not say its sanitizers: " + said);
    }
    const std::size_t begin = line + kLine.size();
    const std::string found = said.substr(begin, said.find('\n', begin) - begin);
    return found == "none" ? std::string() : found;
  }();
  return kNames;
}

Ended run_guard(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), guard_binary());
  return run_program(std::move(arguments));
}

std::string info_field(const GuardProcess& guard, const std::string& ns, const std::string& field) {
  return info_field(guard.call({"GUARD.INFO", ns}), field);
}

}  // namespace cuckooguard::harness
