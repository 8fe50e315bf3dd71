// A database server of one's own: a new data directory, row format, GTIDs, on a free port of
// loopback. mariadb_server.h and mysql_server.h say how each is started.
//
// Threads: as ChildProcess; sessions are a thread's own. Errors: std::runtime_error, with the
// server's log.
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

struct SqlLogin {
  std::string unix_path{};  // or, if it is empty:
  std::string host{};
  std::uint16_t port = 0;
  std::string user = "root";
  std::string password{};
  std::string database{};  // may be empty
};

class SqlSession {
 public:
  using Rows = std::vector<std::vector<std::optional<std::string>>>;

  explicit SqlSession(const SqlLogin& login);

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

class SqlServer {
 public:
  static constexpr const char* kDatabase = "shop";

  virtual ~SqlServer() = default;
  SqlServer(const SqlServer&) = delete;
  SqlServer& operator=(const SqlServer&) = delete;

  virtual bool is_mariadb() const = 0;
  std::uint16_t port() const { return port_; }
  std::filesystem::path unix_path() const { return directory_ / "server.sock"; }
  pid_t pid() const;

  // As root.
  SqlLogin login(const std::string& database = kDatabase) const {
    return {.unix_path = unix_path(), .database = database};
  }
  SqlSession session(const std::string& database = kDatabase) const {
    return SqlSession(login(database));
  }

  void send_signal(int signal) const;
  void kill();  // SIGKILL
  void stop();  // SIGTERM, and waits
  // While it is stopped: what a power cut may cost it whose log is synced and whose tables are not.
  void keep_tables(const std::filesystem::path& folder) const;
  void put_tables_back(const std::filesystem::path& folder) const;  // and not the log
  // On the same port and data; `more` arguments count this time.
  void start_again(const std::vector<std::string>& more = {}) { start(more); }

 protected:
  struct Recipe {
    std::vector<std::string> install;  // programs and arguments, without directories
    std::vector<std::string> run;
    std::filesystem::path root = "/";  // what the server takes for `/`
  };

  SqlServer(Recipe recipe, TemporaryDirectory directory);
  // To be called by the constructors of derived classes.
  void begin();

 private:
  void append_directories(std::vector<std::string>& command) const;
  std::string seen_by_server(const std::string& name) const;
  void start(const std::vector<std::string>& more);
  void wait_until_it_serves();

  Recipe recipe_;
  TemporaryDirectory directory_;
  std::uint16_t port_ = 0;
  std::optional<ChildProcess> process_;
};

// guard@localhost, with the rights that following takes, and no others; it may read `tables`.
void create_guard_user(const SqlServer& server, const std::string& tables = "shop.*");

}  // namespace cuckooguard::harness
