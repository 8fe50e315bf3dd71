// A database of one's own with two tables: `visit`, whose bigint ids the database generates, and
// `letter`, whose ids are UUIDs that the application generates.
//
// Threads: any may open a session, which is its own. Errors: as of the servers.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>

#include "harness/deadline.h"
#include "harness/mysql_server.h"

namespace cuckooguard::harness {

class RowStore {
 public:
  virtual ~RowStore() = default;

  // Commits a letter with this UUID or, if it is empty, a visit; returns its id.
  using Insert = std::function<std::string(const std::string& uuid)>;
  virtual Insert session() = 0;
  // The largest id of a visit that this session sees. Null: it is what its writers say.
  using Newest = std::function<std::string()>;
  virtual Newest viewer() = 0;
  // SIGKILL, and it begins again; sessions are lost. SQLite has no process of its own.
  virtual void crash() {}

  virtual std::string source() const = 0;  // as Configuration::source
  // For applications: mysql://USER:PASSWORD@HOST:PORT/NAME, postgresql://…, or SQLite's file.
  virtual std::string url() const = 0;
  // The placeholder of a letter's id in key templates.
  virtual std::string letter_id() const { return "{id}"; }
};

struct RowStoreSettings {
  milliseconds log_delay{0};   // its log reaches the guard so much later; not PostgreSQL's
  milliseconds delay{0};       // so far away is it from the guard, each way
  std::string setting{};       // what each session runs first
  bool in_two_phases = false;  // rows are prepared, and then committed
  bool is_on_mysql = MysqlServer::root().has_value();  // else MariaDB
  // MariaDB: others see a row while its commit waits for a replica.
  bool is_semi_synchronous = false;
};

// missing_server() says what lacks.
std::unique_ptr<RowStore> make_sql_store(const RowStoreSettings& settings = {});
std::unique_ptr<RowStore> make_postgres_store(const RowStoreSettings& settings = {});
// `follow`: of the source, "follow: triggers".
std::unique_ptr<RowStore> make_sqlite_store(const std::string& follow);

std::string random_uuid(std::mt19937_64& random);

}  // namespace cuckooguard::harness
