#include "mysql/log.h"

#include <algorithm>
#include <variant>

#include "follow/checkpoint.h"
#include "mysql/log_applier.h"
#include "source/filter_load.h"

namespace cuckooguard::source::mysql {
namespace {

constexpr std::string_view kMariaDb = "mariadb";
constexpr std::string_view kMySql = "mysql";

}  // namespace

void CommitWitness::file_begins(const std::string& file, bool is_of_start) {
  read_file_ = file;
  known_from_.reset();
  if (is_of_start) {
    known_from_ = 0;
  }
}

void CommitWitness::group_ends(const LogPlace& end) {
  if (end.file != read_file_) {
    file_begins(end.file, false);
  }
  if (!known_from_) {
    known_from_ = end.position;
  }
}

const LogPlace& CommitWitness::hear(const Committed& word) {
  constexpr std::uint64_t kCommitsThatSettle = 2;  // the first may be of the file before
  if (word.place.file != heard_file_) {
    heard_file_ = word.place.file;
    first_heard_ = word.group_commits;
    is_settled_ = false;
  }
  is_settled_ = is_settled_ || word.group_commits >= first_heard_ + kCommitsThatSettle;
  if (believes(word.place)) {
    believed_ = word.place;
  }
  return believed_;
}

bool CommitWitness::believes(const LogPlace& place) const {
  const bool is_shown = place.file == read_file_ && known_from_ && place.position >= *known_from_;
  return is_shown || (place.file == heard_file_ && is_settled_);
}

Visibility ReadView::shows(const CommitMark& mark) const {
  if (covered.covers(mark.gtid)) {
    return mark.is_xa_commit && !window_end ? Visibility::perhaps : Visibility::visible;
  }
  return window_end && mark.end <= *window_end ? Visibility::perhaps : Visibility::not_yet;
}

bool ReadView::is_passed_by(const LogReach& applied) const {
  return window_end ? applied.place >= *window_end : applied.position.covers(covered);
}

bool ReadView::may_lack(const Committed& word, const LogApplier& applier) const {
  const auto is_over = [&](const binlog::Xid& xid) {
    return !word.listed.contains(xid) && applier.xa_state(xid) == XaState::unknown;
  };
  return (good_until && !word.is_as_far_as(*good_until)) ||
         std::ranges::any_of(unknown_xids, is_over);
}

bool Committed::covers(const CommitMark& mark) const {
  if (std::holds_alternative<binlog::MySqlGtid>(mark.gtid)) {
    return position.covers(mark.gtid);
  }
  return place >= mark.end && (has_xa || !mark.is_xa_commit);
}

bool Committed::covers(const LogReach& all) const {
  return all.position.is_mariadb() ? place >= all.place && has_xa : position.covers(all.position);
}

std::uint64_t Log::definition_hash(const Target& target, const TablePlan& plan) {
  Definition definition;
  definition << "cuckooguard mysql 2";
  definition.add_templates(target);
  definition << "columns" << plan.schema << plan.name;
  for (const Column& column : plan.columns) {
    definition << column.name << column.column_type << column.charset << column.collation
               << std::uint64_t{column.nullable} << column.primary_key;
  }
  definition << "identity";
  for (const std::size_t place : plan.identity) {
    definition << place;
  }
  if (!plan.uuids.empty()) {
    definition << "uuids" << static_cast<std::uint64_t>(plan.uuid_order);
  }
  definition.add_filter(target,
                        plan.condition.text(),
                        chosen_deletes(target.settings.filter.deletes, plan.identity_is_unique));
  return definition.hash();
}

std::string Log::resume_text(const LogPosition& position, const LogGroup& last) {
  return std::string(position.is_mariadb() ? kMariaDb : kMySql) + '\n' + position.text() + '\n' +
         last.text();
}

std::optional<std::pair<LogPosition, LogGroup>> Log::parse_resume(
    std::span<const std::string> lines) {
  const bool is_mariadb = lines[0] == kMariaDb;
  auto position = LogPosition::parse(lines[1], is_mariadb);
  auto last = LogGroup::parse(lines[2], is_mariadb);
  if (!position || !last) {
    return std::nullopt;
  }
  return std::pair(*std::move(position), *std::move(last));
}

}  // namespace cuckooguard::source::mysql
