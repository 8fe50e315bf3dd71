#include <algorithm>
#include <cstddef>
#include <cstring>

#include "follow/pause.h"
#include "postgres/connection.h"
#include "postgres/log_follower.h"
#include "postgres/server.h"
#include "postgres/table.h"
#include "text/try.h"

namespace cuckooguard::source::postgres {

namespace {

constexpr char kBackslash = '\\';
constexpr char kTab = '\t';

char meant_by(char escape) {
  switch (escape) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return escape;
  }
}

std::string_view undone(char* begin, const char* end) {
  char* to = begin;
  for (const char* from = begin; from != end; ++from) {
    if (*from == kBackslash && from + 1 != end) {
      *to++ = meant_by(*++from);
    } else {
      *to++ = *from;
    }
  }
  return {begin, to};
}

char* find(char* begin, char* end, char byte) {
  auto* const found =
      static_cast<char*>(std::memchr(begin, byte, static_cast<std::size_t>(end - begin)));
  return found == nullptr ? end : found;
}

}  // namespace

bool parse_copy_row(std::span<char> row, std::span<std::optional<std::string_view>> values) {
  char* begin = row.data();
  char* const end = begin + row.size();
  const char* const first_backslash = find(begin, end, kBackslash);
  for (std::size_t i = 0; i < values.size(); ++i) {
    char* const value_end = find(begin, end, kTab);  // a tab of a value's own is written as \t
    if ((value_end == end) != (i + 1 == values.size())) {
      return false;
    }
    const std::string_view value(begin, value_end);
    if (first_backslash >= value_end) {
      values[i] = value;
    } else if (value == "\\N") {
      values[i] = std::nullopt;
    } else {
      values[i] = undone(begin, value_end);
    }
    begin = value_end + 1;
  }
  return true;
}

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kNextViewMin{2};
constexpr std::chrono::milliseconds kNextViewMax{250};
constexpr const char* kBeginView =
    "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY, NOT DEFERRABLE";

}  // namespace

Expected<ReadView> open_view(Connection& connection) {
  TRY(connection.run(kBeginView));
  auto snapshot = TRY(current_snapshot(connection));
  const auto end = TRY(insert_lsn(connection));  // behind it
  return ReadView{.snapshot = std::move(snapshot), .end = LogPosition(end)};
}

Expected<TableReader> TableReader::open(const Settings& settings) {
  auto connection = TRY(open_same_server(settings.login, settings.identity));
  const auto process = TRY(connection.value("SELECT pg_catalog.pg_backend_pid()"));
  TableReader reader(std::move(connection), settings);
  reader.process_ = process.value_or("0");
  return reader;
}

Expected<LogPosition> TableReader::position() {
  return LogPosition(TRY(insert_lsn(connection_)));
}

Planned<TablePlan> TableReader::plan(const Target& target, const std::string& table) {
  auto plan = plan_table(connection_, settings_.place, target, table);
  if (plan) {
    planned_oid_ = plan->oid;
  }
  return plan;
}

Expected<ReadView> TableReader::open_view(const LogPosition& /*from*/,
                                          TableSet<Log>& tables,
                                          const std::stop_token& stop) {
  std::vector<Xid> needed =
      tables.loads.ask_applier([](const LogApplier& applier) { return applier.unseen(); });
  const auto writers = TRY(writers_of(connection_, planned_oid_));  // behind its fingerprint
  needed.insert(needed.end(), writers.begin(), writers.end());
  const TimePoint until = settings_.clock() + kViewWaitMax;
  for (auto pause = kNextViewMin;; pause = std::min(pause * 2, kNextViewMax)) {
    auto view = TRY(settings_.open_view(connection_));
    const auto hidden =
        std::ranges::find_if_not(needed, [&view](Xid xid) { return view.snapshot.shows(xid); });
    if (hidden == needed.end()) {
      return view;
    }
    TRY(close_view());
    if (settings_.clock() > until || !pause_for(pause, stop)) {
      return failed("transaction " + std::to_string(*hidden) +
                    " writes to the table, or is in the server's log, but is not visible yet: it "
                    "is still open, or a synchronous standby does not respond");
    }
  }
}

Expected<TableEstimate> TableReader::size(const TablePlan& plan) {
  look_at_ = settings_.clock() + kLookEvery;
  return size_of_table(connection_, plan);
}

bool TableReader::is_somebody_waiting(const TablePlan& /*plan*/) {
  const TimePoint now = settings_.clock();
  if (now < look_at_) {
    return false;
  }
  look_at_ = now + kLookEvery;
  if (!observer_) {
    auto connection = open_same_server(settings_.login, settings_.identity);
    if (!connection) {
      return false;  // who cannot ask hears of nobody, and asks again later
    }
    observer_.emplace(*std::move(connection));
  }
  const auto waits =
      observer_->value("SELECT EXISTS (SELECT FROM pg_catalog.pg_locks WHERE NOT granted AND " +
                       process_ + " = ANY (pg_catalog.pg_blocking_pids(pid)))");
  if (!waits) {
    observer_.reset();
    return false;
  }
  return *waits == "t";
}

}  // namespace cuckooguard::source::postgres
