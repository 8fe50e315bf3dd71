#include "mysql/read_view.h"

#include <cstdint>
#include <string>
#include <utility>

#include "mysql/server.h"
#include "mysql/server_probe.h"
#include "text/number.h"
#include "text/try.h"

namespace cuckooguard::source::mysql {
namespace {

constexpr unsigned kNotTold = 2027;  // CR_MALFORMED_PACKET: the answer is not what was asked for

Error not_told(const std::string& what) {
  return {.code = kNotTold, .what = "the server does not report " + what};
}

Done begin(Connection& connection) {
  for (const char* const sql : {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                                "START TRANSACTION WITH CONSISTENT SNAPSHOT"}) {
    TRY(connection.run(sql));
  }
  return {};
}

Expected<ReadView> open_mariadb_view(Connection& connection) {
  TRY(begin(connection));
  const Committed shown = TRY(committed(connection));
  const std::string& file = shown.place.file;
  const std::string place = std::to_string(shown.place.position);
  const auto gtids = TRY(connection.value("SELECT BINLOG_GTID_POS('" + connection.escaped(file) +
                                          "', " + connection.escaped(place) + ")"));
  auto position = LogPosition::parse(gtids.value_or("?"), true);
  if (!position) {
    return std::unexpected(not_told("the GTIDs of " + file + " at " + place));
  }
  return ReadView{
      .covered = *std::move(position), .window_end = std::nullopt, .committed = shown.place};
}

Expected<ReadView> open_mysql_view(Connection& connection) {
  const auto executed = TRY(connection.value("SELECT @@global.gtid_executed"));
  auto covered = LogPosition::parse(executed.value_or("?"), false);
  if (!covered) {
    return std::unexpected(not_told("which transactions it has executed"));
  }
  TRY(begin(connection));
  LogPlace end = TRY(log_end(connection));
  return ReadView{.covered = *std::move(covered), .window_end = std::move(end)};
}

}  // namespace

Expected<Committed> committed(Connection& connection) {
  return committed(TRY(connection.ask(kCommittedSql)));
}

Expected<Committed> committed(const Answer& status) {
  Committed word;
  for (const auto& row : status) {
    const std::string name = row[0].value_or("");
    if (name.ends_with("snapshot_file")) {
      word.place.file = row[1].value_or("0");
    } else if (name.ends_with("snapshot_position")) {
      word.place.position = text::leading_number(row[1]);
    } else if (name.ends_with("group_commits")) {
      word.group_commits = text::leading_number(row[1]);
    }
  }
  if (word.place.file.empty() || word.place.position == 0) {
    return std::unexpected(not_told("up to which log position its storage engine has committed"));
  }
  return word;
}

bool is_not_told(const Error& error) {
  return error.code == kNotTold;
}

Expected<std::set<binlog::Xid>> listed_xids(Connection& connection) {
  return listed_xids(TRY(connection.ask(kListedSql)));
}

std::set<binlog::Xid> listed_xids(const Answer& rows) {
  std::set<binlog::Xid> all;
  for (const auto& row : rows) {
    const std::string data = row[3].value_or("");
    const auto global = text::leading_number<std::size_t>(row[1]);
    const auto format = text::leading_number<std::uint32_t>(row[0]);
    if (global <= data.size()) {
      const std::string_view text(data);
      if (const auto xid = binlog::Xid::make(format, text.substr(0, global), text.substr(global))) {
        all.insert(*xid);
      }
    }
  }
  return all;
}

Expected<ReadView> open_view(Connection& connection) {
  return connection.is_mariadb() ? open_mariadb_view(connection) : open_mysql_view(connection);
}

Expected<ReadView> open_view_for_now(Connection& connection) {
  Committed word = TRY(committed(connection));
  LogPosition logged = TRY(server_position(connection));
  TRY(begin(connection));
  return ReadView{
      .covered = std::move(logged), .window_end = std::nullopt, .good_until = std::move(word)};
}

Expected<ReadView> open_current_view(const LogPosition& applied,
                                     const std::function<Expected<ReadView>()>& open,
                                     const std::function<Done()>& close) {
  for (int i = 0; i < kViewsMax; ++i) {
    auto view = open();
    if (!view || view->covered.covers(applied)) {
      return view;
    }
    TRY(close());
  }
  return failed("the server does not show rows that its log has");
}

}  // namespace cuckooguard::source::mysql
