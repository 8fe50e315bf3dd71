#include "source/source.h"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "config/table_pattern.h"
#include "source/feeds.h"
#include "source/file_origin.h"
#include "source/log_follower.h"
#include "source/rescan.h"
#include "source/row_lookup.h"
#include "source/source_thread.h"
#include "source/sqlite_log_follower.h"
#include "source/sqlite_origin.h"

namespace cuckooguard::source {
namespace {

// A look is one stat: 100 per second are no load.
constexpr std::chrono::nanoseconds kFilePollMost = std::chrono::milliseconds(10);
constexpr int kFilePollsPerMaxLag = 10;

struct CheckedOrigin {
  std::unique_ptr<Origin> origin;
  std::vector<Refusal> refusals;
  std::chrono::nanoseconds poll_every;
};

struct Asked {
  std::span<const Target> targets;
  const Clock& clock;
  std::chrono::nanoseconds max_lag;
};

CheckedOrigin open_origin(const config::SqliteSource& settings, const Asked& asked) {
  auto origin = std::make_unique<SqliteOrigin>(settings.path);
  auto refusals = origin->check(asked.targets);
  return {.origin = std::move(origin),
          .refusals = std::move(refusals),
          .poll_every = settings.poll_every};
}

CheckedOrigin open_origin(const config::FileSource& settings, const Asked& asked) {
  auto origin = std::make_unique<FileOrigin>(settings, asked.clock);
  auto refusals = origin->check(asked.targets);
  return {.origin = std::move(origin),
          .refusals = std::move(refusals),
          .poll_every = std::min(kFilePollMost, asked.max_lag / kFilePollsPerMaxLag)};
}

struct Making {
  std::span<const Target> targets;
  Observer& observer;
  Clock clock;
  std::chrono::nanoseconds max_lag;
  std::string name;
  Storage storage;
};

struct Parts {
  std::unique_ptr<Follower> follower;
  std::unique_ptr<RowLookup> rows{};
};
using Made = std::expected<Parts, std::vector<Refusal>>;

std::vector<Target> targets_of(const Making& making) {
  return {making.targets.begin(), making.targets.end()};
}

Feeds feeds_of(const Making& making) {
  return {making.targets, making.observer, making.clock, making.max_lag};
}

// Files, and SQLite unless its triggers tell, are read again whenever they have changed.
template <class Settings>
Made make_rescan(const Settings& settings, Making&& making, std::unique_ptr<RowLookup> rows) {
  auto checked = open_origin(
      settings, {.targets = making.targets, .clock = making.clock, .max_lag = making.max_lag});
  if (!checked.refusals.empty()) {
    return std::unexpected(std::move(checked.refusals));
  }
  return Parts{.follower = std::make_unique<Rescan>(
                   std::move(checked.origin),
                   feeds_of(making),
                   making.clock,
                   RescanTiming{.max_lag = making.max_lag, .poll_every = checked.poll_every}),
               .rows = std::move(rows)};
}

std::vector<Refusal> refuse_patterns(const Making& making) {
  std::vector<Refusal> refusals;
  for (const Target& target : making.targets) {
    for (const std::string& table : target.settings.source.tables) {
      if (config::is_table_pattern(table)) {
        refusals.push_back({.ns = target.settings.name,
                            .what = "table: " + table +
                                    " is a pattern, which this type of source cannot follow yet; "
                                    "name the tables in a list"});
      }
    }
  }
  return refusals;
}

Made make_follower(const config::FileSource& settings, Making&& making) {
  return make_rescan(settings, std::move(making), nullptr);
}

Made make_follower(const config::SqliteSource& settings, Making&& making) {
  auto rows = make_sqlite_row_lookup(settings.path, targets_of(making));
  if (settings.follow == config::Follow::rescan) {
    return make_rescan(settings, std::move(making), std::move(rows));
  }
  SqliteLogSettings following{.path = settings.path,
                              .install_triggers = settings.install_triggers,
                              .poll_every = settings.poll_every};
  if (auto refusals = refuse_patterns(making); !refusals.empty()) {
    return std::unexpected(std::move(refusals));
  }
  auto refusals = SqliteLogFollower::check(following, making.targets);
  if (!refusals.empty()) {
    return std::unexpected(std::move(refusals));
  }
  return Parts{.follower = std::make_unique<SqliteLogFollower>(
                   std::move(following), feeds_of(making), making.clock),
               .rows = std::move(rows)};
}

Made make_follower(const config::MysqlSource& settings, Making&& making) {
  LogFollowerSettings following{.name = making.name,
                                .server_id = settings.server_id,
                                .max_lag = making.max_lag,
                                .storage = making.storage,
                                .observer = &making.observer,
                                .followed = std::make_shared<FollowedServer>()};
  for (const config::Address& address : settings.addresses) {
    following.logins.push_back(login_to(settings, address));
  }
  auto refusals = LogFollower::check(following, making.targets);
  if (!refusals.empty()) {
    return std::unexpected(std::move(refusals));
  }
  auto rows = make_mysql_row_lookup(following.followed, targets_of(making));
  return Parts{.follower = std::make_unique<LogFollower>(
                   std::move(following), feeds_of(making), std::move(making.clock)),
               .rows = std::move(rows)};
}

}  // namespace

std::expected<std::unique_ptr<Source>, std::vector<Refusal>> make_source(
    const config::Source& settings,
    std::vector<Target> targets,
    Observer& observer,
    Clock clock,
    const Storage& storage) {
  Making making{.targets = targets,
                .observer = observer,
                .clock = std::move(clock),
                .max_lag = settings.max_lag,
                .name = settings.name,
                .storage = storage};
  auto made =
      std::visit([&making](const auto& kind) { return make_follower(kind, std::move(making)); },
                 settings.kind);
  if (!made) {
    return std::unexpected(std::move(made.error()));
  }
  return std::make_unique<SourceThread>(std::move(made->follower), std::move(made->rows));
}

}  // namespace cuckooguard::source
