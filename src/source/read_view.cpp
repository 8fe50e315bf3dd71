#include "source/read_view.h"

#include <string>

namespace cuckooguard::source {
namespace {

constexpr unsigned kNotTold = 2027;  // CR_MALFORMED_PACKET: the answer is not what was asked for

MysqlError not_told(const std::string& what) {
  return {.code = kNotTold, .what = "the server does not tell " + what};
}

}  // namespace

std::expected<LogPosition, MysqlError> open_mariadb_view(MysqlConnection& connection) {
  for (const char* const sql : {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                                "START TRANSACTION WITH CONSISTENT SNAPSHOT"}) {
    if (auto done = connection.run(sql); !done) {
      return std::unexpected(done.error());
    }
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
  return *std::move(position);
}

std::expected<void, MysqlError> close_view(MysqlConnection& connection) {
  return connection.run("ROLLBACK");
}

}  // namespace cuckooguard::source
