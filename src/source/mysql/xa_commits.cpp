#include "mysql/xa_commits.h"

#include <algorithm>
#include <set>

#include "binlog/xid.h"
#include "follow/pause.h"
#include "mysql/read_view.h"

namespace cuckooguard::source {
namespace {

constexpr std::chrono::milliseconds kPause{2};  // between looks

}  // namespace

std::expected<void, MysqlError> wait_for_xa_commits(MysqlConnection& connection,
                                                    TableSet<MysqlLog>& tables,
                                                    const Clock& clock,
                                                    const std::stop_token& stop) {
  if (!connection.is_mariadb()) {
    return {};
  }
  const auto is = [&tables](const binlog::Xid& xid, XaState state) {
    return tables.loads.ask_applier(
        [&](const LogApplier& applier) { return applier.xa_state(xid) == state; });
  };
  const TimePoint until = clock() + kXaCommitMax;
  auto all = listed_xids(connection);
  while (all) {
    std::erase_if(*all, [&](const binlog::Xid& xid) { return is(xid, XaState::prepared); });
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
  const bool is_one_late =
      std::ranges::any_of(*all, [&](const binlog::Xid& xid) { return is(xid, XaState::ended); });
  return is_one_late ? failed("an XA transaction that the log has ended is not done yet")
                     : std::expected<void, MysqlError>();
}

}  // namespace cuckooguard::source
