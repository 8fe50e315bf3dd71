#include "postgres/log.h"

#include <algorithm>

#include "follow/checkpoint.h"
#include "postgres/log_applier.h"
#include "source/filter_load.h"
#include "text/number.h"
#include "text/words.h"

namespace cuckooguard::source::postgres {
namespace {

constexpr std::string_view kPostgres = "postgres";
constexpr std::size_t kUnseenMax = LogApplier::kUnseenMax;

struct XidRange {
  Xid first;
  Xid last;
};

// In order; numbers that are so far apart at most are of one range.
std::vector<XidRange> ranges(std::vector<Xid> xids, Xid apart) {
  std::ranges::sort(xids);
  std::vector<XidRange> found;
  for (const Xid xid : xids) {
    if (!found.empty() && xid - found.back().last <= apart) {
      found.back().last = xid;
    } else {
      found.push_back({.first = xid, .last = xid});
    }
  }
  return found;
}

std::string text_of(const std::vector<XidRange>& all) {
  std::string text;
  for (const XidRange& range : all) {
    text += ' ' + std::to_string(range.first);
    if (range.last != range.first) {
      text += '-' + std::to_string(range.last);
    }
  }
  return text;
}

std::optional<XidRange> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = text::number_of<Xid>(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : text::number_of<Xid>(text.substr(dash + 1));
  return first && last && *first <= *last ? std::optional(XidRange{.first = *first, .last = *last})
                                          : std::nullopt;
}

using text::take_word;

std::string text_of(const CommitStamp& commit) {
  return commit.lsn.text() + ' ' + std::to_string(commit.time.microseconds) + ' ' +
         std::to_string(commit.xid);
}

std::optional<CommitStamp> take_commit(std::string_view& text) {
  const auto lsn = pgoutput::parse_lsn(take_word(text));
  const auto time = text::number_of<std::int64_t>(take_word(text));
  const auto xid = text::number_of<pgoutput::TransactionId>(take_word(text));
  return lsn && time && xid ? std::optional(CommitStamp{.lsn = *lsn, .time = {*time}, .xid = *xid})
                            : std::nullopt;
}

}  // namespace

std::optional<LogPosition> LogPosition::parse(std::string_view text,
                                              std::optional<Flavor> /*flavor*/) {
  const auto lsn = pgoutput::parse_lsn(text);
  return lsn ? std::optional(LogPosition(*lsn)) : std::nullopt;
}

std::string LogPosition::text() const {
  return lsn_.text();
}

// If they are too many, also some between them: who waits for those as well waits longer, no more.
std::string LogGroup::text() const {
  const std::string end = last.end.text() + ' ' + text_of(commit);
  std::string listed = text_of(ranges(unseen, 1));
  for (Xid apart = 2; end.size() + listed.size() > kTextMax; apart *= 2) {
    listed = text_of(ranges(unseen, apart));
  }
  return end + listed;
}

std::optional<LogGroup> LogGroup::parse(std::string_view text) {
  LogGroup group;
  if (text.ends_with(' ')) {
    return std::nullopt;
  }
  const auto end = pgoutput::parse_lsn(take_word(text));
  const auto commit = take_commit(text);
  if (!end || !commit) {
    return std::nullopt;
  }
  group.last.end = *end;
  group.commit = *commit;
  while (!text.empty()) {
    const auto range = parse_range(take_word(text));
    if (!range || range->last - range->first >= kUnseenMax - group.unseen.size()) {
      return std::nullopt;
    }
    for (Xid xid = range->first; xid <= range->last; ++xid) {
      group.unseen.push_back(xid);
    }
  }
  return group;
}

bool Committed::covers(const LogReach& all) const {
  return std::ranges::all_of(all.unseen, [this](Xid xid) { return snapshot.shows(xid); });
}

std::uint64_t Log::definition_hash(const Target& target, const TablePlan& plan) {
  Definition definition;
  definition << "cuckooguard postgres 1";
  definition.add_templates(target);
  definition << "columns" << plan.schema << plan.name << std::uint64_t{plan.oid}
             << std::uint64_t{plan.has_full_rows};
  for (const Column& column : plan.columns) {
    definition << column.name << column.type_name << std::uint64_t{column.type_oid}
               << std::uint64_t{column.logged_oid} << std::to_string(column.modifier)
               << std::uint64_t{column.nullable} << std::uint64_t{column.is_deterministic}
               << std::uint64_t{column.replica_key};
  }
  for (const auto* const places : {&plan.identity, &plan.primary_key}) {
    definition << "places";
    for (const std::size_t place : *places) {
      definition << std::uint64_t{place};
    }
  }
  // Rows may have come or gone without a word in the log.
  definition << "fingerprint" << plan.fingerprint;
  definition.add_filter(target,
                        plan.condition.text(),
                        chosen_deletes(target.settings.filter.deletes, plan.identity_is_unique));
  return definition.hash();
}

std::string Log::resume_text(const LogPosition& /*position*/, const LogGroup& last) {
  return std::string(kPostgres) + '\n' + last.last.end.text() + '\n' + last.text();
}

std::optional<std::pair<LogPosition, LogGroup>> Log::parse_resume(
    std::span<const std::string> lines) {
  const auto position = LogPosition::parse(lines[1], LogPosition::Flavor::postgres);
  auto last = LogGroup::parse(lines[2]);
  if (lines[0] != kPostgres || !position || !last) {
    return std::nullopt;
  }
  return std::pair(*position, *std::move(last));
}

}  // namespace cuckooguard::source::postgres
