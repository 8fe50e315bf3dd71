// A MariaDB server of its own: a new data directory, row format, GTIDs, on a free port of loopback.
//
// Threads: as ChildProcess; sessions are a thread's own. Errors: std::runtime_error, with the server's log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/child_process.h"
#include "harness/temporary_directory.h"

struct st_mysql;

namespace cuckooguard::harness {

// A connection as root.
class SqlSession {
 public:
  using Rows = std::vector<std::vector<std::optional<std::string>>>;

  SqlSession(const std::filesystem::path& unix_path, const std::string& database);

  Rows run(std::string_view sql);
  std::string value(std::string_view sql);  // of the first row; "" for none and for NULL
  unsigned try_run(std::string_view sql);   // the server's error code, 0 for none
  std::uint64_t affected_rows() const;      // by the last statement

 private:
  struct Close {
    void operator()(st_mysql* connection) const;
  };
  std::unique_ptr<st_mysql, Close> connection_;
};

class MariaDbServer {
 public:
  static constexpr const char* kDatabase = "shop";

  // Nothing that tests could use is installed, and why.
  static std::optional<std::string> missing();

  explicit MariaDbServer(std::vector<std::string> arguments = {});

  std::uint16_t port() const { return port_; }
  std::filesystem::path unix_path() const { return directory_ / "mariadb.sock"; }
  pid_t pid() const { return process_->pid(); }

  SqlSession session() const { return {unix_path(), kDatabase}; }

  void send_signal(int signal) const { process_->send_signal(signal); }
  void kill();         // SIGKILL
  void stop();         // SIGTERM, and waits
  void start_again();  // on the same port and data

 private:
  // Its own: a server that starts removes the temporary tables of all others from a shared one.
  std::filesystem::path temporary_files() const { return directory_ / "tmp"; }

  void start();
  void wait_until_it_serves();

  TemporaryDirectory directory_;
  std::vector<std::string> arguments_;
  std::uint16_t port_ = 0;
  std::optional<ChildProcess> process_;
};

}  // namespace cuckooguard::harness
