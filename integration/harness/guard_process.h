// The guard under test: the built binary, with a configuration of the test's.
//
// It does not wait for the clients that a test has left open, unless the configuration has a
// `drain_timeout` of its own. When it ends with the test it is asked to (SIGTERM) and must exit 0
// in time: a crash, a sanitizer's report or a guard that hangs ends the program it happened in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/child_process.h"
#include "harness/raw_client.h"
#include "harness/temporary_directory.h"
#include "harness/tls_tunnel.h"

namespace cuckooguard::harness {

// What CUCKOOGUARD_BINARY names, else the one that was built with these tests.
std::string guard_binary();

class GuardProcess {
 public:
  // `yaml` without `listen`: it listens on a free port of 127.0.0.1. Returns when it does.
  // Another program may be the guard's; it has its files in `directory`.
  static GuardProcess on_port(const std::string& yaml,
                              const std::string& program = guard_binary(),
                              TemporaryDirectory directory = TemporaryDirectory());
  // Clients must speak TLS; `settings` is what stands in listen.tls. Those of client() do so
  // through a tunnel, which trusts this authority.
  struct Tls {
    std::string settings;
    std::filesystem::path authority;
  };
  static GuardProcess on_tls_port(const std::string& yaml, const Tls& tls);
  // In front of a cluster, for so many nodes.
  static GuardProcess on_node_ports(const std::string& yaml,
                                    std::size_t nodes,
                                    const std::string& program = guard_binary(),
                                    TemporaryDirectory directory = TemporaryDirectory());
  // In front of a master that Sentinels watch over, which port() leads to; the next one is for
  // clients of Sentinel, and those behind it for so many nodes.
  static GuardProcess on_sentinel_ports(const std::string& yaml, std::size_t nodes);
  static GuardProcess on_unix_socket(const std::string& yaml,
                                     const std::string& program = guard_binary(),
                                     TemporaryDirectory directory = TemporaryDirectory());
  ~GuardProcess();
  GuardProcess(GuardProcess&&) = default;
  GuardProcess& operator=(GuardProcess&&) = delete;
  GuardProcess(const GuardProcess&) = delete;
  GuardProcess& operator=(const GuardProcess&) = delete;

  std::uint16_t port() const { return tunnel_ ? tunnel_->port() : port_; }
  std::uint16_t tls_port() const { return port_; }
  std::uint16_t sentinel_port() const { return static_cast<std::uint16_t>(port_ + 1); }
  std::filesystem::path unix_path() const { return *directory_ / "guard.sock"; }
  RawClient client() const;
  std::string call(
      std::initializer_list<std::string_view> arguments) const;  // on a connection of its own

  // In place of the one that it was started with; where it listens stays, unless `yaml` begins with
  // it. It is for the test to have it loaded.
  void set_configuration(const std::string& yaml) const;

  // Ends it, and starts it again where it was. Its log begins anew.
  void restart(const std::string& yaml);
  void kill();                                // SIGKILL: as a crash
  void start_again(const std::string& yaml);  // where it was

  // All of its standard error; what it has just given to the thread that writes is there, too.
  std::string log() const;
  std::size_t resident_bytes() const { return memory_bytes(process_->pid(), "VmRSS"); }
  std::size_t resident_bytes_max() const { return memory_bytes(process_->pid(), "VmHWM"); }
  pid_t pid() const { return process_->pid(); }
  void send_signal(int signal) const { process_->send_signal(signal); }
  std::optional<int> exit_code(milliseconds patience = kPatience) {
    return process_->exit_code(patience);
  }

 private:
  GuardProcess(std::string program, TemporaryDirectory directory, std::string tls)
      : program_(std::move(program)),
        directory_(std::make_unique<TemporaryDirectory>(std::move(directory))),
        tls_(std::move(tls)) {}
  GuardProcess on_any_port(const std::string& yaml) &&;

  std::string listening() const;
  bool start(const std::string& yaml);  // false if it does not listen
  bool tells_that_it_listens() const;   // log.format is text or json

  std::string program_;
  std::unique_ptr<TemporaryDirectory> directory_;
  std::string tls_;         // what stands in listen.tls
  std::uint16_t port_ = 0;  // 0: Unix socket
  std::size_t nodes_ = 0;   // ports for so many, from there on, or behind that for Sentinel
  bool is_sentinel_ = false;
  std::unique_ptr<ChildProcess> process_;
  std::unique_ptr<TlsTunnel> tunnel_;
};

// Sanitizers cost guard_binary() memory and time that are not the guard's: the names of those that
// it was built with, for example "address,undefined".
const std::string& sanitizers();
inline bool under_sanitizer() {
  return !sanitizers().empty();
}
Ended run_guard(std::vector<std::string> arguments);  // that is expected to end by itself

// One field of GUARD.INFO of a namespace; empty if it is not there.
std::string info_field(const GuardProcess& guard, const std::string& ns, const std::string& field);

}  // namespace cuckooguard::harness
