#include "source/log_follower.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

#include "source/mysql_server.h"
#include "source/mysql_table.h"
#include "source/mysql_tables.h"
#include "source/restore.h"
#include "source/table_listing.h"

namespace cuckooguard::source {
namespace {

constexpr std::chrono::milliseconds kStepMax{50};

void check_tables(MysqlConnection& connection, const Target& target, std::vector<Refusal>& all) {
  const auto tables = list_mysql_tables(connection, target.settings.source.tables);
  if (!tables) {
    if (const auto* const why = std::get_if<std::string>(&tables.error())) {
      all.push_back({.ns = target.settings.name, .what = *why});
    }
    return;
  }
  for (const std::string& table : *tables) {
    const auto plan = plan_mysql_table(connection, target, table);
    if (const auto* const why = plan ? nullptr : std::get_if<std::string>(&plan.error())) {
      all.push_back({.ns = target.settings.name, .what = *why});
    }
  }
}

}  // namespace

using filter::State;

LogFollower::LogFollower(LogFollowerSettings settings, Feeds feeds, Clock clock)
    : settings_(std::move(settings)),
      clock_(clock),
      random_(std::random_device{}()),
      tables_(std::move(feeds), std::move(clock), settings_.logins.front().database) {}

LogFollower::~LogFollower() = default;

std::chrono::nanoseconds LogFollower::step(const std::stop_token& stop) {
  try {
    return stream_ ? follow(stop) : connect(stop);
  } catch (const std::exception& trouble) {  // no memory, say: as if the server were gone
    return lose_in_trouble(trouble.what());
  }
}

void LogFollower::finish() {
  probe_.reset();
  loader_.reset();
  checkpoints_.reset();  // writes once more
  tables_.expire_all();
}

std::vector<Refusal> LogFollower::check(const LogFollowerSettings& settings,
                                        std::span<const Target> targets) {
  std::vector<Refusal> all;
  for (const MysqlLogin& login : settings.logins) {
    auto connection = MysqlConnection::open(login);
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
    for (const Target& target : targets) {
      check_tables(*connection, target, all);
    }
    return all;
  }
  return all;
}

// --- connecting ---

LogFollower::Duration LogFollower::connect(const std::stop_token& stop) {
  std::string why;
  for (const MysqlLogin& login : settings_.logins) {
    const auto done = connect_to(login);
    if (done || stop.stop_requested()) {
      return Duration::zero();
    }
    why = done.error().what;
  }
  return lose(why);
}

LogFollower::Done LogFollower::connect_to(const MysqlLogin& login) {
  auto connection = MysqlConnection::open(login);
  if (!connection) {
    return std::unexpected(connection.error());
  }
  if (auto good = check_server(*connection); !good) {
    return good;
  }
  const auto identity = server_identity(*connection);
  if (!identity) {
    return std::unexpected(identity.error());
  }
  if (*identity != identity_) {
    loader_.reset();       // it reads from the one before
    checkpoints_.reset();  // and they are labelled with it
    if (auto decided = decide_whether_it_goes_on(*connection); !decided) {
      return decided;
    }
  }
  identity_ = *identity;
  login_ = login;
  if (settings_.followed) {
    settings_.followed->is(login, identity_);
  }
  if (!tables_.has_begun() || is_position_gone_) {
    if (auto begun = begin_anew(*connection); !begun) {
      return begun;
    }
  }
  return begin_stream(login);
}

// Another server goes on with our position only if it is one of the same cluster, and has all that we have:
// one that was made the primary without the last transactions has others in their place.
LogFollower::Done LogFollower::decide_whether_it_goes_on(MysqlConnection& connection) {
  if (!tables_.has_begun() || is_position_gone_) {
    return {};
  }
  const auto position = server_position(connection);
  if (!position) {
    return std::unexpected(position.error());
  }
  is_position_gone_ = settings_.logins.size() == 1 || !position->covers(tables_.position());
  return {};
}

LogFollower::Done LogFollower::check_server(MysqlConnection& connection) {
  const auto server = ask_server(connection);
  if (!server) {
    return std::unexpected(server.error());
  }
  std::string why;
  for (const std::string& each : refusals(*server)) {
    why += (why.empty() ? "" : "; ") + each;
  }
  if (why.empty()) {
    return {};
  }
  tables_.report_all(State::unsynced, why);
  return failed("the server cannot be followed: " + why);
}

// Behind the checkpoints of a former run, if they can be used.
std::expected<bool, MysqlError> LogFollower::take_up(MysqlConnection& connection) {
  if (settings_.storage.directory == nullptr || has_tried_checkpoints_) {
    return false;
  }
  if (auto listed = list_tables(tables_, connection); !listed) {
    return std::unexpected(listed.error());
  }
  auto restored = restore({.source = settings_.name,
                           .directory = *settings_.storage.directory,
                           .observer = *settings_.observer,
                           .server = identity_,
                           .is_cluster = settings_.logins.size() > 1,
                           .max_lag = settings_.max_lag},
                          tables_,
                          connection);
  has_tried_checkpoints_ = restored.has_value();
  return restored;
}

LogFollower::Done LogFollower::begin_anew(MysqlConnection& connection) {
  loader_.reset();
  const auto taken_up = take_up(connection);
  if (!taken_up) {
    return std::unexpected(taken_up.error());
  }
  if (*taken_up) {
    return {};
  }
  auto position = server_position(connection);
  if (!position) {
    return std::unexpected(position.error());
  }
  tables_.begin_at(*std::move(position));
  is_position_gone_ = false;
  return {};
}

LogFollower::Done LogFollower::begin_stream(const MysqlLogin& login) {
  auto connection = open_same_server(login, identity_);
  if (!connection) {
    return std::unexpected(connection.error());
  }
  const std::uint32_t server_id = settings_.server_id.value_or(
      static_cast<std::uint32_t>(0x40000000U + random_() % 0x3FFFFFFFU));
  auto stream =
      LogStream::begin(*std::move(connection), tables_.position(), {.server_id = server_id});
  if (!stream) {
    return std::unexpected(stream.error());
  }
  tables_.reconnected(stream->checksum());
  stream_ = std::make_unique<LogStream>(*std::move(stream));
  if (settings_.storage.directory != nullptr && !checkpoints_) {
    checkpoints_ = std::make_unique<CheckpointWriter>(
        CheckpointWriter::Settings{.source = settings_.name,
                                   .server = identity_,
                                   .directory = *settings_.storage.directory,
                                   .every = settings_.storage.checkpoint_every,
                                   .observer = *settings_.observer,
                                   .clock = clock_},
        tables_);
  }
  probe_ = std::make_unique<ServerProbe>(
      ServerProbe::Settings{
          .login = login, .identity = identity_, .clock = clock_, .max_lag = settings_.max_lag},
      [this](TimePoint at, const LogPosition& position) { tables_.prove(at, position); });
  return {};
}

// --- following ---

LogFollower::Duration LogFollower::follow(const std::stop_token& stop) {
  Done done;
  {
    // Gone, and not running any more, before anybody lets go of the stream.
    const std::stop_callback wake(stop, [this] { stream_->interrupt(); });
    load_what_is_due();
    const TimePoint until = clock_() + kStepMax;  // heartbeats come in between
    while (done && clock_() < until && !stop.stop_requested()) {
      done = follow_one(stop);
    }
  }
  if (stop.stop_requested()) {
    return Duration::zero();
  }
  tables_.tend();
  if (const std::string_view why = tables_.why_void(); done && !why.empty()) {
    done = failed(std::string(why));
  }
  if (done) {
    backoff_.succeeded();
    return Duration::zero();
  }
  is_position_gone_ = is_position_gone_ || is_position_gone(done.error());
  return lose(done.error().what);
}

LogFollower::Done LogFollower::follow_one(const std::stop_token& stop) {
  const auto next = stream_->next();
  if (!next) {
    return std::unexpected(next.error());
  }
  const std::optional<std::string_view> event = *next;
  if (!event) {
    return failed("the server has ended its log");
  }
  if (const auto applied = tables_.apply(*event, stop); !applied) {
    return failed(applied.error());
  }
  return {};
}

void LogFollower::load_what_is_due() {
  if (loader_ && !loader_->has_ended()) {
    return;
  }
  const auto due = tables_.take_due();
  if (due.empty() && !tables_.is_listing_due()) {
    return;
  }
  try {
    loader_ = std::make_unique<TableLoader>(TableLoader::Settings{.login = login_,
                                                                  .identity = identity_,
                                                                  .open_view = settings_.open_view,
                                                                  .clock = clock_},
                                            tables_,
                                            due);
  } catch (const std::exception& trouble) {  // no thread, no memory
    for (const TableSet::Index index : due) {
      tables_.fail(index, trouble.what());
    }
    throw;
  }
}

// --- losing ---

LogFollower::Duration LogFollower::lose(std::string_view why) {
  probe_.reset();
  stream_.reset();
  is_position_gone_ = is_position_gone_ || !tables_.why_void().empty();
  tables_.report_lost(why);
  return backoff_.next();
}

// There may be no memory to tell of it, either.
LogFollower::Duration LogFollower::lose_in_trouble(std::string_view why) {
  try {
    return lose(why);
  } catch (const std::exception&) {
    return backoff_.next();
  }
}

}  // namespace cuckooguard::source
