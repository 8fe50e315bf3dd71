#include "source/source.h"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "source/feed.h"
#include "source/file_origin.h"
#include "source/log_follower.h"
#include "source/rescan.h"
#include "source/source_thread.h"
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
  std::vector<Feed> feeds;
  Clock clock;
  std::chrono::nanoseconds max_lag;
  std::string name;
  Storage storage;
  Observer& observer;
};

using Made = std::expected<std::unique_ptr<Follower>, std::vector<Refusal>>;

// SQLite and files are read again whenever they have changed.
template <class Settings>
Made make_follower(const Settings& settings, Making&& making) {
  auto checked = open_origin(
      settings, {.targets = making.targets, .clock = making.clock, .max_lag = making.max_lag});
  if (!checked.refusals.empty()) {
    return std::unexpected(std::move(checked.refusals));
  }
  return std::make_unique<Rescan>(
      std::move(checked.origin),
      std::move(making.feeds),
      std::move(making.clock),
      RescanTiming{.max_lag = making.max_lag, .poll_every = checked.poll_every});
}

Made make_follower(const config::MysqlSource& settings, Making&& making) {
  LogFollowerSettings following{.name = making.name,
                                .server_id = settings.server_id,
                                .max_lag = making.max_lag,
                                .storage = making.storage,
                                .observer = &making.observer};
  for (const config::Address& address : settings.addresses) {
    following.logins.push_back({.host = address.host,
                                .port = address.port,
                                .unix_path = address.unix_path,
                                .user = settings.user,
                                .password = settings.password,
                                .password_file = settings.password_file,
                                .database = settings.database,
                                .tls = settings.tls,
                                .ca_file = settings.ca_file});
  }
  auto refusals = LogFollower::check(following, making.targets);
  if (!refusals.empty()) {
    return std::unexpected(std::move(refusals));
  }
  return std::make_unique<LogFollower>(
      std::move(following), std::move(making.feeds), std::move(making.clock));
}

}  // namespace

std::expected<std::unique_ptr<Source>, std::vector<Refusal>> make_source(
    const config::Source& settings,
    std::vector<Target> targets,
    Observer& observer,
    Clock clock,
    const Storage& storage) {
  Making making{.targets = targets,
                .clock = std::move(clock),
                .max_lag = settings.max_lag,
                .name = settings.name,
                .storage = storage,
                .observer = observer};
  making.feeds.reserve(targets.size());
  for (const Target& target : targets) {
    const std::string& table = target.settings.source.table;
    making.feeds.emplace_back(
        target, *target.parts.add(table), table, observer, making.clock, settings.max_lag);
    target.parts.set_complete(true);
  }
  auto made =
      std::visit([&making](const auto& kind) { return make_follower(kind, std::move(making)); },
                 settings.kind);
  if (!made) {
    return std::unexpected(std::move(made.error()));
  }
  return std::make_unique<SourceThread>(*std::move(made));
}

}  // namespace cuckooguard::source
