#include "mysql/table_reader.h"

#include "mysql/server_probe.h"
#include "mysql/table_listing.h"
#include "mysql/tables.h"
#include "mysql/xa_commits.h"

namespace cuckooguard::source {

std::expected<TableReader, MysqlError> TableReader::open(const Settings& settings) {
  auto connection = open_same_server(settings.login, settings.identity);
  if (!connection) {
    return std::unexpected(connection.error());
  }
  return TableReader(*std::move(connection), settings);
}

std::expected<LogPosition, MysqlError> TableReader::position() {
  return server_position(connection_);
}

std::expected<void, MysqlError> TableReader::list(TableSet<MysqlLog>& tables) {
  return list_tables(tables, connection_);
}

std::expected<ReadView, MysqlError> TableReader::open_view(const LogPosition& from,
                                                           TableSet<MysqlLog>& tables,
                                                           const std::stop_token& stop) {
  if (auto done = wait_for_xa_commits(connection_, tables, settings_.clock, stop); !done) {
    return std::unexpected(done.error());
  }
  return open_current_view(
      from, [this] { return settings_.open_view(connection_); }, [this] { return close_view(); });
}

std::expected<TableEstimate, MysqlError> TableReader::size(const MysqlTable& plan) {
  locks_.emplace(settings_.login, settings_.identity, settings_.clock);
  return size_of_mysql_table(connection_, plan.name);
}

bool TableReader::is_somebody_waiting(const MysqlTable& plan) {
  return locks_ && locks_->is_due() && locks_->is_somebody_waiting(plan);
}

}  // namespace cuckooguard::source
