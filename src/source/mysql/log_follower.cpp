#include "mysql/log_follower.h"

#include <algorithm>

#include "binlog/xid.h"
#include "follow/pause.h"
#include "mysql/server.h"
#include "text/try.h"

namespace cuckooguard::source::mysql {
namespace {

// Waits until a MariaDB's engine has ended the XA transactions that its log has ended before: else
// a read view may not show them, although its position covers them (read_view.h).
// XA RECOVER lists a transaction until it is done. A listed one is
//   prepared, as far as the log was read: its verdict will come with the log;
//   ended: its verdict was read, so that its rows must be waited for;
//   unknown: its PREPARE was not read. It is waited for too, but may be one that nobody will ever
//   end; or one whose verdict was logged just before the log was begun to be read, which must then
//   be done within kXaCommitMax, or else is seen to end without a word of the log (ReadView).
// Gives the unknown ones that are left.
// Threads: its own. Errors: Error, also if one that was ended is not done after kXaCommitMax:
// the load must be tried again.

inline constexpr std::chrono::seconds kXaCommitMax{1};

constexpr std::chrono::milliseconds kPause{2};  // between looks

Expected<std::set<binlog::Xid>> wait_for_xa_commits(Connection& connection,
                                                    TableSet<Log>& tables,
                                                    const Clock& clock,
                                                    const std::stop_token& stop) {
  if (!connection.is_mariadb()) {
    return std::set<binlog::Xid>();
  }
  const auto is = [&tables](const binlog::Xid& xid, XaState state) {
    return tables.loads.ask_applier(
        [&](const LogApplier& applier) { return applier.xa_state(xid) == state; });
  };
  const TimePoint until = clock() + kXaCommitMax;
  auto all = TRY(listed_xids(connection));
  for (;;) {
    std::erase_if(all, [&](const binlog::Xid& xid) { return is(xid, XaState::prepared); });
    if (all.empty() || clock() >= until || !pause_for(kPause, stop)) {
      break;
    }
    const auto now = TRY(listed_xids(connection));
    std::erase_if(all, [&now](const binlog::Xid& xid) { return !now.contains(xid); });
  }
  if (std::ranges::any_of(all, [&](const auto& xid) { return is(xid, XaState::ended); })) {
    return failed("an XA transaction that has ended in the log is not finished on the server yet");
  }
  return all;
}

// A MariaDB that is written to says what is to be believed with its next commit.
constexpr std::chrono::seconds kBelievedWithin{1};
constexpr std::chrono::milliseconds kBelievedPause{10};

// `auto` goes on with max_lag where the server does not serve it.
bool must_be_strict(const Target& target) {
  return target.settings.consistency == config::Consistency::strict;
}

}  // namespace

LockProbe::LockProbe(Login login, std::string identity, Clock clock)
    : login_(std::move(login)),
      identity_(std::move(identity)),
      clock_(std::move(clock)),
      next_(clock_() + kEvery) {}

bool LockProbe::is_connected() {
  if (connection_) {
    return true;
  }
  auto connection = open_same_server(login_, identity_);
  // As little as the server allows: none at all, or a second.
  if (!connection || !connection->run("SET SESSION lock_wait_timeout = 0")) {
    return false;
  }
  connection_.emplace(*std::move(connection));
  return true;
}

bool LockProbe::is_somebody_waiting(const TablePlan& table) {
  constexpr unsigned kLockWaitTimeout = 1205;
  bool is_refused = false;
  if (is_connected() && connection_) {
    const auto read = connection_->ask("SELECT 1 FROM " + quoted_name(table.schema) + "." +
                                       quoted_name(table.name) + " LIMIT 0");
    is_refused = !read && read.error().code == kLockWaitTimeout;
    if (!read && read.error().is_lost()) {
      connection_.reset();
    }
  }
  next_ = clock_() + kEvery;
  return is_refused;
}

Expected<TableReader> TableReader::open(const Settings& settings) {
  return TableReader(TRY(open_same_server(settings.login, settings.identity)), settings);
}

Expected<ReadView> TableReader::open_view(const LogPosition& from,
                                          TableSet<Log>& tables,
                                          const std::stop_token& stop) {
  auto unknown = TRY(wait_for_xa_commits(connection_, tables, settings_.clock, stop));
  ReadView view = TRY(open_believed_view(from, tables, stop));
  view.unknown_xids = std::move(unknown);
  return view;
}

Expected<ReadView> TableReader::open_believed_view(const LogPosition& from,
                                                   TableSet<Log>& tables,
                                                   const std::stop_token& stop) {
  const auto open = [&] {
    return open_current_view(
        from, [this] { return settings_.open_view(connection_); }, [this] { return close_view(); });
  };
  const auto is_believed = [&tables](const LogPlace& place) {
    return tables.loads.ask_applier(
        [&place](const LogApplier& applier) { return applier.believes(place); });
  };
  if (!connection_.is_mariadb()) {
    return open();
  }
  const TimePoint now = settings_.clock();
  const TimePoint until = now + (std::exchange(has_waited_, true) ? kPause : kBelievedWithin);
  do {
    const Committed word = TRY(committed(connection_));
    if (!is_believed(word.place)) {
      continue;
    }
    auto view = open();
    if (!view && !is_not_told(view.error())) {
      return view;
    }
    if (view && (view->committed.file.empty() || is_believed(view->committed))) {
      return view;
    }
    TRY(close_view());
  } while (settings_.clock() < until && pause_for(kBelievedPause, stop));
  return open_view_for_now(connection_);
}

Expected<TableEstimate> TableReader::size(const TablePlan& plan) {
  locks_.emplace(settings_.login, settings_.identity, settings_.clock);
  return size_of_table(connection_, plan);
}

bool TableReader::is_somebody_waiting(const TablePlan& plan) {
  return locks_ && locks_->is_due() && locks_->is_somebody_waiting(plan);
}

LogFollower::LogFollower(LogFollowerSettings settings, Feeds feeds, Clock clock)
    : ServerFollower(std::move(settings), std::move(feeds), std::move(clock)),
      random_(std::random_device{}()) {}

LogFollower::~LogFollower() {
  end();
}

std::vector<Refusal> LogFollower::check(std::span<const Login> logins,
                                        std::span<const Target> targets) {
  std::vector<Refusal> all;
  for (const Login& login : logins) {
    auto connection = Connection::open(login);
    if (!connection) {
      if (!connection.error().is_lost()) {  // reached, and not let in
        return {{.ns = "", .what = connection.error().what}};
      }
      continue;
    }
    const auto server = ask_server(*connection);
    if (!server) {
      continue;
    }
    for (std::string& what : refusals(*server)) {
      all.push_back({.ns = "", .what = std::move(what)});
    }
    const std::string_view why_not = why_not_strict(server->is_replica);
    TableReader reader(*std::move(connection), {});
    for (const Target& target : targets) {
      if (must_be_strict(target) && !why_not.empty()) {
        all.push_back({.ns = target.settings.name, .what = std::string(why_not)});
      }
      check_tables(reader, target, all);
    }
    return all;
  }
  return all;
}

// --- connecting ---

LogFollower::Duration LogFollower::connect(const std::stop_token& stop) {
  Error last;
  std::string refusals;
  for (const Login& login : settings_.logins) {
    const auto done = connect_to(login);
    if (done || stop.stop_requested()) {
      return Duration::zero();
    }
    last = done.error();
    if (last.is_refusal()) {
      forget_position();  // before the next address is tried
      refusals += (refusals.empty() ? "" : "; ") + last.what;
    }
  }
  return lose(refusals.empty() ? last : Error::refusal(refusals));
}

Done LogFollower::connect_to(const Login& login) {
  auto connection = TRY(Connection::open(login));
  const auto server = TRY(check_server(connection));
  const auto identity = TRY(server_identity(connection));
  // Before anything that rests on its log.
  const auto upheavals_before = TRY(upheavals(connection));
  const auto standing = TRY(ask_standing(connection));
  if (const std::string_view why = why_read_only(standing, server.is_replica); !why.empty()) {
    return failed(why);
  }
  // What another one has logged is in the log of none that does not log what it replicates.
  is_cluster_ = settings_.logins.size() > 1 && server.logs_what_it_replicates;
  if (identity != identity_) {
    TRY(settings_.logins.size() > 1 ? Done() : turn_to(identity));
    loader_.reset();       // it reads from the one before
    checkpoints_.reset();  // and they are labelled with it
    TRY(decide_whether_it_goes_on(connection, identity));
  }
  login_ = login;
  is_followed(login, identity);
  if (is_position_gone_ || !tables_.log.can_resume()) {
    TableReader reader(std::move(connection), reader_settings());
    TRY(begin_anew(reader));
  }
  return begin_stream({.logs_what_it_replicates = server.logs_what_it_replicates,
                       .upheavals = upheavals_before,
                       .standing = standing});
}

Done LogFollower::decide_whether_it_goes_on(Connection& connection, std::string_view identity) {
  if (!tables_.log.has_begun() || is_position_gone_) {
    return {};
  }
  const auto position = TRY(server_position(connection));
  const Successor<Log> server{
      .identity = identity, .is_cluster = is_cluster_, .position = position};
  is_position_gone_ = !server.goes_on(identity_, tables_.log.position());
  return {};
}

Expected<Server> LogFollower::check_server(Connection& connection) const {
  auto server = ask_server(connection);
  if (!server) {
    return server;
  }
  std::vector<std::string> all = refusals(*server);
  const std::string_view why_not = why_not_strict(server->is_replica);
  if (!why_not.empty() && settings_.asking.must_serve_strict()) {
    all.emplace_back(why_not);
  }
  TRY(judge(all));
  return server;
}

Done LogFollower::begin_anew(TableReader& reader) {
  loader_.reset();
  if (may_take_up()) {
    const bool is_taken_up = TRY(take_up(reader, is_cluster_));
    if (is_taken_up) {
      return {};
    }
  }
  Connection& connection = reader.connection();
  // Before the position: what is logged in between comes, and is skipped.
  begins_at_.reset();
  const bool is_earlier_there = !std::exchange(is_earlier_gone_, false);
  if (!is_earlier_there && connection.is_mariadb()) {
    begins_at_ = TRY(log_end(connection));
  }
  auto position = TRY(server_position(connection));
  const auto server = TRY(log_server(connection));
  // One group is seen so, by which the log is known again when it is quiet until it is lost.
  tables_.log.begin_at(is_earlier_there ? position.one_earlier(server) : std::move(position));
  is_position_gone_ = false;
  return {};
}

Done LogFollower::begin_stream(const Before& before) {
  auto connection = TRY(open_same_server(login_, identity_));
  // Asked in the session that the log will be read in: behind it is what was begun with its server.
  const auto end = TRY(log_end(connection));
  const std::uint32_t server_id = settings_.server_id.value_or(
      static_cast<std::uint32_t>(0x40000000U + random_() % 0x3FFFFFFFU));
  auto stream =
      TRY(LogStream::begin(std::move(connection),
                           tables_.log.resume_position(),
                           {.server_id = server_id, .place = std::exchange(begins_at_, {})}));
  tables_.log.reconnected({.checksum = stream.checksum(), .end = end}, identity_);
  stream_ = std::make_unique<LogStream>(std::move(stream));
  begin_checkpoints();
  begin_probe(before);
  // A log that stands still would be waited for as long as the server before goes on proving it.
  begin_watch(login_, server_identity);
  return {};
}

void LogFollower::begin_probe(const Before& before) {
  probe_ = std::make_unique<ServerProbe>(
      ServerProbe::Settings{.login = login_,
                            .identity = identity_,
                            .logs_what_it_replicates = before.logs_what_it_replicates,
                            .upheavals = before.upheavals,
                            .standing = before.standing,
                            .clock = clock_,
                            .max_lag = settings_.max_lag,
                            .asking = settings_.asking},
      [this](const ServerProbe::Word& word) {
        if (word.committed) {
          tables_.log.see_committed(*word.committed, word.at.value_or(TimePoint::min()));
        }
        if (word.at) {
          tables_.log.prove(*word.at, word.position, word.place);
        }
      });
}

// --- following ---

Done LogFollower::follow_one(const std::stop_token& stop) {
  const std::optional<std::string_view> event = TRY(stream_->next());
  return event ? apply(*event, stop) : failed("the server ended the log stream");
}

}  // namespace cuckooguard::source::mysql
