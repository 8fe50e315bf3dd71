// How far a log has been applied: a MariaDB position or a MySQL GTID set, as one type.
//
// Threads: plain values. Errors: nothing where a text is no position. Limits: those of the two
// (binlog/).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "binlog/mariadb_position.h"
#include "binlog/mysql_gtid_set.h"

namespace cuckooguard::source::mysql {

using LogGtid = std::variant<binlog::MariaDbGtid, binlog::MySqlGtid>;

std::string text_of(const LogGtid& gtid);
std::optional<LogGtid> parse_gtid(std::string_view text, bool is_mariadb);

// By what a server's own groups are known.
struct LogServer {
  std::uint32_t domain = 0;          // MariaDB
  binlog::MySqlGtidSource source{};  // MySQL
};

class LogPosition {
 public:
  LogPosition() = default;
  explicit LogPosition(binlog::MariaDbPosition position) : position_(std::move(position)) {}
  explicit LogPosition(binlog::MySqlGtidSet set) : position_(std::move(set)) {}

  static std::optional<LogPosition> parse(std::string_view text, bool is_mariadb);
  enum class Flavor : bool { mysql, mariadb };
  // Of either, if it is not known which.
  static std::optional<LogPosition> parse(std::string_view text, std::optional<Flavor> flavor);
  std::string text() const;

  bool covers(const LogGtid& gtid) const;
  bool covers(const LogPosition& other) const;  // false for one of another kind
  // Numbers do not tell whether it was applied (binlog/mariadb_position.h).
  bool is_disordered_by(const LogGtid& gtid) const;
  // False at the limit, and for a GTID of another kind.
  [[nodiscard]] bool add(const LogGtid& gtid);
  // MariaDB: the last one of its domain, if there is one.
  std::optional<LogGtid> previous(const LogGtid& gtid) const;
  // As it was before `gtid` was added behind `previous`.
  LogPosition before(const LogGtid& gtid, const std::optional<LogGtid>& previous) const;
  // Without the last group that `server` itself has logged, or of all, if all are of one kin; where
  // a log with that number before it does not exist the server says so.
  LogPosition one_earlier(const LogServer& server) const;

  // MariaDB: of all domains' last numbers.
  std::uint64_t largest_number() const {
    const auto* const mariadb = std::get_if<binlog::MariaDbPosition>(&position_);
    return mariadb == nullptr ? 0 : mariadb->largest_number();
  }

  Flavor flavor() const { return is_mariadb() ? Flavor::mariadb : Flavor::mysql; }
  bool is_mariadb() const { return std::holds_alternative<binlog::MariaDbPosition>(position_); }
  const binlog::MySqlGtidSet& mysql() const { return std::get<binlog::MySqlGtidSet>(position_); }

  bool operator==(const LogPosition&) const = default;

 private:
  std::variant<binlog::MariaDbPosition, binlog::MySqlGtidSet> position_;
};

}  // namespace cuckooguard::source::mysql
