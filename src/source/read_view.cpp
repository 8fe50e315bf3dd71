#include "source/read_view.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "source/mysql_server.h"

namespace cuckooguard::source {
namespace {

constexpr unsigned kNotTold = 2027;  // CR_MALFORMED_PACKET: the answer is not what was asked for

MysqlError not_told(const std::string& what) {
  return {.code = kNotTold, .what = "the server does not tell " + what};
}

std::expected<void, MysqlError> begin(MysqlConnection& connection) {
  for (const char* const sql : {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                                "START TRANSACTION WITH CONSISTENT SNAPSHOT"}) {
    if (auto done = connection.run(sql); !done) {
      return std::unexpected(done.error());
    }
  }
  return {};
}

std::expected<ReadView, MysqlError> open_mariadb_view(MysqlConnection& connection) {
  if (auto begun = begin(connection); !begun) {
    return std::unexpected(begun.error());
  }
  const auto status = connection.ask("SHOW STATUS LIKE 'binlog_snapshot_%'");
  if (!status) {
    return std::unexpected(status.error());
  }
  std::string file;
  std::string place;
  for (const auto& row : *status) {
    (row[0].value_or("").ends_with("file") ? file : place) = row[1].value_or("");
  }
  if (file.empty() || place.empty()) {
    return std::unexpected(not_told("which place in its log the view has"));
  }
  const auto gtids = connection.value("SELECT BINLOG_GTID_POS('" + connection.escaped(file) +
                                      "', " + connection.escaped(place) + ")");
  if (!gtids) {
    return std::unexpected(gtids.error());
  }
  auto position = LogPosition::parse(gtids->value_or("?"), true);
  if (!position) {
    return std::unexpected(not_told("the GTIDs of " + file + " at " + place));
  }
  return ReadView{.covered = *std::move(position), .window_end = std::nullopt};
}

std::expected<ReadView, MysqlError> open_mysql_view(MysqlConnection& connection) {
  const auto executed = connection.value("SELECT @@global.gtid_executed");
  if (!executed) {
    return std::unexpected(executed.error());
  }
  auto covered = LogPosition::parse(executed->value_or("?"), false);
  if (!covered) {
    return std::unexpected(not_told("which transactions it has executed"));
  }
  if (auto begun = begin(connection); !begun) {
    return std::unexpected(begun.error());
  }
  const auto end = log_status(connection);
  if (!end) {
    return std::unexpected(end.error());
  }
  const auto file = end->find("File");
  const auto position = end->find("Position");
  if (file == end->end() || position == end->end()) {
    return std::unexpected(not_told("where its log ends"));
  }
  return ReadView{.covered = *std::move(covered),
                  .window_end = LogPlace{.file = file->second.value_or(""),
                                         .position = std::strtoull(
                                             position->second.value_or("0").c_str(), nullptr, 10)}};
}

}  // namespace

std::expected<ReadView, MysqlError> open_view(MysqlConnection& connection) {
  return connection.is_mariadb() ? open_mariadb_view(connection) : open_mysql_view(connection);
}

std::expected<void, MysqlError> close_view(MysqlConnection& connection) {
  return connection.run("ROLLBACK");
}

}  // namespace cuckooguard::source
