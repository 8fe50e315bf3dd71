// What puts tables out of step, and how.
#include <string>

#include "mysql/log_applier.h"

namespace cuckooguard::source::mysql {

// What was applied comes again only at the beginning of a stream, if ever, and from the server that
// wrote it. With gtid_strict_mode off, two servers that write at once may log the smaller number
// last; and so may one, for whom old numbers were set (a log that was fed to it again).
bool LogApplier::is_out_of_order(const LogGtid& gtid) const {
  return position_.is_disordered_by(gtid) ||
         (has_moved_ && position_.is_mariadb() && position_.covers(gtid));
}

void LogApplier::on_definition(const binlog::Query& query) {
  if (is_covered_) {
    return;
  }
  calls_.on_definition();
  for (FollowedTable* const table : tables_.all()) {
    const TablePlan& plan = table->plan();
    if (binlog::may_be_about(query, plan.schema, plan.name) && is_news_to(*table)) {
      put_out_of_step(*table,
                      "its definition may have changed: " + std::string(query.text.substr(0, 100)));
    }
  }
}

// Rows were logged and taken back, all or in part: which ones stay depends on their tables'
// engines.
void LogApplier::put_touched_out_of_step() {
  for (FollowedTable* const table : tables_.all()) {
    if (table->is_touched()) {
      put_out_of_step(*table, "a transaction was rolled back after it was logged");
    }
  }
}

bool LogApplier::is_news_to(const FollowedTable& table) const {
  return !gtid_ || !table.target().has(*gtid_);
}

void LogApplier::put_all_out_of_step(std::string_view why) {
  calls_.on_definition();
  for (FollowedTable* const table : tables_.all()) {
    if (is_news_to(*table)) {
      put_out_of_step(*table, why);
    }
  }
}

}  // namespace cuckooguard::source::mysql
