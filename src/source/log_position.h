// How far a log has been applied: a MariaDB position or a MySQL GTID set, as one type.
//
// Called by: LogApplier (add), the proof of freshness (covers), checkpoints (text, parse). Threads: plain
// values. Errors: nothing where a text is no position. Limits: those of the two (binlog/).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "binlog/mariadb_position.h"
#include "binlog/mysql_gtid_set.h"

namespace cuckooguard::source {

using LogGtid = std::variant<binlog::MariaDbGtid, binlog::MySqlGtid>;

class LogPosition {
 public:
  LogPosition() = default;
  explicit LogPosition(binlog::MariaDbPosition position) : position_(std::move(position)) {}
  explicit LogPosition(binlog::MySqlGtidSet set) : position_(std::move(set)) {}

  static std::optional<LogPosition> parse(std::string_view text, bool is_mariadb);
  std::string text() const;

  bool covers(const LogGtid& gtid) const;
  bool covers(const LogPosition& other) const;  // false for one of another kind
  // Numbers do not tell whether it was applied (binlog/mariadb_position.h).
  bool is_disordered_by(const LogGtid& gtid) const;
  // False at the limit, and for a GTID of another kind.
  [[nodiscard]] bool add(const LogGtid& gtid);

  bool is_mariadb() const { return std::holds_alternative<binlog::MariaDbPosition>(position_); }
  const binlog::MySqlGtidSet& mysql() const { return std::get<binlog::MySqlGtidSet>(position_); }

  bool operator==(const LogPosition&) const = default;

 private:
  std::variant<binlog::MariaDbPosition, binlog::MySqlGtidSet> position_;
};

}  // namespace cuckooguard::source
