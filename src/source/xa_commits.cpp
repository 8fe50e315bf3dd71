#include "source/xa_commits.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "binlog/xid.h"
#include "source/pause.h"

namespace cuckooguard::source {
namespace {

constexpr std::chrono::milliseconds kPause{2};  // between looks

std::expected<std::set<binlog::Xid>, MysqlError> listed_xids(MysqlConnection& connection) {
  const auto rows = connection.ask("XA RECOVER");
  if (!rows) {
    return std::unexpected(rows.error());
  }
  std::set<binlog::Xid> all;
  for (const auto& row : *rows) {
    const std::string data = row[3].value_or("");
    const std::size_t global = std::strtoull(row[1].value_or("0").c_str(), nullptr, 10);
    const auto format =
        static_cast<std::uint32_t>(std::strtoull(row[0].value_or("0").c_str(), nullptr, 10));
    if (global <= data.size()) {
      const std::string_view text(data);
      if (const auto xid = binlog::Xid::make(format, text.substr(0, global), text.substr(global))) {
        all.insert(*xid);
      }
    }
  }
  return all;
}

}  // namespace

std::expected<void, MysqlError> wait_for_xa_commits(MysqlConnection& connection,
                                                    TableSet& tables,
                                                    const Clock& clock,
                                                    const std::stop_token& stop) {
  if (!connection.is_mariadb()) {
    return {};
  }
  const TimePoint until = clock() + kXaCommitMax;
  auto all = listed_xids(connection);
  while (all) {
    std::erase_if(*all, [&tables](const binlog::Xid& xid) {
      return tables.xa_state(xid) == XaState::prepared;
    });
    if (all->empty()) {
      return {};
    }
    if (clock() >= until || !pause_for(kPause, stop)) {
      break;
    }
    const auto now = listed_xids(connection);
    if (!now) {
      return std::unexpected(now.error());
    }
    std::erase_if(*all, [&now](const binlog::Xid& xid) { return !now->contains(xid); });
  }
  if (!all) {
    return std::unexpected(all.error());
  }
  const bool is_one_late = std::ranges::any_of(
      *all, [&tables](const binlog::Xid& xid) { return tables.xa_state(xid) == XaState::ended; });
  return is_one_late ? failed("an XA transaction that the log has ended is not done yet")
                     : std::expected<void, MysqlError>();
}

}  // namespace cuckooguard::source
