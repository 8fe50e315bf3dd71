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

namespace cuckooguard::harness {

class RowStore {
 public:
  virtual ~RowStore() = default;

  // Commits a letter with this UUID or, if it is empty, a visit; returns its id.
  using Insert = std::function<std::string(const std::string& uuid)>;
  virtual Insert session() = 0;

  virtual std::string source() const = 0;  // as Configuration::source
  // For applications: mysql://USER:PASSWORD@HOST:PORT/NAME, postgresql://…, or SQLite's file.
  virtual std::string url() const = 0;
  // The placeholder of a letter's id in key templates.
  virtual std::string letter_id() const { return "{id}"; }
};

// MySQL if CUCKOOGUARD_MYSQL_ROOT is set, else MariaDB; see missing_server(). `log_delay` delays
// the log on its way to the guard, not the guard's questions.
std::unique_ptr<RowStore> make_sql_store(milliseconds log_delay = milliseconds(0));
// Each session() runs `setting` first, unless it is empty.
std::unique_ptr<RowStore> make_postgres_store(const std::string& setting = "");
// `follow`: settings of the source, such as "follow: rescan".
std::unique_ptr<RowStore> make_sqlite_store(const std::string& follow);

std::string random_uuid(std::mt19937_64& random);

}  // namespace cuckooguard::harness
