// PostgreSQL as Debian has it, on a data directory, a socket and a port of its own: the newest
// release below /usr/lib/postgresql, here or, as root, in the tree of files that
// CUCKOOGUARD_POSTGRES_ROOT names, in which it is started with chroot. debootstrap makes one of
// Debian's unstable release:
//
//   debootstrap --variant=minbase --include=postgresql-18 sid /srv/sid
//   CUCKOOGUARD_POSTGRES_ROOT=/srv/sid ./dev exactness
//
// Runs as the user `postgres` if we are root, which PostgreSQL refuses to be; else as ourselves.
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

struct pg_conn;

namespace cuckooguard::harness {

class PostgresSession {
 public:
  using Rows = std::vector<std::vector<std::optional<std::string>>>;

  // As libpq takes it: "host=… port=… user=…".
  explicit PostgresSession(const std::string& login);

  Rows run(const std::string& sql);             // of all of its statements
  std::string value(const std::string& sql);    // of the first row; "" for none and for NULL
  std::string try_run(const std::string& sql);  // SQLSTATE, empty for none
  bool is_lost() const;

 private:
  struct Close {
    void operator()(pg_conn* connection) const;
  };
  std::unique_ptr<pg_conn, Close> connection_;
};

struct PostgresOptions {
  std::vector<std::string> settings{};  // "wal_level=replica": the last of a name counts
  bool is_durable = false;              // else fsync is off
  bool has_tls = false;                 // by certificates(), which are its own
};

class PostgresServer {
 public:
  static constexpr const char* kDatabase = "shop";

  // What is to be installed for it; nothing, if it is.
  static std::optional<std::string> missing();
  // Of its release: "psql". If there is one; from the machine's own files.
  static std::string program(const std::string& name);

  // Where it can have its files.
  static TemporaryDirectory new_directory();

  // Throws what is missing().
  explicit PostgresServer(PostgresOptions options = {},
                          TemporaryDirectory directory = new_directory());

  // A standby: a copy of the primary, which is stopped meanwhile; `options` say how it is reached.
  PostgresServer(const PostgresServer& stopped, PostgresOptions options);

  std::uint16_t port() const { return port_; }
  std::filesystem::path socket_directory() const { return directory_.path(); }
  std::filesystem::path data() const { return directory_ / "data"; }
  std::filesystem::path certificates() const { return directory_ / "tls"; }  // write_certificates()
  pid_t pid() const;
  std::vector<pid_t> processes() const;  // the first is pid()

  // As superuser, who needs no password by the socket.
  std::string login(const std::string& database = kDatabase) const;
  PostgresSession session(const std::string& database = kDatabase) const {
    return PostgresSession(login(database));
  }

  void kill();    // SIGKILL, to its processes too
  void stop();    // what is in its way is ended, and it waits until all is written
  void freeze();  // SIGSTOP, to its processes too
  void thaw() const;
  // On the same port and data; `more` settings count this time.
  void start_again(const std::vector<std::string>& more = {}) { start(more); }

 private:
  void initialize();
  void start(const std::vector<std::string>& more);

  PostgresOptions options_;
  TemporaryDirectory directory_;
  std::uint16_t port_ = 0;
  std::optional<ChildProcess> process_;
};

// `guard`, password `word`, with the rights that following takes, and no others; and the
// publication `cuckooguard` of all tables.
void create_guard_role(const PostgresServer& server);

}  // namespace cuckooguard::harness
