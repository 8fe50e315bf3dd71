#include "mysql/log_applier.h"

#include <algorithm>
#include <numeric>
#include <variant>

#include "text/try.h"

namespace cuckooguard::source::mysql {

namespace {

using binlog::RowsKind;
using binlog::Value;

std::unexpected<std::string> refusal(std::string_view what, binlog::DecodeError error) {
  return std::unexpected(std::string(what) + ": " + std::string(binlog::describe(error)));
}

constexpr std::string_view kCrashed = "the server has crashed: its tables may differ from its log";

// Whose numbers follow each other.
bool are_of_one_kin(const LogGtid& a, const LogGtid& b) {
  if (const auto* const mysql = std::get_if<binlog::MySqlGtid>(&a)) {
    const auto* const other = std::get_if<binlog::MySqlGtid>(&b);
    return other != nullptr && mysql->source == other->source;
  }
  const auto* const other = std::get_if<binlog::MariaDbGtid>(&b);
  return other != nullptr && std::get<binlog::MariaDbGtid>(a).domain == other->domain;
}

}  // namespace

std::expected<void, std::string> FollowedTable::map(const binlog::TableMap& map, bool is_mariadb) {
  if (layout_ && layout_->is_same(map)) {
    return {};
  }
  reader_.reset();
  auto layout = binlog::TableLayout::parse(map, is_mariadb);
  if (!layout) {
    return refusal("the log's description of table `" + plan().name + "`", layout.error());
  }
  TRY(check(*layout));
  std::vector<binlog::ColumnChoice> choices;
  for (const std::size_t column : needed()) {
    const Column& planned = plan().columns[column];
    choices.push_back({.column = static_cast<std::uint32_t>(column),
                       .is_unsigned = planned.is_unsigned(),
                       .is_binary = planned.type() == ColumnKind::bytes,
                       .is_null_only = plan().is_null_only(column)});
  }
  auto reader = binlog::RowReader::make(*layout, choices);
  if (!reader) {
    return refusal("a column of table `" + plan().name + "`", reader.error());
  }
  layout_ = *std::move(layout);
  reader_ = std::make_unique<binlog::RowReader>(*std::move(reader));
  return {};
}

// The log speaks of the table as it was planned.
std::expected<void, std::string> FollowedTable::check(const binlog::TableLayout& layout) const {
  const auto changed = [this](const std::string& how) {
    return std::unexpected("table `" + plan().name + "` has changed: " + how);
  };
  const std::size_t columns = plan().columns.size() + plan().hidden_columns;
  if (layout.columns().size() != columns) {
    return changed("it has " + std::to_string(layout.columns().size()) +
                   " columns in the log and " + std::to_string(columns) + " in the schema");
  }
  for (const std::size_t column : needed()) {
    const std::string_view name = layout.columns()[column].name;
    if (!name.empty() && name != plan().columns[column].name) {
      return changed("column " + std::to_string(column + 1) + " is `" + std::string(name) +
                     "` in the log and `" + plan().columns[column].name + "` in the schema");
    }
  }
  for (std::size_t column = 0; column < plan().columns.size(); ++column) {
    const bool is_read = std::ranges::find(needed(), column) != needed().end();
    if (const auto why =
            why_not_the_same(plan().columns[column], layout.columns()[column], is_read)) {
      return changed(*why);
    }
  }
  return {};
}

std::expected<void, std::string> FollowedTable::rows(const binlog::Rows& rows) {
  if (!reader_) {
    return std::unexpected("the log has rows of table `" + plan().name +
                           "` without describing the table");
  }
  if (const auto opened = reader_->open(rows); !opened) {
    return refusal("rows of table `" + plan().name + "`", opened.error());
  }
  for (;;) {
    const auto more = reader_->next();
    if (!more) {
      return refusal("a row of table `" + plan().name + "`", more.error());
    }
    if (!*more) {
      return {};
    }
    TRY(add_row(rows.kind));
  }
}

std::expected<void, std::string> FollowedTable::add_row(RowsKind kind) {
  std::optional<RowValues> before;
  std::optional<RowValues> after;
  if (kind != RowsKind::write) {
    before = TRY(read(false, before_));
  }
  if (kind != RowsKind::erase) {
    after = TRY(read(true, after_));
  }
  return change(before, after);
}

// A column that is absent after an update has not changed.
std::expected<RowValues, std::string> FollowedTable::read(bool is_after, Values& values) {
  values.clear();
  UuidTexts& texts = uuid_texts_.at(is_after ? 1 : 0);
  texts.resize(plan().uuids.empty() ? 0 : needed().size());
  for (std::size_t i = 0; i < needed().size(); ++i) {
    const Value* value = is_after ? &reader_->after(i) : &reader_->before(i);
    if (is_after && value->state == Value::State::absent) {
      value = &reader_->before(i);
    }
    if (value->state == Value::State::absent) {
      return std::unexpected("the log has rows of table `" + plan().name + "` without column `" +
                             plan().columns[needed()[i]].name +
                             "`: SET GLOBAL binlog_row_image = FULL, and reconnect all sessions");
    }
    if (value->state == Value::State::null) {
      values.emplace_back();
    } else if (plan().is_uuid(needed()[i])) {
      values.emplace_back(write_uuid(value->text, plan().uuid_order, texts[i]));
    } else {
      values.emplace_back(value->text);
    }
  }
  return values;
}

std::size_t PreparedTransactions::Rows::count() const {
  return std::accumulate(
      tables.begin(), tables.end(), std::size_t{0}, [](std::size_t sum, const auto& part) {
        return sum + part.second.rows();
      });
}

bool PreparedTransactions::add(const binlog::Xid& xid, Rows rows) {
  drop(xid);
  ended_.erase(xid);
  const std::size_t count = rows.count();
  if (prepared_.size() == kCountMax || count > rows_max_ - rows_) {
    prepared_.clear();
    rows_ = 0;
    return false;
  }
  rows_ += count;
  prepared_.emplace(xid, std::move(rows));
  return true;
}

std::optional<PreparedTransactions::Rows> PreparedTransactions::end(const binlog::Xid& xid) {
  note_end(xid);
  const auto found = prepared_.find(xid);
  if (found == prepared_.end()) {
    return std::nullopt;
  }
  Rows rows = std::move(found->second);
  rows_ -= rows.count();
  prepared_.erase(found);
  return rows;
}

void PreparedTransactions::forget(const FollowedTable& table) {
  for (auto& [xid, rows] : prepared_) {
    rows_ -= rows.count();
    std::erase_if(rows.tables, [&table](const auto& part) { return part.first == &table; });
    rows_ += rows.count();
  }
}

XaState PreparedTransactions::state(const binlog::Xid& xid) const {
  if (prepared_.contains(xid)) {
    return XaState::prepared;
  }
  return ended_.contains(xid) ? XaState::ended : XaState::unknown;
}

bool PreparedTransactions::is_any_before(std::uint64_t join) const {
  return std::ranges::any_of(prepared_,
                             [join](const auto& each) { return each.second.joins < join; });
}

void PreparedTransactions::drop(const binlog::Xid& xid) {
  if (const auto found = prepared_.find(xid); found != prepared_.end()) {
    rows_ -= found->second.count();
    prepared_.erase(found);
  }
}

// Names are used again: only the last end of each counts.
void PreparedTransactions::note_end(const binlog::Xid& xid) {
  ended_.insert_or_assign(xid, ++ends_);
  ended_in_order_.push_back(xid);
  if (ended_in_order_.size() > kEndedMax) {
    const auto oldest = ended_.find(ended_in_order_.front());
    if (oldest != ended_.end() && oldest->second == ends_ - kEndedMax) {
      ended_.erase(oldest);
    }
    ended_in_order_.pop_front();
  }
}

using binlog::QueryKind;

LogApplier::LogApplier(LogPosition position, Calls calls)
    : TransactionApplier(std::move(calls)), position_(std::move(position)) {}

void LogApplier::leave(FollowedTable& table) {
  TransactionApplier::leave(table);
  std::erase(unread_, &table);
  std::erase_if(maps_, [&table](const auto& map) { return map.second == &table; });
  prepared_.forget(table);
}

void LogApplier::rest_on(std::vector<LogGroup> groups) {
  last_ = groups.front();
  expected_ = std::move(groups);
}

void LogApplier::reconnected(const LogBegin& begin, std::uint64_t log_of) {
  log_of_ = log_of;
  resumed_until_ = last_ ? begin.end : LogPlace();
  has_begun_ = false;
  was_closed_ = false;
  if (last_) {
    std::erase_if(expected_, [this](const LogGroup& each) { return position_.covers(each.gtid); });
    expected_.push_back(*last_);
  }
  decoder_ = binlog::EventDecoder({.checksum = begin.checksum});
  maps_.clear();
  gtid_.reset();
  is_in_group_ = false;
  has_moved_ = false;
  place_ = {};
  witness_ = {};
  tables_.admit();
  roll_back_tables();
}

std::expected<bool, std::string> LogApplier::apply(std::string_view event) {
  const auto decoded = decoder_.decode(event);
  if (!decoded) {
    return std::unexpected("an event of the binary log: " +
                           std::string(binlog::describe(decoded.error())));
  }
  if (!place_.pass(*decoded)) {
    const LogPlace& now = place_.place();
    return std::unexpected("the server's log jumped back to an earlier file: " + now.file + " at " +
                           std::to_string(now.position));
  }
  if (std::holds_alternative<binlog::MariaDbTransaction>(decoded->body) ||
      std::holds_alternative<binlog::MySqlTransaction>(decoded->body)) {
    begun_ = decoded->header;
    digest_.begin();
  }
  const bool ends_file = std::holds_alternative<binlog::Stop>(decoded->body) ||
                         std::holds_alternative<binlog::Rotate>(decoded->body);
  was_closed_ = was_closed_ || (ends_file && !decoded->header.is_artificial());
  return apply_body(decoded->body);
}

LogApplier::Applied LogApplier::apply_body(const binlog::EventBody& body) {
  digest_.add(body);
  return std::visit([this](const auto& event) { return on(event); }, body);
}

// Behind a crash, log and tables may differ: with innodb_flush_log_at_trx_commit = 0 the engine may
// have lost what the log has, deletions among it (seen), and the same with 2, when the machine has
// lost its power; with sync_binlog other than 1 the log may then lack what the engine has. What was
// read from the tables before it is no more to be believed.
LogApplier::Applied LogApplier::on(const binlog::FormatDescription& format) {
  witness_.file_begins(place_.place().file, format.is_of_start);
  const bool is_first = !std::exchange(has_begun_, true);
  const bool was_closed = std::exchange(was_closed_, false);
  const bool rests_on_before = last_ && resumed_until_ != LogPlace() && !is_expected(last_->gtid);
  if (is_first || was_closed || !rests_on_before) {
    return !gtid_;
  }
  why_void_ = kCrashed;
  return std::unexpected(std::string(kCrashed));
}

LogApplier::Applied LogApplier::on(const binlog::MariaDbTransaction& begun) {
  is_in_group_ = !begun.is_standalone && !begun.completes_xa;
  return begin(begun.gtid);
}

LogApplier::Applied LogApplier::on(const binlog::MySqlTransaction& begun) {
  is_in_group_ = false;  // BEGIN comes as a QUERY
  if (begun.is_anonymous) {
    put_all_out_of_step("the server logged a transaction without a GTID");
    gtid_.reset();
    return false;
  }
  return begin(begun.gtid);
}

LogApplier::Applied LogApplier::begin(const LogGtid& gtid) {
  if (gtid_) {  // it had no end: the server was killed while it wrote it, and has rolled it back
    roll_back_tables();
  }
  if (is_out_of_order(gtid)) {
    gtid_.reset();  // no checkpoint's position tells, either
    put_all_out_of_step(
        "the log's GTIDs are out of order: give each server that accepts writes its own "
        "gtid_domain_id, or SET GLOBAL gtid_strict_mode = ON");
    is_covered_ = false;
  } else {
    is_covered_ = position_.covers(gtid);
  }
  gtid_ = gtid;
  maps_.clear();
  unread_.clear();
  return false;
}

LogApplier::Applied LogApplier::on(const binlog::TableMap& map) {
  std::erase_if(maps_, [&map](const auto& known) { return known.first == map.table_id; });
  bool is_followed = false;
  for (FollowedTable* const table : tables_.all()) {
    if (!table->is(map.schema, map.table)) {
      continue;
    }
    is_followed = true;
    if (const auto known = table->map(map, decoder_.is_mariadb()); !known) {
      if (is_news_to(*table)) {
        put_out_of_step(*table, known.error());
      } else {
        unread_.push_back(table);
      }
    } else {
      maps_.emplace_back(map.table_id, table);
    }
  }
  if (!is_followed && !is_covered_) {
    calls_.on_other_table(map.schema, map.table);
  }
  return false;
}

LogApplier::Applied LogApplier::on(const binlog::Rows& rows) {
  if (is_covered_) {
    return false;
  }
  for (const auto& [id, table] : std::vector(maps_)) {
    if (id != rows.table_id) {
      continue;
    }
    if (!gtid_) {
      put_out_of_step(*table, "the log has rows outside of any transaction");
    } else if (const auto added = table->rows(rows); !added) {
      put_out_of_step(*table, added.error());
    }
  }
  return false;
}

LogApplier::Applied LogApplier::on(const binlog::Query& query) {
  const auto verdict = binlog::judge_query(query.text);
  switch (verdict.kind) {
    case QueryKind::begin:
    case QueryKind::xa_begin:
      is_in_group_ = true;
      return false;
    case QueryKind::commit:
      return commit();
    case QueryKind::rollback:
      return roll_back();
    case QueryKind::savepoint:
    case QueryKind::xa_end:
      return false;
    case QueryKind::rollback_to_savepoint:
      put_touched_out_of_step();
      return false;
    case QueryKind::xa_commit:
      return end_xa(verdict.xid, true);
    case QueryKind::xa_rollback:
      return end_xa(verdict.xid, false);
    case QueryKind::administrative:
      break;
    case QueryKind::truncate:
    case QueryKind::drop:
    case QueryKind::alter:
    case QueryKind::rename:
    case QueryKind::create:
    case QueryKind::other_definition:
      on_definition(query);
      break;
    case QueryKind::dml:
    case QueryKind::xa_prepare:
    case QueryKind::unknown:
      if (!is_covered_) {
        put_all_out_of_step("the log has a statement instead of row changes: " +
                            std::string(query.text.substr(0, 100)));
      }
      break;
  }
  return is_in_group_ ? Applied(false) : finish();
}

LogApplier::Applied LogApplier::on(const binlog::TransactionPayload& payload) {
  payload_.open(payload);
  bool has_moved = false;
  for (;;) {
    const auto event = payload_.next();
    if (!event) {
      return std::unexpected("a compressed transaction: " +
                             std::string(binlog::describe(event.error())));
    }
    if (event->empty()) {
      return has_moved;
    }
    const auto decoded = decoder_.decode_payload_event(*event);
    if (!decoded) {
      return std::unexpected("an event of a compressed transaction: " +
                             std::string(binlog::describe(decoded.error())));
    }
    const auto applied = TRY(apply_body(decoded->body));
    has_moved = has_moved || applied;
  }
}

LogApplier::Applied LogApplier::on(const binlog::Incident&) {
  put_all_out_of_step("the server reports changes that it failed to log");
  return false;
}

LogApplier::Applied LogApplier::on(const binlog::Unknown&) {
  put_all_out_of_step("the log has an event of an unknown type");
  return false;
}

LogApplier::Applied LogApplier::commit() {
  commit_tables(mark());
  return finish();
}

LogApplier::Applied LogApplier::roll_back() {
  put_touched_out_of_step();
  return finish();
}

// The transaction is over, whatever it was.
LogApplier::Applied LogApplier::finish() {
  is_in_group_ = false;
  maps_.clear();
  if (!gtid_) {
    return false;
  }
  const LogGtid gtid = *gtid_;
  gtid_.reset();
  tables_.admit();
  return advance(gtid);
}

// The group at hand is over: the position moves behind it, if it is the one that was expected.
LogApplier::Applied LogApplier::advance(const LogGtid& gtid) {
  witness_.group_ends(place_.place());
  LogGroup group{.gtid = gtid,
                 .previous = position_.previous(gtid),
                 .server_id = begun_.server_id,
                 .timestamp = begun_.timestamp,
                 .contents = digest_.value(),
                 .log_of = log_of_,
                 .file = place_.place().file,
                 .end_low32 = static_cast<std::uint32_t>(place_.place().position)};
  if (!is_covered_ && !position_.add(gtid)) {
    return std::unexpected("the position has too many parts");
  }
  for (const LogGroup& each : expected_) {
    const bool is_it = each.gtid == gtid;
    const bool is_past =
        !is_covered_ && are_of_one_kin(each.gtid, gtid) && position_.covers(each.gtid);
    if (is_it ? !group.is_same_as(each) : is_past) {
      why_void_ = kOtherLog;
      return std::unexpected("the server's log has a different transaction " + text_of(each.gtid) +
                             " than the one applied earlier: the log was reset or truncated");
    }
  }
  const bool was_expecting = is_expecting();
  std::erase_if(expected_, [&gtid](const LogGroup& each) { return each.gtid == gtid; });
  if (is_covered_) {
    if (last_ && last_->gtid == gtid) {
      group.previous = last_->previous;
      last_ = std::move(group);  // where it is on this server
    }
    return was_expecting && !is_expecting();
  }
  last_ = std::move(group);
  has_moved_ = true;
  return true;
}

bool LogApplier::is_expected(const LogGtid& gtid) const {
  return std::ranges::any_of(expected_,
                             [&gtid](const LogGroup& each) { return each.gtid == gtid; });
}

bool LogApplier::is_idle() const {
  return !gtid_ && prepared_.is_empty() &&
         std::ranges::none_of(tables_.all(), &FollowedTable::is_touched);
}

bool LogApplier::expects_more_than(const LogPosition& logged) const {
  // MySQL has logged what it has not executed yet.
  return logged.is_mariadb() && std::ranges::any_of(expected_, [&logged](const LogGroup& each) {
           return !logged.covers(each.gtid);
         });
}

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

bool LogApplier::is_prepared_before(const FollowedTable& table) const {
  return tables_.has(table) && prepared_.is_any_before(tables_.join_of(table));
}

LogApplier::Applied LogApplier::on(const binlog::XaPrepare& prepare) {
  if (prepare.is_one_phase) {
    return commit();
  }
  for (FollowedTable* const table : std::exchange(unread_, {})) {
    put_out_of_step(*table, "an XA transaction that is not committed yet has unreadable rows");
  }
  PreparedTransactions::Rows rows{.tables = {}, .joins = tables_.joins()};
  for (FollowedTable* const table : tables_.all()) {
    if (table->is_touched()) {
      rows.tables.emplace_back(table, table->park());
    }
  }
  if (!is_covered_ && !prepared_.add(prepare.xid, std::move(rows))) {
    put_all_out_of_step("too many XA transactions are prepared, or they change too many rows");
  }
  return finish();
}

LogApplier::Applied LogApplier::end_xa(const std::optional<binlog::Xid>& xid, bool commits) {
  if (is_covered_) {
    return finish();
  }
  const auto rows = xid ? prepared_.end(*xid) : std::nullopt;
  if (commits && rows) {
    commit_prepared(*rows);
  } else if (commits) {
    put_all_out_of_step("an XA transaction was committed whose rows the guard has not seen");
  }
  return finish();
}

void LogApplier::judge(Committed& committed) {
  committed.place = witness_.hear(committed);
  committed.has_xa = std::ranges::none_of(committed.listed, [this](const binlog::Xid& xid) {
    return prepared_.state(xid) == XaState::ended;
  });
  committed.listed.clear();  // of no more use to those who keep it
}

void LogApplier::commit_prepared(const PreparedTransactions::Rows& rows) {
  const CommitMark mark = this->mark(true);
  put_late_out_of_step(rows);
  for (const auto& [table, transaction] : rows.tables) {
    if (const auto changed = table->target().insert(mark, transaction); !changed) {
      put_out_of_step(*table, changed.error());
    }
  }
  for (const auto& [table, transaction] : rows.tables) {
    if (!has_joined(*table)) {
      continue;
    }
    if (const auto changed = table->target().erase(mark, transaction); !changed) {
      put_out_of_step(*table, changed.error());
    }
  }
}

// Tables that do not know its rows.
void LogApplier::put_late_out_of_step(const PreparedTransactions::Rows& rows) {
  for (FollowedTable* const table : tables_.all()) {
    if (tables_.join_of(*table) > rows.joins && !tables_.is_waiting(*table)) {
      put_out_of_step(
          *table,
          "an XA transaction was committed whose rows the guard did not keep for this table");
    }
  }
}

}  // namespace cuckooguard::source::mysql
