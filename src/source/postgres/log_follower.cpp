#include "postgres/log_follower.h"

#include "follow/pause.h"
#include "text/try.h"

namespace cuckooguard::source::postgres {
namespace {

constexpr std::string_view kObjectInUse = "55006";
constexpr std::chrono::milliseconds kSlotLookEvery{20};

std::vector<std::string> names_of(std::span<const Target> targets) {
  std::vector<std::string> all;
  for (const Target& target : targets) {
    const auto& tables = target.settings.source.tables;
    all.insert(all.end(), tables.begin(), tables.end());
  }
  return all;
}

// A setting of the database counts for sessions that begin behind it.
Expected<std::string> identity_if_written_to(Connection& connection) {
  const auto read_only = TRY(connection.value("SHOW default_transaction_read_only"));
  if (std::string why = why_left(read_only.value_or(""), ""); !why.empty()) {
    return refused(std::move(why));
  }
  return server_identity(connection);
}

}  // namespace

LogFollower::LogFollower(LogFollowerSettings settings, Feeds feeds, Clock clock)
    : ServerFollower(std::move(settings), std::move(feeds), std::move(clock)),
      names_(names_of(tables_.targets())),
      slot_(settings_.slot) {}

LogFollower::~LogFollower() {
  end();
}

void LogFollower::leave_stream() {
  if (stream_ && keeps_slot()) {
    leave_slot();
  }
  stream_.reset();
}

void LogFollower::leave_slot() {
  if (!lets_go_) {
    stream_->confirm(LogPosition(pgoutput::Lsn{kept_->load()}));
    static_cast<void>(stream_->tell());  // or it is said the next time
    return;
  }
  stream_.reset();
  auto connection = open_same_server(settings_.login, identity_);
  auto dropped =
      connection ? drop_slot(*connection, slot_) : std::unexpected(std::move(connection.error()));
  // The server notices in its own time that the stream has ended.
  for (const TimePoint until = clock_() + settings_.login.timeout;
       !dropped && dropped.error().state == kObjectInUse && clock_() < until;) {
    pause_for(kSlotLookEvery, std::stop_token{});
    dropped = drop_slot(*connection, slot_);
  }
  if (!dropped && settings_.observer != nullptr) {
    settings_.observer->on_trouble(
        settings_.name,
        "slot " + slot_ +
            " was left on the server and retains its WAL: drop it (cuckooguard slot drop); " +
            dropped.error().what);
  }
}

std::vector<Refusal> LogFollower::check(const Login& login,
                                        const Place& place,
                                        std::string_view slot,
                                        std::span<const Target> targets) {
  auto connection = Connection::open(login);
  if (!connection) {
    if (connection.error().is_refusal()) {  // reached, and not let in
      return {{.ns = "", .what = connection.error().what}};
    }
    return {};
  }
  std::vector<Refusal> all;
  TableReader reader(*std::move(connection), {.place = place});
  for (const Target& target : targets) {
    check_tables(reader, target, all);
  }
  const auto refuse = [&all](const Error& error) {
    if (error.is_refusal()) {
      all.push_back({.ns = "", .what = error.what});
    }
  };
  auto asked = ask_all(reader.connection(), place, slot);
  if (!asked) {
    refuse(asked.error());
    return all;
  }
  // That there is none the tables say, with their names in the SQL that makes it.
  asked->server.has_publication = asked->server.has_publication || !all.empty();
  auto why_not = refusals(asked->server, place, asked->slot.has_value());
  for (std::string& what : why_not) {
    all.push_back({.ns = "", .what = std::move(what)});
  }
  // Last: what the server lacks for it is said already, in better words.
  const auto replication = why_not.empty()
                               ? Connection::open(login, Connection::Purpose::replication)
                               : std::unexpected(Error{});
  if (!replication) {
    refuse(replication.error());
  }
  return all;
}

// --- connecting ---

LogFollower::Duration LogFollower::connect(const std::stop_token& stop) {
  const auto done = try_to_connect(stop);
  if (done || stop.stop_requested()) {
    return Duration::zero();
  }
  return lose(done.error());
}

Done LogFollower::try_to_connect(const std::stop_token& stop) {
  auto connection = TRY(Connection::open(settings_.login));
  auto replication = TRY(Connection::open(settings_.login, Connection::Purpose::replication));
  // The stream takes the session over while it begins.
  const std::stop_callback wake(
      stop, [one = connection.interruption(), other = replication.interruption()] {
        one();
        other();
      });
  const auto streams = TRY(server_identity(replication));  // an address may lead to several
  const auto asked = TRY(ask_all(connection, settings_.place, settings_.slot));
  if (streams != asked.identity) {
    return failed("the address leads to several servers");
  }
  TRY(check_server(asked));
  if (asked.identity != identity_) {
    TRY(turn_to(asked.identity));
    loader_.reset();  // it reads from the one before
    reader_ = 0;
  }
  if (timeline_of(asked.identity) != log_identity()) {
    checkpoints_.reset();  // they are labelled with the one before
    is_position_gone_ = is_position_gone_ || tables_.log.has_begun();
  }
  is_followed(settings_.login, asked.identity);
  const std::optional<Slot>& found = asked.slot;
  if (found && found->is_active) {
    return std::unexpected(end_reader(connection, *found));
  }
  if (!TRY(found ? can_go_on(*found) : false)) {
    TRY(begin_anew(connection, replication, found.has_value()));
  }
  return begin_stream(connection, std::move(replication));
}

// One that was cut off from us, and does not know yet.
Error LogFollower::end_reader(Connection& connection, const Slot& slot) const {
  if (slot.reader == reader_ && reader_ != 0) {
    if (auto ended = connection.run("SELECT pg_terminate_backend(" + std::to_string(reader_) + ")");
        ended) {
      return {.state = {},
              .what =
                  "the server still had the guard's previous connection on the slot, which has now "
                  "been terminated"};
    }
  }
  return {.state = {},
          .what = "slot " + slot.name +
                  " is in use: by another guard, or by a session that has ended but that the "
                  "server still considers alive (wal_sender_timeout)"};
}

Expected<LogFollower::Asked> LogFollower::ask_all(Connection& connection,
                                                  const Place& place,
                                                  std::string_view slot) {
  auto identity = TRY(server_identity(connection));
  auto found = TRY(find_slot(connection, slot));
  auto server = TRY(ask_server(connection, place));
  return Asked{
      .identity = std::move(identity), .server = std::move(server), .slot = std::move(found)};
}

Done LogFollower::check_server(const Asked& asked) const {
  // Our position in its log is not in doubt for that: who has one keeps it, and asks again.
  const Server& server = asked.server;
  if (std::string left = why_left(server.read_only, server.synchronous_standbys);
      !left.empty() && !server.hides_read_only && tables_.log.has_begun()) {
    return failed(std::move(left));
  }
  return judge(refusals(server, settings_.place, asked.slot.has_value()));
}

// Where we are, or a checkpoint of a former run is, if the slot has what comes behind it.
Expected<bool> LogFollower::can_go_on(const Slot& slot) {
  if (!slot.is_usable || is_position_gone_) {
    return false;
  }
  if (tables_.log.has_begun()) {
    return tables_.log.can_resume() && slot.confirmed <= tables_.log.resume_position().lsn();
  }
  if (!may_take_up()) {
    return false;
  }
  auto reader = TRY(TableReader::open(reader_settings()));
  return take_up(reader, false, LogPosition(slot.confirmed));
}

Done LogFollower::begin_anew(Connection& connection, Connection& replication, bool has_slot) {
  loader_.reset();
  checkpoints_.reset();  // what it writes is of the slot before
  *kept_ = 0;
  has_tried_checkpoints_ = true;
  if (!keeps_slot()) {
    slot_ = temporary_slot_name(settings_.name);
  } else if (has_slot) {
    TRY(drop_slot(connection, slot_));
  }
  replication.wait_for_answers(kSlotWaitMax);
  auto created = create_slot(replication, connection, slot_, !keeps_slot());
  replication.wait_for_answers(settings_.login.timeout);
  const auto slot = TRY(std::move(created));
  const auto now = TRY(current_snapshot(connection));
  auto unseen = slot.shows.missing_from(now);
  if (!unseen) {
    return failed("the snapshot of the new slot shows too many transactions");
  }
  tables_.log.begin_at(LogPosition(slot.begins),
                       {{.last = {.end = slot.begins}, .unseen = *std::move(unseen)}});
  is_position_gone_ = false;
  return {};
}

Done LogFollower::begin_stream(Connection& connection, Connection replication) {
  const auto now = TRY(current_snapshot(connection));
  const std::uint64_t process = replication.server_process();
  auto stream = LogStream::begin(std::move(replication),
                                 {.slot = slot_,
                                  .publication = settings_.place.publication,
                                  .from = tables_.log.resume_position(),
                                  .clock = clock_,
                                  .timeout = settings_.login.timeout});
  if (!stream) {
    is_position_gone_ = is_position_gone_ || is_position_gone(stream.error());
    return std::unexpected(stream.error());
  }
  reader_ = process;
  tables_.log.reconnected({.near = now.xmax}, log_identity());
  stream_ = std::make_unique<LogStream>(*std::move(stream));
  if (keeps_slot()) {
    begin_checkpoints(
        [kept = kept_](const LogPosition& position) { *kept = position.lsn().value; });
  }
  begin_probe();
  begin_watch(settings_.login, identity_if_written_to);
  return {};
}

bool LogFollower::needs_transaction(std::uint64_t retained) {
  if (!keeps_slot()) {
    return false;
  }
  if (tables_.checkpoints.needs_group() || tables_.loads.ask_applier([](const LogApplier& applier) {
        return applier.needs_transaction(kLogBetweenMax);
      })) {
    return true;
  }
  const TimePoint now = clock_();
  if (retained <= kRetainedMax || now - written_again_at_ < kWrittenAgain) {
    return false;
  }
  written_again_at_ = now;
  return true;
}

// A session's slot is of no use behind its end: nothing is kept for it.
LogPosition LogFollower::confirmed() const {
  if (!keeps_slot() || (may_not_write_ && tables_.loads.ask_applier([](const LogApplier& applier) {
        return applier.needs_transaction(kLogKeptMax);
      }))) {
    return tables_.log.position();
  }
  return LogPosition(pgoutput::Lsn{kept_->load()});
}

void LogFollower::begin_probe() {
  const auto is_applied = [this](const LogPosition& position) {
    return tables_.log.position().covers(position);
  };
  probe_ = std::make_unique<ServerProbe>(
      ServerProbe::Settings{
          .login = settings_.login,
          .identity = identity_,
          .place = settings_.place,
          .tables = names_,
          .slot = slot_,
          .clock = clock_,
          .max_lag = settings_.max_lag,
          .asking = settings_.asking,
          .needs_transaction =
              [this](std::uint64_t retained) { return needs_transaction(retained); }},
      [this, is_applied](const ServerProbe::Word& word) {
        heard(word);
        if (!is_applied(word.position)) {
          stream_->ask();
        }
      },
      is_applied);
}

void LogFollower::heard(const ServerProbe::Word& word) {
  tables_.log.retains(word.retained);
  tables_.log.took_transactions(word.transactions, word.at);
  tables_.log.see_committed(word.committed);
  tables_.listing.see_all(
      [&](const std::string& table) { return word.committed.fingerprints->contains(table); });
  tables_.log.prove(word.at, word.position);
  may_not_write_ = !word.why_not_flushed.empty();
  if (word.why_not_flushed == why_not_flushed_) {
    return;
  }
  why_not_flushed_ = word.why_not_flushed;
  tables_.log.remark(why_not_flushed_);
  if (!why_not_flushed_.empty() && settings_.observer != nullptr) {
    settings_.observer->on_trouble(settings_.name, why_not_flushed_);
  }
}

// --- following ---

Done LogFollower::follow_one(const std::stop_token& stop) {
  stream_->confirm(confirmed());
  const std::optional<LogEvent> event = TRY(stream_->next(kStepMax));
  return event ? apply(*event, stop) : Done();
}

}  // namespace cuckooguard::source::postgres
