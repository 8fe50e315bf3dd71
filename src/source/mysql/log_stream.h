// A connection on which a server sends its binary log, from a position on.
//
// The server speaks at least once per kHeartbeatEvery; whoever hears nothing for
// MysqlLogin::timeout has lost it. A heartbeat proves that the connection lives, not that it is
// current (docs/design.md, Sources).
//
// Threads: the source's; interrupt() from any.
// Errors: MysqlError; is_position_gone() if the server has purged, or never had, what comes behind
// the position: a new snapshot is due. Limits: those of MysqlConnection.
// Source: MariaDB's "Replication Protocol", MySQL's COM_BINLOG_DUMP_GTID; seen with both servers.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "binlog/event_header.h"
#include "mysql/connection.h"
#include "mysql/log_place.h"
#include "mysql/log_position.h"

namespace cuckooguard::source {

inline constexpr std::chrono::milliseconds kHeartbeatEvery{200};

class LogStream {
 public:
  struct Settings {
    std::uint32_t server_id = 0;  // no other replica's: the server ends the older of two
    bool ends_at_last = false;    // instead of waiting for more
    std::optional<LogPlace> place =
        std::nullopt;  // MariaDB: from here instead, whatever its numbers are
  };

  // Takes the connection over: it can do nothing else from now on.
  static std::expected<LogStream, MysqlError> begin(MysqlConnection connection,
                                                    const LogPosition& position,
                                                    const Settings& settings);

  // The next event's bytes, valid until the next call; nothing at the end, with `ends_at_last`.
  std::expected<std::optional<std::string_view>, MysqlError> next();

  // Of the events that come before the first format description.
  binlog::ChecksumAlgorithm checksum() const { return checksum_; }
  void interrupt() const { connection_.interrupt(); }

 private:
  LogStream(MysqlConnection connection, binlog::ChecksumAlgorithm checksum)
      : connection_(std::move(connection)), checksum_(checksum) {}

  MysqlConnection connection_;
  binlog::ChecksumAlgorithm checksum_;
};

bool is_position_gone(const MysqlError& error);

}  // namespace cuckooguard::source
