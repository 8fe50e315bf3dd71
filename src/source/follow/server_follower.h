// Follows a server's log and reads its tables, as far as that is the same for all kinds of servers:
// what is loaded when, what is kept, and what a lost or refused server means. How a server is
// reached and its log is streamed is a derived class's.
//
//   connect() ─▶ follow() … ─▶ lose(), which disconnects ─▶ connect()
//
// Behind the address of the server that is followed there may come to be another one: it is asked
// for (ServerWatch), followed instead, and all is read anew. Two that answer by turns are not
// followed by turns, each time with all that is to be read: whoever was left is not followed again
// for kSeveralMax, and until then all passes.
//
// Must: behind a refusal no position is believed, in memory or in files.
//
// Threads: the source's. Errors: none; what is wrong is reported by on_state, and passes.
#pragma once

#include <chrono>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "follow/checkpoint_writer.h"
#include "follow/restore.h"
#include "follow/server_watch.h"
#include "follow/table_loader.h"
#include "follow/table_set.h"
#include "source/asking.h"
#include "source/backoff.h"
#include "source/feeds.h"
#include "source/follower.h"
#include "source/source.h"

namespace cuckooguard::source {

struct FollowingSettings {
  std::string name;  // of the source
  std::chrono::nanoseconds max_lag{};
  Storage storage{};
  Observer* observer = nullptr;  // with storage
  Asking asking{};
};

template <class Log>
class ServerFollower : public Follower {
 public:
  static constexpr std::chrono::milliseconds kBackoffMin{100};
  static constexpr std::chrono::seconds kBackoffMax{10};
  static constexpr std::chrono::minutes kSeveralMax{1};

  std::chrono::nanoseconds step(const std::stop_token& stop) final {
    try {
      return is_connected() ? follow(stop) : connect(stop);
    } catch (const std::exception& trouble) {  // no memory, say: as if the server were gone
      return lose_in_trouble(trouble.what());
    }
  }
  SourceStatus status() const final { return tables_.status().read(); }
  Reached reached(std::string_view position) const final {
    return tables_.status().reached(position);
  }

 protected:
  using Duration = std::chrono::nanoseconds;
  using Error = typename Log::Error;
  using Position = typename Log::Position;
  using Reader = typename Log::Reader;
  using Done = std::expected<void, Error>;

  static constexpr std::chrono::milliseconds kStepMax{50};

  // `schema`: of all tables.
  ServerFollower(FollowingSettings settings, Feeds feeds, Clock clock, std::string schema)
      : clock_(clock),
        tables_(std::move(feeds), std::move(clock), std::move(schema), settings.asking),
        following_(std::move(settings)) {}

  virtual bool is_connected() const = 0;
  // Of the log that is followed, by which a checkpoint of it is known.
  virtual std::string log_identity() const { return identity_; }
  virtual Duration connect(const std::stop_token& stop) = 0;
  virtual Duration follow(const std::stop_token& stop) = 0;
  virtual void disconnect() = 0;
  virtual typename Reader::Settings reader_settings() const = 0;

  // Behind the checkpoints of a former run, if they can be used.
  bool may_take_up() const {
    return following_.storage.directory != nullptr && !has_tried_checkpoints_;
  }
  std::expected<bool, Error> take_up(Reader& reader,
                                     bool is_cluster,
                                     std::optional<Position> begins = std::nullopt);
  void begin_checkpoints(std::function<void(const Position& position)> on_kept = {});
  // It is about to be followed, at an address at which others were before. An error: not yet.
  Done turn_to(const std::string& identity);
  // `login`: of the server that is followed. `identity_of`: asks a connection which it is.
  // `wake`: any thread, until end_watch() or lose(); follow() returns soon.
  template <class Connection, class Login, class IdentityOf>
  void begin_watch(Login login, IdentityOf identity_of, std::function<void()> wake);
  void end_watch() { watch_.reset(); }
  bool has_moved() const { return watch_ && watch_->has_ended(); }
  void load_what_is_due();
  // What else says that it does not go on. Now and then.
  template <class Probe>
  Done tend(const Probe& probe);

  void forget_position();
  // `error`: why. How long to wait.
  Duration lose(const Error& error);
  static std::unexpected<Error> failed(std::string_view why) {
    Error error;
    error.what = why;
    return std::unexpected(std::move(error));
  }

  Clock clock_;
  TableSet<Log> tables_;
  std::string identity_;           // of the server that is followed
  bool is_position_gone_ = false;  // its log does not have what comes behind ours: all is read anew
  bool has_tried_checkpoints_ = false;
  std::unique_ptr<TableLoader<Log>> loader_;
  std::unique_ptr<CheckpointWriter<Log>> checkpoints_;
  Backoff backoff_{kBackoffMin, kBackoffMax};

 private:
  struct Left {
    std::string identity;
    TimePoint at;
  };

  void drop_checkpoints();
  Duration lose_in_trouble(std::string_view why);

  FollowingSettings following_;
  std::optional<Left> left_;  // the server that was followed before
  std::unique_ptr<ServerWatch> watch_;
};

template <class Log>
std::expected<bool, typename Log::Error> ServerFollower<Log>::take_up(
    Reader& reader, bool is_cluster, std::optional<Position> begins) {
  if (auto listed = reader.list(tables_); !listed) {
    return std::unexpected(listed.error());
  }
  auto restored = Restore<Log>({.source = following_.name,
                                .directory = *following_.storage.directory,
                                .observer = *following_.observer,
                                .server = log_identity(),
                                .is_cluster = is_cluster,
                                .max_lag = following_.max_lag,
                                .begins = std::move(begins)},
                               tables_,
                               reader)
                      .take_up();
  has_tried_checkpoints_ = restored.has_value();
  return restored;
}

template <class Log>
void ServerFollower<Log>::begin_checkpoints(std::function<void(const Position& position)> on_kept) {
  if (following_.storage.directory == nullptr || checkpoints_) {
    return;
  }
  using Writer = CheckpointWriter<Log>;
  checkpoints_ = std::make_unique<Writer>(
      typename Writer::Settings{.source = following_.name,
                                .server = log_identity(),
                                .directory = *following_.storage.directory,
                                .every = following_.storage.checkpoint_every,
                                .observer = *following_.observer,
                                .on_kept = std::move(on_kept)},
      tables_);
}

template <class Log>
std::expected<void, typename Log::Error> ServerFollower<Log>::turn_to(const std::string& identity) {
  const TimePoint now = clock_();
  if (left_ && left_->identity == identity && now - left_->at < kSeveralMax) {
    return failed("the address leads to several servers: now to " + identity + ", before to " +
                  identity_ + "; let each have an address of its own");
  }
  if (!identity_.empty()) {
    left_ = Left{.identity = identity_, .at = now};
  }
  return {};
}

template <class Log>
template <class Connection, class Login, class IdentityOf>
void ServerFollower<Log>::begin_watch(Login login,
                                      IdentityOf identity_of,
                                      std::function<void()> wake) {
  login.timeout = ServerWatch::kTimeout;
  const auto ask =
      [login, identity_of, followed = identity_]() -> std::expected<void, std::string> {
    auto connection = Connection::open(login);
    const auto found =
        connection ? identity_of(*connection) : std::unexpected(std::move(connection.error()));
    if (found ? *found == followed : !found.error().is_refusal()) {
      return {};
    }
    return std::unexpected(found ? "the address leads to another server now: to " + *found +
                                       ", before to " + followed
                                 : found.error().what);
  };
  watch_ = std::make_unique<ServerWatch>(ask, following_.max_lag, std::move(wake));
}

template <class Log>
void ServerFollower<Log>::load_what_is_due() {
  if (loader_ && !loader_->has_ended()) {
    return;
  }
  const auto due = tables_.loads.take_due();
  if (due.empty() && !tables_.listing.is_due()) {
    return;
  }
  try {
    loader_ = std::make_unique<TableLoader<Log>>(reader_settings(), clock_, tables_, due);
  } catch (const std::exception& trouble) {  // no thread, no memory
    for (const TableIndex index : due) {
      tables_.loads.fail(index, trouble.what());
    }
    throw;
  }
}

template <class Log>
template <class Probe>
std::expected<void, typename Log::Error> ServerFollower<Log>::tend(const Probe& probe) {
  tables_.loads.tend();
  if (const std::string_view why = tables_.log.why_void(); !why.empty()) {
    return failed(why);
  }
  if (probe.has_ended()) {
    return failed(probe.why());
  }
  if (has_moved()) {
    return failed(watch_->why());
  }
  return {};
}

// In memory and in files, so that all is read anew.
template <class Log>
void ServerFollower<Log>::forget_position() {
  tables_.log.forget_position();
  is_position_gone_ = true;
  drop_checkpoints();
}

template <class Log>
void ServerFollower<Log>::drop_checkpoints() {
  has_tried_checkpoints_ = true;
  loader_.reset();
  checkpoints_.reset();
  if (following_.storage.directory == nullptr) {
    return;
  }
  if (const auto removed = following_.storage.directory->remove_filters(following_.name);
      !removed) {
    following_.observer->on_trouble(following_.name, removed.error());
  }
}

template <class Log>
std::chrono::nanoseconds ServerFollower<Log>::lose(const Error& error) {
  watch_.reset();
  disconnect();
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
template <class Log>
std::chrono::nanoseconds ServerFollower<Log>::lose_in_trouble(std::string_view why) {
  try {
    return lose(failed(why).error());
  } catch (const std::exception&) {
    return backoff_.next();
  }
}

}  // namespace cuckooguard::source
