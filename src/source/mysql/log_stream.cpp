#include <span>
#include <utility>

#include "mysql/log_follower.h"
#include "text/little_endian.h"
#include "text/try.h"

namespace cuckooguard::source::mysql {
namespace {

constexpr std::uint8_t kDump = 18;
constexpr std::uint8_t kDumpGtid = 30;
constexpr std::uint16_t kDoNotWait = 1;
constexpr std::uint32_t kFirstEvent = 4;  // behind the magic bytes

// COM_BINLOG_DUMP; without a file the server begins where @slave_connect_state says.
std::string mariadb_payload(const LogStream::Settings& settings) {
  std::string payload;
  text::put(payload,
            static_cast<std::uint32_t>(settings.place ? settings.place->position : kFirstEvent));
  text::put(payload, settings.ends_at_last ? kDoNotWait : std::uint16_t{0});
  text::put(payload, settings.server_id);
  return payload + (settings.place ? settings.place->file : "");
}

std::string mysql_payload(const LogStream::Settings& settings, const LogPosition& position) {
  constexpr std::uint16_t kByGtid = 4;
  const std::string set = position.mysql().encode();
  std::string payload;
  text::put(payload,
            static_cast<std::uint16_t>(kByGtid | (settings.ends_at_last ? kDoNotWait : 0)));
  text::put(payload, settings.server_id);
  text::put(payload, std::uint32_t{0});  // no file
  text::put(payload, std::uint64_t{kFirstEvent});
  text::put_text(payload, set);
  return payload;
}

std::string session_sql(const Connection& connection,
                        const LogPosition& position,
                        bool is_by_place) {
  const auto period = std::to_string(std::chrono::nanoseconds(kHeartbeatEvery).count());
  std::string sql =
      "SET @master_binlog_checksum = @@global.binlog_checksum, "
      "@source_binlog_checksum = @@global.binlog_checksum, "
      "@master_heartbeat_period = " +
      period + ", @source_heartbeat_period = " + period;
  if (connection.is_mariadb()) {
    sql += ", @mariadb_slave_capability = 4";
    if (!is_by_place) {
      sql += ", @slave_gtid_strict_mode = 1, @slave_connect_state = '" +
             connection.escaped(position.text()) + "'";
    }
  }
  return sql;
}

}  // namespace

Expected<LogStream> LogStream::begin(Connection connection,
                                     const LogPosition& position,
                                     const Settings& settings) {
  TRY(connection.run(session_sql(connection, position, settings.place.has_value())));
  const auto checksum = TRY(connection.value("SELECT @@global.binlog_checksum"));
  const bool is_mariadb = connection.is_mariadb();
  const std::string payload =
      is_mariadb ? mariadb_payload(settings) : mysql_payload(settings, position);
  TRY(connection.send_command(is_mariadb ? kDump : kDumpGtid, std::as_bytes(std::span(payload))));
  return LogStream(std::move(connection),
                   checksum.value_or("") == "CRC32" ? binlog::ChecksumAlgorithm::crc32
                                                    : binlog::ChecksumAlgorithm::none);
}

Expected<std::optional<std::string_view>> LogStream::next() {
  const std::optional<std::span<const std::byte>> bytes = TRY(connection_.read_packet());
  if (!bytes) {
    return std::nullopt;
  }
  return std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

bool is_position_gone(const Error& error) {
  constexpr unsigned kMasterFatal = 1236;
  constexpr unsigned kGtidNotFound = 1945;  // MariaDB: ER_GTID_START_FROM_BINLOG_HOLE and its kin
  constexpr unsigned kGtidNotInLog = 1955;  // MariaDB: ER_GTID_POSITION_NOT_FOUND_IN_BINLOG2
  // The server has ended us for another replica with our id: said with the code of all that is
  // fatal.
  if (error.what.contains("server_uuid/server_id")) {
    return false;
  }
  return error.code == kMasterFatal || (error.code >= kGtidNotFound && error.code <= kGtidNotInLog);
}

}  // namespace cuckooguard::source::mysql
