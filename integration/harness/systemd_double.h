// What systemd is to a guard with a socket unit: it keeps the listening socket, starts the guard
// with it, hears what the guard tells it, and starts another one on the same socket. In systemd's
// own protocols, so that none has to run here.
//
// Threads: the test's; client() any. A guard that still runs is killed at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "harness/child_process.h"
#include "harness/raw_client.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {

class SystemdDouble {
 public:
  // `yaml` without `listen`. `environment` as a shell has it: "WATCHDOG_USEC=100000".
  explicit SystemdDouble(std::string yaml, std::string environment = {});
  ~SystemdDouble();
  SystemdDouble(const SystemdDouble&) = delete;
  SystemdDouble& operator=(const SystemdDouble&) = delete;

  // Does not wait for it.
  void start();
  // Of the address that the guard's configuration has.
  void start_with(std::string_view listen);
  // Whether the guard that was started last tells so before the deadline: "READY=1".
  bool hears(std::string_view words);
  ChildProcess& guard() { return *guard_; }

  std::uint16_t port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  RawClient client() const { return RawClient::to_port(port_); }
  std::string log() const { return read_whole_file(directory_ / "errors"); }

 private:
  void listen();

  std::string yaml_;
  std::string environment_;
  TemporaryDirectory directory_;
  int listening_ = -1;
  int notified_;
  std::uint16_t port_ = 0;
  std::string told_;  // a line per word
  std::unique_ptr<ChildProcess> guard_;
};

}  // namespace cuckooguard::harness
