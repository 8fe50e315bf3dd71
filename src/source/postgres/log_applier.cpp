#include "postgres/log_applier.h"

#include <algorithm>
#include <variant>

#include "text/try.h"

namespace cuckooguard::source::postgres {

using pgoutput::OldRow;
using pgoutput::ReplicaIdentity;
using pgoutput::Value;

std::unexpected<std::string> FollowedTable::changed(const std::string& how) const {
  return std::unexpected("table \"" + plan().name + "\" has changed: " + how);
}

std::unexpected<std::string> FollowedTable::not_understood(const std::string& what) const {
  return std::unexpected("the log has a row of table \"" + plan().name + "\" " + what);
}

bool FollowedTable::has(pgoutput::Oid oid) const {
  return oid == plan().oid || std::ranges::binary_search(plan().parts, oid);
}

FollowedTable::Done FollowedTable::relation(const pgoutput::Relation& relation, bool is_news) {
  is_described_ = false;
  const TablePlan& planned = plan();
  if (relation.oid != planned.oid) {
    return changed("another table has taken its name");
  }
  if (is_news && !is(relation.schema, relation.name)) {
    return changed("its name is \"" + std::string(relation.schema) + "\".\"" +
                   std::string(relation.name) + "\" in the log");
  }
  if (is_news || !planned.is_partitioned) {
    TRY(compare_identity(relation));
  }
  if (relation.columns.size() != planned.columns.size()) {
    return changed("it has " + std::to_string(relation.columns.size()) +
                   " columns in the log and " + std::to_string(planned.columns.size()) +
                   " in the catalog");
  }
  for (std::size_t i = 0; i < planned.columns.size(); ++i) {
    const Column& column = planned.columns[i];
    if (relation.columns[i].name != column.name) {
      return changed("the log has column \"" + std::string(relation.columns[i].name) +
                     "\" where the catalog has \"" + column.name + "\"");
    }
    if (const auto how = difference(column, relation.columns[i], is_news)) {
      return changed("column \"" + column.name + "\" " + *how);
    }
  }
  is_described_ = true;
  return {};
}

FollowedTable::Done FollowedTable::compare_identity(const pgoutput::Relation& relation) const {
  const bool is_full = relation.replica_identity == ReplicaIdentity::full;
  if (relation.replica_identity == ReplicaIdentity::nothing || is_full != plan().has_full_rows) {
    return changed("its REPLICA IDENTITY has changed");
  }
  for (const std::size_t column : needed()) {
    if (!is_full && plan().columns[column].replica_key == 0) {
      return changed("the log does not have column \"" + plan().columns[column].name +
                     "\" of deleted rows");
    }
  }
  return {};
}

// Its columns may have other places than those of the whole, which is what rows come in.
FollowedTable::Done FollowedTable::part(const pgoutput::Relation& relation) const {
  const std::string name = "\"" + std::string(relation.name) + "\"";
  if (!std::ranges::binary_search(plan().parts, relation.oid)) {
    return changed("the log has rows of a partition " + name + " that it did not have before");
  }
  const bool is_full = relation.replica_identity == ReplicaIdentity::full;
  if (plan().has_full_rows && !is_full) {
    return changed("the REPLICA IDENTITY of its partition " + name + " has changed");
  }
  for (const std::size_t column : needed()) {
    const auto logged = std::ranges::find(
        relation.columns, plan().columns[column].name, &pgoutput::RelationColumn::name);
    if (logged == relation.columns.end() || (!is_full && !logged->is_key)) {
      return changed("the log does not have column \"" + plan().columns[column].name +
                     "\" of rows deleted from its partition " + name);
    }
  }
  return {};
}

std::optional<std::string> FollowedTable::difference(const Column& planned,
                                                     const pgoutput::RelationColumn& logged,
                                                     bool is_news) const {
  if (logged.type != planned.logged_oid || logged.type_modifier != planned.modifier) {
    return "is " + planned.type_name + " in the catalog and of another type in the log";
  }
  const bool tells_keys = is_news || !plan().is_partitioned;
  if (tells_keys && !plan().has_full_rows && logged.is_key != (planned.replica_key > 0)) {
    return "is part of the replica identity in only one of the log and the catalog";
  }
  return std::nullopt;
}

FollowedTable::Done FollowedTable::insert(const pgoutput::Insert& insert) {
  const auto after = TRY(read(insert.row, {}, after_));
  return change(std::nullopt, after);
}

FollowedTable::Done FollowedTable::update(const pgoutput::Update& update) {
  if (update.old_row_is == OldRow::none && !plan().has_full_rows) {
    return {};  // the key is as it was, and nothing else is needed
  }
  if (!is_as_planned(update.old_row_is)) {
    return not_understood(
        "without its previous values: all partitions must have the same REPLICA IDENTITY");
  }
  const auto before = TRY(read(update.old_row, {}, before_));
  const auto after = TRY(read(update.new_row, update.old_row, after_));
  return change(before, after);
}

FollowedTable::Done FollowedTable::erase(const pgoutput::Delete& erase) {
  if (!is_as_planned(erase.old_row_is)) {
    return not_understood("that was deleted, with a different REPLICA IDENTITY than the table's");
  }
  const auto before = TRY(read(erase.old_row, {}, before_));
  return change(before, std::nullopt);
}

std::expected<RowValues, std::string> FollowedTable::read(pgoutput::Row row,
                                                          pgoutput::Row before,
                                                          Values& values) const {
  if (!is_described_) {
    return not_understood("without describing the table");
  }
  const std::size_t columns = plan().columns.size();
  if (row.size() != columns || (!before.empty() && before.size() != columns)) {
    return not_understood("of " + std::to_string(row.size()) + " columns instead of " +
                          std::to_string(columns));
  }
  values.clear();
  for (const std::size_t place : needed()) {
    const Value* value = &row[place];
    if (value->state == Value::State::unchanged && !before.empty()) {
      value = &before[place];
    }
    const std::string& column = plan().columns[place].name;
    if (value->state == Value::State::unchanged) {
      return not_understood("without column \"" + column + "\", which has not changed");
    }
    if (value->state == Value::State::binary) {
      return not_understood("whose column \"" + column + "\" is not text");
    }
    values.push_back(value->state == Value::State::null ? std::nullopt
                                                        : std::optional(value->bytes));
  }
  return values;
}

using pgoutput::Lsn;

LogApplier::Known::Known(const pgoutput::Relation& of)
    : schema(of.schema),
      name(of.name),
      columns(of.columns.begin(), of.columns.end()),
      relation(of) {
  names.reserve(columns.size());
  for (pgoutput::RelationColumn& column : columns) {
    column.name = names.emplace_back(column.name);
  }
  relation.schema = schema;
  relation.name = name;
  relation.columns = columns;
}

void LogApplier::leave(FollowedTable& table) {
  TransactionApplier::leave(table);
  for (auto& [oid, known] : relations_) {
    std::erase(known.tables, &table);
  }
}

void LogApplier::rest_on(std::vector<LogGroup> groups) {
  unseen_ = std::move(groups.front().unseen);
  last_ = {.last = groups.front().last, .unseen = {}, .commit = groups.front().commit};
  expected_ = std::move(groups);
  std::erase_if(expected_, [](const LogGroup& each) { return each.commit.lsn.value == 0; });
}

bool LogApplier::expects_more_than(const LogPosition& logged) const {
  return std::ranges::any_of(expected_,
                             [&logged](const LogGroup& each) { return !logged.covers(each.last); });
}

std::optional<LogGroup> LogApplier::last_group() const {
  return has_last() ? std::optional(
                          LogGroup{.last = last_.last, .unseen = unseen_, .commit = last_.commit})
                    : std::nullopt;
}

// Behind the last transaction another history may have others where ours had none.
void LogApplier::reconnected(const LogBegin& format, std::uint64_t log_of) {
  if (has_last()) {
    std::erase_if(expected_, [this](const LogGroup& each) { return position_.covers(each.last); });
    expected_.push_back(last_);
    position_ = LogPosition(last_.last.end);
  }
  log_of_ = log_of;
  near_ = std::max(near_, format.near);
  relations_.clear();
  described_.reset();
  open_.reset();
  tables_.admit();
  roll_back_tables();
}

LogApplier::Applied LogApplier::apply(const LogEvent& event) {
  if (event.message.empty()) {
    return on_keepalive(event.end);
  }
  const auto decoded = decoder_.decode(event.message);
  if (!decoded) {
    return std::unexpected("the server's log: " + pgoutput::describe(decoded.error()));
  }
  if (std::holds_alternative<pgoutput::Begin>(*decoded)) {
    begun_at_ = event.end;
  }
  return std::visit([this](const auto& message) { return on(message); }, *decoded);
}

// Nothing of this publication was committed up to there but what has been sent.
LogApplier::Applied LogApplier::on_keepalive(Lsn end) {
  TRY(expect_none_before(end));
  if (open_ || end <= position_.lsn()) {
    return false;
  }
  position_ = LogPosition(end);
  return true;
}

std::expected<void, std::string> LogApplier::compare(const pgoutput::Begin& begun) {
  begun_ = {.lsn = begun.final_lsn, .time = begun.commit_time, .xid = begun.xid};
  for (const LogGroup& each : expected_) {
    if (each.commit.lsn == begun_.lsn && each.commit != begun_) {
      why_void_ = kOtherLog;
      return std::unexpected("the server's log has a different transaction at " +
                             begun_.lsn.text() +
                             " than the one applied earlier: it belongs to another copy of the "
                             "server, or was truncated");
    }
  }
  return expect_none_before(begun_.lsn);
}

// It would have been sent by now.
std::expected<void, std::string> LogApplier::expect_none_before(Lsn end) {
  const auto missing = std::ranges::find_if(
      expected_, [end](const LogGroup& each) { return each.commit.lsn < end; });
  if (missing == expected_.end()) {
    return {};
  }
  why_void_ = kOtherLog;
  return std::unexpected(
      "the server's log does not have the transaction at " + missing->commit.lsn.text() +
      " that was applied earlier: it belongs to another copy of the server, or was truncated");
}

LogApplier::Applied LogApplier::on(const pgoutput::Begin& begun) {
  described_.reset();
  if (open_) {
    return std::unexpected("the server's log has a transaction inside another one");
  }
  if (unseen_.size() >= kUnseenMax) {
    return std::unexpected("the server does not commit the transactions in its log");
  }
  TRY(compare(begun));
  const Lsn end{begun.final_lsn.value + 1};
  open_ = {.end = {end}, .xid = whole_xid(begun.xid, near_)};
  near_ = open_->xid;
  is_covered_ = position_.covers(open_->end);
  return false;
}

LogApplier::Applied LogApplier::on(const pgoutput::Commit& commit) {
  const Lsn begun{commit.commit_lsn.value + 1};
  if (!open_ || open_->end.end != begun || commit.end_lsn < begun) {
    return std::unexpected("the server's log ends a different transaction than the one that began");
  }
  const CommitMark mark{.end = {commit.end_lsn}, .xid = open_->xid};
  open_.reset();
  const auto has_come =
      std::erase_if(expected_, [&](const LogGroup& each) { return each.commit == begun_; });
  if (is_covered_) {
    tables_.admit();
    return has_come != 0 && !is_expecting();
  }
  commit_tables(mark);
  last_ = {.last = mark.end, .unseen = {}, .commit = begun_};
  last_bytes_ = begun_.lsn.value - std::min(begun_at_.value, begun_.lsn.value);
  unseen_.push_back(mark.xid);
  position_ = LogPosition(mark.end.end);
  tables_.admit();
  return true;
}

LogApplier::Applied LogApplier::on(const pgoutput::Relation& relation) {
  relations_.erase(relation.oid);
  const auto known = relations_.try_emplace(relation.oid, relation).first;
  known->second.came_at = tables_.joins();
  described_ = relation.oid;
  return false;
}

LogApplier::Applied LogApplier::on(const pgoutput::Insert& insert) {
  return on_row(insert.relation, [&](FollowedTable& table) { return table.insert(insert); });
}

LogApplier::Applied LogApplier::on(const pgoutput::Update& update) {
  return on_row(update.relation, [&](FollowedTable& table) { return table.update(update); });
}

LogApplier::Applied LogApplier::on(const pgoutput::Delete& erase) {
  return on_row(erase.relation, [&](FollowedTable& table) { return table.erase(erase); });
}

// At once: what is sent has committed, and a table that is read again joins behind this
// transaction.
LogApplier::Applied LogApplier::on(const pgoutput::Truncate& truncate) {
  described_.reset();  // all of them were described, one behind the other
  for (std::size_t i = 0; i < truncate.relations.size(); ++i) {
    TRY(on_row(truncate.relations[i], [](const FollowedTable&) {
      return std::expected<void, std::string>(
          std::unexpected("the table was truncated; reading it again"));
    }));
  }
  return false;
}

LogApplier::Applied LogApplier::on(const pgoutput::BeginPrepare&) {
  put_all_out_of_step("the log has two-phase commits, which are not supported");
  return false;
}

// Whoever reads a table from now on must wait until it is visible.
LogApplier::Applied LogApplier::on(const pgoutput::CommitPrepared& commit) {
  put_all_out_of_step("the log has two-phase commits, which are not supported");
  near_ = whole_xid(commit.xid, near_);
  unseen_.push_back(near_);
  return on_keepalive(commit.end_lsn);
}

template <class Change>
LogApplier::Applied LogApplier::on_row(pgoutput::Oid oid, const Change& change) {
  const auto described = std::exchange(described_, std::nullopt);
  if (open_ && is_covered_) {
    return false;
  }
  const auto found = relations_.find(oid);
  if (found == relations_.end()) {
    return std::unexpected("the server's log has rows of a table that it has not described");
  }
  Known& known = found->second;
  if (described && *described != oid) {
    judge_part(relations_.at(*described), known);
  }
  if (known.found_at != tables_.joins()) {
    find_tables(known);
  }
  if (known.tables.empty() && open_ && known.told != open_->end.end) {
    known.told = open_->end.end;
    calls_.on_other_table(known.schema, known.name);
  }
  for (std::size_t i = 0; i < known.tables.size();) {
    FollowedTable& table = *known.tables[i];
    std::expected<void, std::string> changed;
    if (is_news_to(table)) {
      changed =
          open_ ? change(table) : std::unexpected("the log has rows outside of any transaction");
    }
    if (changed) {
      ++i;
    } else {
      put_out_of_step(table, changed.error());
    }
  }
  return false;
}

void LogApplier::find_tables(Known& known) {
  known.tables.clear();
  known.found_at = tables_.joins();
  for (FollowedTable* const table : tables_.all()) {
    const bool is_new = tables_.join_of(*table) <= known.came_at;
    const bool has_its_name = is_new && table->is(known.schema, known.name);
    if (table->plan().oid != known.relation.oid && !has_its_name) {
      continue;
    }
    if (!is_news_to(*table)) {
      known.found_at.reset();  // it may be of an older definition than the table's
    } else if (const auto good = table->relation(known.relation, is_new); !good) {
      put_out_of_step(*table, good.error());
    } else {
      known.tables.push_back(table);
    }
  }
}

void LogApplier::judge_part(const Known& part, const Known& whole) {
  for (FollowedTable* const table : tables_.all()) {
    const bool is_whole = table->plan().oid == whole.relation.oid;
    if (!is_news_to(*table) || (!is_whole && !table->has(part.relation.oid))) {
      continue;
    }
    const auto good = is_whole
                          ? table->part(part.relation)
                          : std::unexpected("the log has rows of table \"" + table->plan().name +
                                            "\" under the name \"" + whole.name + "\"");
    if (!good) {
      put_out_of_step(*table, good.error());
    }
  }
}

// Not if it has the transaction at hand from before.
bool LogApplier::is_news_to(const FollowedTable& table) const {
  return !open_ || !table.target().has(open_->id());
}

void LogApplier::judge(const Committed& committed) {
  near_ = std::max(near_, committed.snapshot.xmax);
  std::erase_if(unseen_, [&](Xid xid) { return committed.snapshot.shows(xid); });
  if (committed.fingerprints) {
    judge(committed, *committed.fingerprints);
  }
}

void LogApplier::judge(const Committed& committed, const TableFingerprints& fingerprints) {
  const auto tables = tables_.all();
  for (FollowedTable* const table : tables) {
    const auto found = fingerprints.find(table->plan().name);
    if (found == fingerprints.end()) {
      put_out_of_step(*table, "table \"" + table->plan().name + "\" does not exist any more");
    } else if (found->second != table->plan().fingerprint) {
      put_out_of_step(*table,
                      "the definition of table \"" + table->plan().name +
                          "\", or its publication, has changed");
    }
  }
  for (const auto& [name, fingerprint] : fingerprints) {
    if (std::ranges::none_of(
            tables, [&](const FollowedTable* table) { return table->plan().name == name; })) {
      calls_.on_other_table(committed.schema, name);
    }
  }
}

void LogApplier::put_all_out_of_step(std::string_view why) {
  calls_.on_definition();
  for (FollowedTable* const table : tables_.all()) {
    put_out_of_step(*table, why);
  }
}

}  // namespace cuckooguard::source::postgres
