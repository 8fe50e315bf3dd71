#include "source/log_follower.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

#include "source/read_view.h"

namespace cuckooguard::source {
namespace {

constexpr std::chrono::milliseconds kStepMax{50};
constexpr std::uint64_t kRowsPerStopCheck = 4096;
constexpr unsigned kStopped = 2013;  // CR_SERVER_LOST: what an interrupted wait gives, too

MysqlError stopped() {
  return {.code = kStopped, .what = "stopped"};
}

}  // namespace

using filter::State;

LogFollower::LogFollower(LogFollowerSettings settings, std::vector<Feed> feeds, Clock clock)
    : settings_(std::move(settings)), clock_(std::move(clock)), random_(std::random_device{}()) {
  for (Feed& feed : feeds) {
    tables_.emplace_back(std::move(feed));
  }
}

LogFollower::~LogFollower() = default;

std::chrono::nanoseconds LogFollower::step(const std::stop_token& stop) {
  try {
    return stream_ ? follow(stop) : connect(stop);
  } catch (const std::exception& trouble) {  // no memory, say: as if the server were gone
    return lose(trouble.what());
  }
}

void LogFollower::finish() {
  probe_.reset();
  for (Followed& followed : tables_) {
    followed.feed.expire();
  }
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
      const auto plan = plan_mysql_table(*connection, target);
      if (const auto* const why = plan ? nullptr : std::get_if<std::string>(&plan.error())) {
        all.push_back({.ns = target.settings.name, .what = *why});
      }
    }
    return all;
  }
  return all;
}

// --- connecting ---

LogFollower::Duration LogFollower::connect(const std::stop_token& stop) {
  std::string why;
  for (const MysqlLogin& login : settings_.logins) {
    const auto done = connect_to(login, stop);
    if (done || stop.stop_requested()) {
      return Duration::zero();
    }
    why = done.error().what;
  }
  return lose(why);
}

LogFollower::Done LogFollower::connect_to(const MysqlLogin& login, const std::stop_token& stop) {
  login_ = login;
  if (applier_) {
    auto resumed = begin_stream(login);
    if (resumed || !is_position_gone(resumed.error())) {
      return resumed;
    }
    status_.has_no_position();
    applier_.reset();  // the log does not reach back to us: all anew
  }
  std::vector<Followed*> all;
  for (Followed& followed : tables_) {
    followed.is_in_step = false;
    followed.feed.expire();
    all.push_back(&followed);
  }
  if (auto done = read(all, stop); !done) {
    return done;
  }
  return begin_stream(login);
}

LogFollower::Done LogFollower::begin_stream(const MysqlLogin& login) {
  auto connection = MysqlConnection::open(login);
  if (!connection) {
    return std::unexpected(connection.error());
  }
  const auto identity = server_identity(*connection);
  if (!identity) {
    return std::unexpected(identity.error());
  }
  const std::uint32_t server_id = settings_.server_id.value_or(
      static_cast<std::uint32_t>(0x40000000U + random_() % 0x3FFFFFFFU));
  auto stream =
      LogStream::begin(*std::move(connection), applier_->position(), {.server_id = server_id});
  if (!stream) {
    return std::unexpected(stream.error());
  }
  {
    const std::scoped_lock lock(applying_);
    applier_->reconnected(stream->checksum());
  }
  stream_ = std::make_unique<LogStream>(*std::move(stream));
  losses_ = 0;
  status_.following();
  probe_ = std::make_unique<ServerProbe>(
      ServerProbe::Settings{.login = login,
                            .identity = *identity,
                            .clock = clock_,
                            .every = settings_.max_lag / config::kPollsPerMaxLag},
      [this](TimePoint at, const LogPosition& position) { on_position(at, position); });
  return {};
}

// --- reading tables ---

// What is read is what the database held at one moment: the log joins there.
LogFollower::Done LogFollower::read(const std::vector<Followed*>& chosen,
                                    const std::stop_token& stop) {
  auto connection = MysqlConnection::open(login_);
  if (!connection) {
    return std::unexpected(connection.error());
  }
  const auto server = ask_server(*connection);
  if (!server) {
    return std::unexpected(server.error());
  }
  if (refuses(*server)) {
    return std::unexpected(MysqlError{.code = 0, .what = "the server cannot be followed"});
  }
  for (Followed* const followed : chosen) {
    if (auto done = plan(*followed, *connection); !done) {
      return done;
    }
  }
  const auto position = open_mariadb_view(*connection);
  if (!position) {
    return std::unexpected(position.error());
  }
  for (const Followed* const followed : chosen) {
    if (auto same = is_as_planned(*followed, *connection); !same) {
      return same;
    }
  }
  for (Followed* const followed : chosen) {
    if (followed->table != nullptr) {
      followed->feed.snapshot_begins(clock_());
      if (auto done = read_table(*followed, *connection, stop); !done) {
        return done;
      }
    }
  }
  const std::scoped_lock lock(applying_);
  if (!applier_) {
    applier_ = std::make_unique<LogApplier>(
        *position,
        [this](FollowedTable& table, std::string_view why) { put_out_of_step(table, why); });
    status_.moved_to(applier_->position());
  }
  for (Followed* const followed : chosen) {
    if (followed->table != nullptr) {
      followed->joins_at = *position;
    }
  }
  join_those_due();
  return {};
}

bool LogFollower::refuses(const MysqlServer& server) {
  const auto all = refusals(server);
  if (all.empty()) {
    return false;
  }
  std::string why;
  for (const std::string& each : all) {
    why += (why.empty() ? "" : "; ") + each;
  }
  report_all(State::unsynced, why);
  return true;
}

LogFollower::Done LogFollower::plan(Followed& followed, MysqlConnection& connection) {
  followed.table.reset();
  followed.joins_at.reset();
  auto plan = plan_mysql_table(connection, followed.feed.target());
  if (!plan) {
    if (const auto* const why = std::get_if<std::string>(&plan.error())) {
      followed.feed.refuse(*why);
      followed.read_again_at = clock_() + kRefusedPause;
      return {};
    }
    return std::unexpected(std::get<MysqlError>(plan.error()));
  }
  followed.plan = *std::move(plan);
  followed.rows = std::make_unique<LogFeed>(followed.feed, followed.plan);
  followed.table = std::make_unique<FollowedTable>(followed.plan, *followed.rows);
  return {};
}

// A definition that has changed before the view is one that the log behind it does not speak of.
LogFollower::Done LogFollower::is_as_planned(const Followed& followed,
                                             MysqlConnection& connection) {
  if (followed.table == nullptr) {
    return {};
  }
  const auto now = plan_mysql_table(connection, followed.feed.target());
  if (now && *now == followed.plan) {
    return {};
  }
  return std::unexpected(MysqlError{
      .code = 0, .what = "the definition of table `" + followed.plan.name + "` has just changed"});
}

LogFollower::Done LogFollower::read_table(Followed& followed,
                                          MysqlConnection& connection,
                                          const std::stop_token& stop) {
  const auto count = connection.value(
      "SELECT table_rows FROM information_schema.tables WHERE table_schema = DATABASE() AND "
      "table_name = '" +
      connection.escaped(followed.plan.name) + "'");
  if (!count) {
    return std::unexpected(count.error());
  }
  const std::uint64_t expected = std::strtoull(count->value_or("0").c_str(), nullptr, 10);
  const auto deletes =
      followed.plan.identity_is_unique ? filter::DeleteMode::trusted : filter::DeleteMode::deferred;
  auto intake = Feed::Intake::too_small;
  while (intake == Feed::Intake::too_small) {
    intake = followed.feed.begin(expected, deletes);
    if (intake == Feed::Intake::taken) {
      const auto read = read_rows(followed, connection, stop);
      if (!read) {
        return std::unexpected(read.error());
      }
      intake = *read;
    }
  }
  if (intake == Feed::Intake::refused) {
    followed.table.reset();
    followed.read_again_at = clock_() + kRefusedPause;
  }
  return {};
}

std::expected<Feed::Intake, MysqlError> LogFollower::read_rows(Followed& followed,
                                                               MysqlConnection& connection,
                                                               const std::stop_token& stop) {
  auto rows = connection.stream(followed.plan.select_sql());
  if (!rows) {
    return std::unexpected(rows.error());
  }
  for (std::uint64_t n = 1;; ++n) {
    const auto next = rows->next();
    if (!next) {
      return std::unexpected(next.error());
    }
    const std::optional<MysqlRow> row = *next;
    if (!row) {
      return followed.feed.complete();
    }
    if (const auto intake = followed.rows->load_row(*row); intake != Feed::Intake::taken) {
      return intake;
    }
    if (n % kRowsPerStopCheck == 0 && stop.stop_requested()) {
      return std::unexpected(stopped());
    }
  }
}

// --- following ---

LogFollower::Duration LogFollower::follow(const std::stop_token& stop) {
  Done done;
  {
    // Gone, and not running any more, before anybody lets go of the stream.
    const std::stop_callback wake(stop, [this] { stream_->interrupt(); });
    const TimePoint until = clock_() + kStepMax;  // heartbeats come in between
    while (done && clock_() < until && !stop.stop_requested()) {
      done = follow_one();
    }
  }
  if (stop.stop_requested()) {
    return Duration::zero();
  }
  if (done) {
    done = read_again(stop);
  }
  return done ? Duration::zero() : lose(done.error().what);
}

LogFollower::Done LogFollower::follow_one() {
  const auto next = stream_->next();
  if (!next) {
    return std::unexpected(next.error());
  }
  const std::optional<std::string_view> event = *next;
  if (!event) {
    return std::unexpected(MysqlError{.code = kStopped, .what = "the server has ended its log"});
  }
  const std::scoped_lock lock(applying_);
  const auto applied = applier_->apply(*event);
  if (!applied) {
    return std::unexpected(MysqlError{.code = kStopped, .what = applied.error()});
  }
  if (*applied) {
    status_.moved_to(applier_->position());
    join_those_due();
  }
  return {};
}

// With `applying_` held.
void LogFollower::join_those_due() {
  for (Followed& followed : tables_) {
    if (followed.joins_at && applier_->position().covers(*followed.joins_at)) {
      followed.joins_at.reset();
      followed.is_in_step = true;
      applier_->join(*followed.table);
    }
  }
}

// With `applying_` held.
void LogFollower::put_out_of_step(FollowedTable& table, std::string_view why) {
  const auto found = std::ranges::find_if(
      tables_, [&table](const Followed& followed) { return followed.table.get() == &table; });
  found->is_in_step = false;
  found->feed.expire();
  found->feed.report(State::loading, why);
  // Not all guards of a database at once.
  found->read_again_at = clock_() + Duration(std::uniform_int_distribution<Duration::rep>(
                                        0, Duration(kRereadDelayMax).count())(random_));
}

LogFollower::Done LogFollower::read_again(const std::stop_token& stop) {
  const TimePoint now = clock_();
  for (Followed& followed : tables_) {
    if (!followed.is_in_step && !followed.joins_at && now >= followed.read_again_at) {
      return read({&followed}, stop);  // one at a time
    }
  }
  return {};
}

void LogFollower::on_position(TimePoint at, const LogPosition& position) {
  const std::scoped_lock lock(applying_);
  if (!applier_->position().covers(position)) {
    return;
  }
  status_.proven(at);
  for (Followed& followed : tables_) {
    if (followed.is_in_step) {
      followed.feed.prove(at);
    }
  }
}

// --- losing ---

LogFollower::Duration LogFollower::lose(std::string_view why) {
  probe_.reset();
  stream_.reset();
  status_.lost(why);
  if (!applier_) {
    report_all(State::down, why);
  } else {
    for (Followed& followed : tables_) {
      followed.feed.report_unless_refused(State::down, why);
    }
  }
  const Duration longest =
      std::min<Duration>(Duration(kBackoffMin) * (1 << std::min(losses_, 20)), kBackoffMax);
  ++losses_;
  return longest / 2 +
         Duration(std::uniform_int_distribution<Duration::rep>(0, (longest / 2).count())(random_));
}

void LogFollower::report_all(State state, std::string_view why) {
  for (Followed& followed : tables_) {
    followed.feed.expire();
    followed.feed.report(state, why);
  }
}

}  // namespace cuckooguard::source
