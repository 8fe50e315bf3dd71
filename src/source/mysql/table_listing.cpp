#include "mysql/log_follower.h"
#include "mysql/server_probe.h"
#include "text/try.h"

namespace cuckooguard::source::mysql {

Expected<bool> TableReader::shows_all_of(const TableSetLog<Log>& log) {
  if (!log.has_begun()) {
    return true;
  }
  const LogPosition applied = log.position();
  const LogPosition position = TRY(server_position(connection_));
  return position.covers(applied);
}

Expected<bool> TableReader::are_gone(Listing& listing, const Listing::Tables& found) {
  return are_all_gone(listing.missing_from(found), [this](const std::string& table) {
    return connection_.run("SELECT 1 FROM " + quoted_name(table) + " LIMIT 0");
  });
}

Expected<bool> are_all_gone(const std::vector<std::string>& tables, const OpenTable& open) {
  constexpr unsigned kNoSuchTable = 1146;
  constexpr unsigned kNoSuchDatabase = 1049;
  for (const std::string& table : tables) {
    const auto opened = open(table);
    if (opened) {
      return false;
    }
    const unsigned code = opened.error().code;
    if (code != kNoSuchTable && code != kNoSuchDatabase) {
      return std::unexpected(opened.error());
    }
  }
  return true;
}

}  // namespace cuckooguard::source::mysql
