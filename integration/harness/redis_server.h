// A real redis-server of one's own, on a free port of 127.0.0.1 and on a Unix socket; nothing
// is kept on disk.
//
// CUCKOOGUARD_REDIS_SERVER in the environment names another program to run, of a newer Redis or a
// Valkey; the process that it starts must become the server (a script ends with `exec`).
// CONTRIBUTING.md says how to come by them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "harness/child_process.h"
#include "harness/raw_client.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {

class RedisServer {
 public:
  // `arguments` as on redis-server's command line; `password` is what `--requirepass` in them says,
  // if it is there. It writes into `directory`.
  explicit RedisServer(std::vector<std::string> arguments = {},
                       std::string password = {},
                       TemporaryDirectory directory = TemporaryDirectory());
  ~RedisServer() = default;
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  std::uint16_t port() const { return port_; }
  std::string address() const;  // 127.0.0.1:port
  std::filesystem::path unix_path() const { return directory_ / "redis.sock"; }
  pid_t pid() const;

  RawClient client() const;  // straight to it, authenticated
  std::string call(
      std::initializer_list<std::string_view> arguments) const;  // on a connection of its own

  std::string info(std::string_view section,
                   std::string_view field) const;  // empty if it is not there
  // How many it has run since it was started; `name` in lower case.
  std::uint64_t calls(std::string_view name) const;

  void kill();         // SIGKILL: as a crash
  void stop();         // SIGTERM
  void start_again();  // on the same port, empty
  // The same, as another Redis.
  void start_again_as(std::vector<std::string> arguments, std::string password) {
    arguments_ = std::move(arguments);
    password_ = std::move(password);
    start_again();
  }

 private:
  void start();
  bool is_ours() const;  // whoever answers on the port is this process

  TemporaryDirectory directory_;
  std::vector<std::string> arguments_;
  std::string password_;
  std::uint16_t port_ = 0;
  std::optional<ChildProcess> process_;
};

}  // namespace cuckooguard::harness
