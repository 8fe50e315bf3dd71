#include "postgres/log_follower.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <variant>

#include "follow/restore.h"
#include "postgres/slot_name.h"
#include "postgres/table.h"
#include "postgres/table_listing.h"

namespace cuckooguard::source {
namespace {

constexpr std::chrono::milliseconds kStepMax{50};

std::vector<std::string> names_of(std::span<const Target> targets) {
  std::vector<std::string> all;
  for (const Target& target : targets) {
    const auto& tables = target.settings.source.tables;
    all.insert(all.end(), tables.begin(), tables.end());
  }
  return all;
}

void check_tables(PostgresConnection& connection,
                  const PostgresPlace& place,
                  const Target& target,
                  std::vector<Refusal>& all) {
  const auto tables = list_postgres_tables(connection, place, target.settings.source.tables);
  if (!tables) {
    if (const auto* const why = std::get_if<std::string>(&tables.error())) {
      all.push_back({.ns = target.settings.name, .what = *why});
    }
    return;
  }
  for (const std::string& table : *tables) {
    const auto plan = plan_postgres_table(connection, place, target, table);
    if (const auto* const why = plan ? nullptr : std::get_if<std::string>(&plan.error())) {
      all.push_back({.ns = target.settings.name, .table = table, .what = *why});
    }
  }
}

}  // namespace

PostgresFollower::PostgresFollower(PostgresFollowerSettings settings, Feeds feeds, Clock clock)
    : settings_(std::move(settings)),
      clock_(clock),
      names_(names_of(feeds.targets())),
      tables_(std::move(feeds), std::move(clock), settings_.place.schema),
      slot_(settings_.slot) {}

PostgresFollower::~PostgresFollower() = default;

std::chrono::nanoseconds PostgresFollower::step(const std::stop_token& stop) {
  try {
    return stream_ ? follow(stop) : connect(stop);
  } catch (const std::exception& trouble) {  // no memory, say: as if the server were gone
    return lose_in_trouble(trouble.what());
  }
}

void PostgresFollower::finish() {
  loader_.reset();
  checkpoints_.reset();  // writes once more, when what was deleted is seen to be committed
  probe_.reset();
  if (stream_ && keeps_slot()) {
    stream_->confirm(PostgresPosition(pgoutput::Lsn{kept_.load()}));
    static_cast<void>(stream_->tell());  // or it is said the next time
  }
  stream_.reset();
  tables_.log.expire_all();
}

std::vector<Refusal> PostgresFollower::check(const PostgresLogin& login,
                                             const PostgresPlace& place,
                                             std::string_view slot,
                                             std::span<const Target> targets) {
  auto connection = PostgresConnection::open(login);
  if (!connection) {
    if (connection.error().is_refusal()) {  // reached, and not let in
      return {{.ns = "", .what = connection.error().what}};
    }
    return {};
  }
  std::vector<Refusal> all;
  for (const Target& target : targets) {
    check_tables(*connection, place, target, all);
  }
  auto server = ask_server(*connection, place);
  const auto found = find_slot(*connection, slot);
  if (server && found) {
    // That there is none the tables say, with their names in the SQL that makes it.
    server->has_publication = server->has_publication || !all.empty();
    for (std::string& what : refusals(*server, place, found->has_value())) {
      all.push_back({.ns = "", .what = std::move(what)});
    }
  }
  return all;
}

// --- connecting ---

PostgresFollower::Duration PostgresFollower::connect(const std::stop_token& stop) {
  const auto done = try_to_connect(stop);
  if (done || stop.stop_requested()) {
    return Duration::zero();
  }
  return lose(done.error());
}

PostgresFollower::Done PostgresFollower::try_to_connect(const std::stop_token& stop) {
  auto connection = PostgresConnection::open(settings_.login);
  if (!connection) {
    return std::unexpected(connection.error());
  }
  auto replication =
      PostgresConnection::open(settings_.login, PostgresConnection::Purpose::replication);
  if (!replication) {
    return std::unexpected(replication.error());
  }
  const std::stop_callback wake(stop, [&] {
    connection->interrupt();
    replication->interrupt();
  });
  const auto identity = server_identity(*connection);
  if (!identity) {
    return std::unexpected(identity.error());
  }
  const auto slot = find_slot(*connection, settings_.slot);
  if (!slot) {
    return std::unexpected(slot.error());
  }
  if (auto good = check_server(*connection, slot->has_value()); !good) {
    return good;
  }
  if (*identity != identity_) {
    loader_.reset();       // it reads from the one before
    checkpoints_.reset();  // and they are labelled with it
    is_position_gone_ = is_position_gone_ || tables_.log.has_begun();
  }
  identity_ = *identity;
  if (settings_.followed) {
    settings_.followed->is(settings_.login, identity_);
  }
  const std::optional<PostgresSlot>& found = *slot;
  if (found && found->is_active) {
    return postgres_failed("slot " + found->name +
                           " is in use: another guard has it, or a session that has ended is "
                           "still held to be there (wal_sender_timeout)");
  }
  const auto goes_on = found ? can_go_on(*found, *connection) : false;
  if (!goes_on) {
    return std::unexpected(goes_on.error());
  }
  if (!*goes_on) {
    if (auto begun = begin_anew(*connection, *replication, found.has_value()); !begun) {
      return begun;
    }
  }
  return begin_stream(*connection, *std::move(replication));
}

PostgresFollower::Done PostgresFollower::check_server(PostgresConnection& connection,
                                                      bool has_slot) const {
  const auto server = ask_server(connection, settings_.place);
  if (!server) {
    return std::unexpected(server.error());
  }
  std::string why;
  for (const std::string& each : refusals(*server, settings_.place, has_slot)) {
    why += (why.empty() ? "" : "; ") + each;
  }
  if (why.empty()) {
    return {};
  }
  return postgres_refused("the server cannot be followed: " + why);
}

// Where we are, or a checkpoint of a former run is, if the slot has what comes behind it.
std::expected<bool, PostgresError> PostgresFollower::can_go_on(const PostgresSlot& slot,
                                                               PostgresConnection& connection) {
  if (!slot.is_usable || is_position_gone_) {
    return false;
  }
  if (tables_.log.has_begun()) {
    return slot.confirmed <= tables_.log.position().lsn();
  }
  return take_up(slot, connection);
}

std::expected<bool, PostgresError> PostgresFollower::take_up(const PostgresSlot& slot,
                                                             PostgresConnection& connection) {
  if (settings_.storage.directory == nullptr || has_tried_checkpoints_) {
    return false;
  }
  if (auto listed = list_tables(tables_, connection, settings_.place); !listed) {
    return std::unexpected(listed.error());
  }
  auto reader = PostgresReader::open(reader_settings());
  if (!reader) {
    return std::unexpected(reader.error());
  }
  auto restored = Restore<PostgresLog>({.source = settings_.name,
                                        .directory = *settings_.storage.directory,
                                        .observer = *settings_.observer,
                                        .server = identity_,
                                        .is_cluster = false,
                                        .max_lag = settings_.max_lag,
                                        .begins = PostgresPosition(slot.confirmed)},
                                       tables_,
                                       *reader)
                      .take_up();
  has_tried_checkpoints_ = restored.has_value();
  return restored;
}

PostgresFollower::Done PostgresFollower::begin_anew(PostgresConnection& connection,
                                                    PostgresConnection& replication,
                                                    bool has_slot) {
  loader_.reset();
  checkpoints_.reset();  // what it writes is of the slot before
  kept_ = 0;
  has_tried_checkpoints_ = true;
  if (!keeps_slot()) {
    slot_ = temporary_slot_name(settings_.name);
  } else if (has_slot) {
    if (auto dropped = drop_slot(connection, slot_); !dropped) {
      return dropped;
    }
  }
  replication.wait_for_answers(kSlotWaitMax);
  const auto slot = create_slot(replication, connection, slot_, !keeps_slot());
  replication.wait_for_answers(settings_.login.timeout);
  if (!slot) {
    return std::unexpected(slot.error());
  }
  const auto now = current_snapshot(connection);
  if (!now) {
    return std::unexpected(now.error());
  }
  auto unseen = slot->shows.missing_from(*now);
  if (!unseen) {
    return postgres_failed("the snapshot of the new slot shows too much");
  }
  tables_.log.begin_at(PostgresPosition(slot->begins),
                       {{.last = {.end = slot->begins}, .unseen = *std::move(unseen)}});
  is_position_gone_ = false;
  return {};
}

PostgresFollower::Done PostgresFollower::begin_stream(PostgresConnection& connection,
                                                      PostgresConnection replication) {
  const auto now = current_snapshot(connection);
  if (!now) {
    return std::unexpected(now.error());
  }
  auto stream = ReplicationStream::begin(std::move(replication),
                                         {.slot = slot_,
                                          .publication = settings_.place.publication,
                                          .from = tables_.log.position(),
                                          .clock = clock_,
                                          .timeout = settings_.login.timeout});
  if (!stream) {
    is_position_gone_ = is_position_gone_ || is_position_gone(stream.error());
    return std::unexpected(stream.error());
  }
  tables_.log.reconnected({.near = now->xmax}, identity_);
  stream_ = std::make_unique<ReplicationStream>(*std::move(stream));
  begin_checkpoints();
  begin_probe();
  return {};
}

void PostgresFollower::begin_checkpoints() {
  if (settings_.storage.directory == nullptr || !keeps_slot() || checkpoints_) {
    return;
  }
  using Writer = CheckpointWriter<PostgresLog>;
  checkpoints_ = std::make_unique<Writer>(
      Writer::Settings{
          .source = settings_.name,
          .server = identity_,
          .directory = *settings_.storage.directory,
          .every = settings_.storage.checkpoint_every,
          .observer = *settings_.observer,
          .on_kept = [this](const PostgresPosition& position) { kept_ = position.lsn().value; }},
      tables_);
}

void PostgresFollower::begin_probe() {
  const auto is_applied = [this](const PostgresPosition& position) {
    return tables_.log.position().covers(position);
  };
  probe_ = std::make_unique<PostgresProbe>(
      PostgresProbe::Settings{.login = settings_.login,
                              .identity = identity_,
                              .place = settings_.place,
                              .tables = names_,
                              .slot = slot_,
                              .clock = clock_,
                              .max_lag = settings_.max_lag},
      [this, is_applied](const PostgresProbe::Word& word) {
        tables_.log.retains(word.retained);
        tables_.log.see_committed(word.committed);
        tables_.log.prove(word.at, word.position);
        if (!is_applied(word.position)) {
          stream_->ask();
        }
      },
      is_applied);
}

// --- following ---

PostgresFollower::Duration PostgresFollower::follow(const std::stop_token& stop) {
  // A stop waits for it, kStepMax at most: finish() says on the stream what is kept.
  const TimePoint until = clock_() + kStepMax;
  Done done = follow_one(stop);  // first: who may not read the log need not read tables
  if (done) {
    load_what_is_due();
  }
  while (done && clock_() < until && !stop.stop_requested()) {
    done = follow_one(stop);
  }
  if (stop.stop_requested()) {
    return Duration::zero();
  }
  tables_.loads.tend();
  if (const std::string_view why = tables_.log.why_void(); done && !why.empty()) {
    done = postgres_failed(std::string(why));
  }
  if (done && probe_->has_ended()) {
    done = postgres_failed(probe_->why());
  }
  if (done) {
    backoff_.succeeded();
    return Duration::zero();
  }
  is_position_gone_ = is_position_gone_ || is_position_gone(done.error());
  return lose(done.error());
}

PostgresFollower::Done PostgresFollower::follow_one(const std::stop_token& stop) {
  // A session's slot is of no use behind its end: nothing is kept for it.
  stream_->confirm(keeps_slot() ? PostgresPosition(pgoutput::Lsn{kept_.load()})
                                : tables_.log.position());
  const auto next = stream_->next(kStepMax);
  if (!next) {
    return std::unexpected(next.error());
  }
  const std::optional<PostgresEvent>& event = *next;
  if (!event) {
    return {};
  }
  if (const auto applied = tables_.log.apply(*event, stop); !applied) {
    return postgres_failed(applied.error());
  }
  return {};
}

void PostgresFollower::load_what_is_due() {
  if (loader_ && !loader_->has_ended()) {
    return;
  }
  const auto due = tables_.loads.take_due();
  if (due.empty() && !tables_.listing.is_due()) {
    return;
  }
  try {
    loader_ = std::make_unique<TableLoader<PostgresLog>>(reader_settings(), clock_, tables_, due);
  } catch (const std::exception& trouble) {  // no thread, no memory
    for (const TableIndex index : due) {
      tables_.loads.fail(index, trouble.what());
    }
    throw;
  }
}

// --- losing ---

// In memory and in files, so that all is read anew.
void PostgresFollower::forget_position() {
  tables_.log.forget_position();
  is_position_gone_ = true;
  drop_checkpoints();
}

void PostgresFollower::drop_checkpoints() {
  has_tried_checkpoints_ = true;
  loader_.reset();
  checkpoints_.reset();
  if (settings_.storage.directory == nullptr) {
    return;
  }
  if (const auto removed = settings_.storage.directory->remove_filters(settings_.name); !removed) {
    settings_.observer->on_trouble(settings_.name, removed.error());
  }
}

PostgresFollower::Duration PostgresFollower::lose(const PostgresError& error) {
  probe_.reset();
  stream_.reset();
  if (error.is_refusal()) {
    forget_position();
    tables_.log.report_refused(error.what);
  } else {
    if (!tables_.log.why_void().empty()) {
      drop_checkpoints();  // they may be of another log
      is_position_gone_ = true;
    }
    tables_.log.report_lost(error.what);
  }
  return backoff_.next();
}

// There may be no memory to tell of it, either.
PostgresFollower::Duration PostgresFollower::lose_in_trouble(std::string_view why) {
  try {
    return lose({.state = {}, .what = std::string(why)});
  } catch (const std::exception&) {
    return backoff_.next();
  }
}

}  // namespace cuckooguard::source
