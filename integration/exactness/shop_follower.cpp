#include "exactness/shop_follower.h"

#include <memory>
#include <utility>

#include "mysql/log_follower.h"
#include "mysql/server.h"
#include "mysql/server_probe.h"

namespace cuckooguard::harness {
namespace {

using source::mysql::Connection;
using source::mysql::LogPosition;
using source::mysql::ReadView;
using View = std::expected<ReadView, source::mysql::Error>;

std::atomic<std::uint64_t> opened = 0;
std::atomic<std::uint64_t> with_a_window = 0;
std::function<void()> meanwhile = [] {};

std::expected<void, source::mysql::Error> begin(Connection& connection) {
  if (auto set = connection.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"); !set) {
    return set;
  }
  return connection.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
}

void count(const View& view, Connection& connection) {
  if (view) {
    ++opened;
    const auto now = source::mysql::server_position(connection);
    const bool is_between = view->window_end && now && *now != view->covered;
    with_a_window += is_between ? 1 : 0;
  }
}

struct How {
  const source::StorageDirectory* storage;
  source::mysql::OpenView open_view;
  std::chrono::milliseconds max_lag;
};

std::unique_ptr<source::mysql::LogFollower> make_follower(const SqlServer& server,
                                                          GuardedFilters& guarded,
                                                          source::Observer& observer,
                                                          const How& how) {
  const source::Clock clock = [] { return std::chrono::steady_clock::now(); };
  const std::vector<source::Target> targets = guarded.targets();
  source::Feeds feeds(targets, observer, clock, how.max_lag, guarded.publication());
  source::mysql::LogFollowerSettings settings{
      .name = "shop",
      .max_lag = how.max_lag,
      .open_view = how.open_view,
      .storage = {.directory = how.storage, .checkpoint_every = std::chrono::milliseconds(300)},
      .observer = &observer};
  settings.logins.push_back({.unix_path = server.unix_path(),
                             .user = "guard",
                             .password = "word",
                             .database = SqlServer::kDatabase,
                             .timeout = std::chrono::seconds(30)});
  return std::make_unique<source::mysql::LogFollower>(std::move(settings), std::move(feeds), clock);
}

}  // namespace

View open_counted_view(Connection& connection) {
  auto view = source::mysql::open_view(connection);
  count(view, connection);
  return view;
}

std::uint64_t views_opened() {
  return opened;
}

std::uint64_t views_with_a_window() {
  return with_a_window;
}

void set_meanwhile(std::function<void()> wanted) {
  meanwhile = std::move(wanted);
}

// MySQL: what comes first is in the window and in the view, what comes then in the window alone.
// MariaDB has no window.
View open_wide_view(Connection& connection) {
  if (connection.is_mariadb()) {
    meanwhile();
    auto view = source::mysql::open_view(connection);
    meanwhile();
    count(view, connection);
    return view;
  }
  auto covered = source::mysql::server_position(connection);
  if (!covered) {
    return std::unexpected(covered.error());
  }
  meanwhile();
  if (auto begun = begin(connection); !begun) {
    return std::unexpected(begun.error());
  }
  meanwhile();
  const auto end = source::mysql::log_status(connection);
  if (!end) {
    return std::unexpected(end.error());
  }
  View view = ReadView{.covered = *std::move(covered),
                       .window_end = source::mysql::LogPlace{
                           .file = end->at("File").value_or(""),
                           .position = std::stoull(end->at("Position").value_or("0"))}};
  count(view, connection);
  return view;
}

View open_view_behind_its_position(Connection& connection) {
  auto position = source::mysql::server_position(connection);
  if (!position) {
    return std::unexpected(position.error());
  }
  meanwhile();
  if (auto begun = begin(connection); !begun) {
    return std::unexpected(begun.error());
  }
  return ReadView{.covered = *std::move(position), .window_end = std::nullopt};
}

View open_view_before_its_position(Connection& connection) {
  if (auto begun = begin(connection); !begun) {
    return std::unexpected(begun.error());
  }
  meanwhile();
  auto position = source::mysql::server_position(connection);
  if (!position) {
    return std::unexpected(position.error());
  }
  return ReadView{.covered = *std::move(position), .window_end = std::nullopt};
}

ShopFollower::ShopFollower(const SqlServer& server,
                           GuardedFilters& guarded,
                           source::mysql::OpenView open_view,
                           const source::StorageDirectory* storage,
                           std::chrono::milliseconds max_lag)
    : guarded_(guarded),
      thread_(make_follower(server, guarded, reports_, {storage, open_view, max_lag}), nullptr) {
  thread_.start();
}

bool ShopFollower::is_proven_since(source::TimePoint at) const {
  return guarded_.is_proven_since(at, kMaxLag);
}

}  // namespace cuckooguard::harness
