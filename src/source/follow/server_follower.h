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
#include <cstdint>
#include <exception>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "filter/filter_file.h"
#include "follow/checkpoint.h"
#include "follow/restore.h"
#include "follow/server_watch.h"
#include "follow/table_loader.h"
#include "follow/table_set.h"
#include "source/asking.h"
#include "source/backoff.h"
#include "source/feeds.h"
#include "source/follower.h"
#include "source/source.h"
#include "source/storage_directory.h"

namespace cuckooguard::source {

// Writes the tables that are in step to their files: every so often, after a load, and at the end.
//
// A table's filter is copied while nothing is applied to it (some 0.1 s per 100 MB into the
// system's cache), and waits for the disk beside the log. Of what has not changed the position
// alone is written (Renewal), so that no file is older than the server's log, and the log is not
// kept for it. Of a table that is refused the file is removed.
//
// Must: a renewal names no file but those whose tables have now what they had when it was written,
// and it lacks none that this writer's last one had, unless that was written again: what on_kept()
// was told stays true. A file of a former run may fall back to its own position: what the log does
// not have any more is then read anew. (tests/source/follow/toy_log_test.cpp)
//
// Threads: its own; construction starts it, destruction writes once more and ends it. Lifetimes:
// directory and set outlive it. Errors: reported to the observer, and tried again next time.
template <class Log>
class CheckpointWriter {
 public:
  // For the server to commit what its log has deleted (log_feed.h).
  static constexpr std::chrono::seconds kCommitWaitMax{2};

  struct Settings {
    std::string source;  // its name
    std::string server;  // which it is
    const StorageDirectory& directory;
    std::chrono::nanoseconds every;
    Observer& observer;
    // Files have all that the log says up to there: it need not be kept for them. Its thread.
    std::function<void(const typename Log::Position& position)> on_kept{};
  };

  CheckpointWriter(Settings settings, TableSet<Log>& tables);
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  ~CheckpointWriter() = default;

 private:
  struct Last {
    TableVersion version;
    typename Log::Position position;
    std::uint64_t file;  // FilterFile's id
    bool is_renewed = false;
  };

  void run(const std::stop_token& stop);
  void try_to_write_all(bool is_last);
  void write_all(bool is_last);
  void renew(bool is_last);
  void remove(const std::string& file);
  void tell_what_is_kept();

  Settings settings_;
  TableSet<Log>& tables_;
  std::map<TableIndex, Last> last_;
  std::jthread thread_;
};

template <class Log>
CheckpointWriter<Log>::CheckpointWriter(Settings settings, TableSet<Log>& tables)
    : settings_(std::move(settings)),
      tables_(tables),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

template <class Log>
void CheckpointWriter<Log>::run(const std::stop_token& stop) {
  while (tables_.checkpoints.wait_until_due(settings_.every, stop)) {
    try_to_write_all(false);
  }
  try_to_write_all(true);
}

template <class Log>
void CheckpointWriter<Log>::try_to_write_all(bool is_last) {
  try {
    write_all(is_last);
  } catch (const std::exception& trouble) {  // no memory, say
    settings_.observer.on_trouble(settings_.source, trouble.what());
  }
}

template <class Log>
void CheckpointWriter<Log>::write_all(bool is_last) {
  const TimePoint until = std::chrono::steady_clock::now() + kCommitWaitMax;  // of all together
  for (TableIndex index = 0; index < tables_.size(); ++index) {
    if (tables_.listing.is_gone(index)) {
      last_.erase(index);
      continue;
    }
    if (const auto file =
            tables_.checkpoints.useless_file(index, settings_.directory, settings_.source)) {
      last_.erase(index);
      remove(*file);
      continue;
    }
    const auto known = last_.find(index);
    const auto version = tables_.checkpoints.version(index);
    if (!version || (known != last_.end() && *version == known->second.version &&
                     !(is_last && version->will_change))) {
      continue;
    }
    const auto position = tables_.log.resume_position();  // the file's is no earlier
    auto written = tables_.checkpoints.write(
        index, settings_.directory, settings_.source, settings_.server, until);
    const auto done = written ? written->put_in_place() : std::unexpected(written.error());
    if (!done) {
      settings_.observer.on_trouble(settings_.source, done.error().what);
      continue;
    }
    last_.insert_or_assign(index,
                           Last{.version = *version, .position = position, .file = written->id()});
  }
  renew(is_last);
  tell_what_is_kept();
}

template <class Log>
void CheckpointWriter<Log>::renew(bool is_last) {
  std::map<TableIndex, TableVersion> versions;
  for (const auto& [index, last] : last_) {
    versions.emplace(index, last.version);
  }
  const auto now = tables_.checkpoints.unchanged(versions);
  if (!now) {
    return;
  }
  std::vector<std::uint64_t> files;
  bool is_news = is_last;  // then also when it was
  for (const auto& [index, last] : last_) {
    const bool is_unchanged = now->tables.contains(index);
    if (last.is_renewed && !is_unchanged) {
      return;
    }
    if (is_unchanged) {
      files.push_back(last.file);
      is_news = is_news || last.position != now->position;
    }
  }
  if (!is_news) {
    return;
  }
  auto written =
      filter::WrittenFilterFile::write(settings_.directory.position_path(settings_.source),
                                       renewal_text(files, now->resume, settings_.server));
  const auto done = written ? written->put_in_place() : std::unexpected(written.error());
  if (!done) {
    settings_.observer.on_trouble(settings_.source, done.error().what);
    return;
  }
  for (const TableIndex index : now->tables) {
    Last& last = last_.at(index);
    last.position = now->position;
    last.is_renewed = true;
  }
}

// A table that has no file yet, or only one of a former run, needs the log as it is kept now.
template <class Log>
void CheckpointWriter<Log>::tell_what_is_kept() {
  if (!settings_.on_kept) {
    return;
  }
  std::optional<typename Log::Position> oldest;
  for (TableIndex index = 0; index < tables_.size(); ++index) {
    if (tables_.listing.is_gone(index) ||
        tables_.checkpoints.useless_file(index, settings_.directory, settings_.source)) {
      continue;
    }
    const auto known = last_.find(index);
    if (known == last_.end()) {
      return;
    }
    if (!oldest || !known->second.position.covers(*oldest)) {
      oldest = known->second.position;
    }
  }
  if (oldest) {
    settings_.on_kept(*oldest);
  }
}

template <class Log>
void CheckpointWriter<Log>::remove(const std::string& file) {
  std::error_code error;
  std::filesystem::remove(file, error);
  if (error) {
    settings_.observer.on_trouble(settings_.source,
                                  file + ": cannot be removed: " + error.message());
  }
}

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
