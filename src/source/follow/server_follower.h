// Follows a server's log and reads its tables, as far as that is the same for all kinds of servers:
// what is loaded when, what is kept, and what a lost or refused server means. How a server is
// reached and what its log has next is a derived class's.
//
//   connect() ─▶ follow_one() … ─▶ lose(), which disconnects ─▶ connect()
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

#include <algorithm>
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
#include <vector>

#include "follow/checkpoint_writer.h"
#include "follow/ending_thread.h"
#include "follow/pause.h"
#include "follow/restore.h"
#include "follow/table_loader.h"
#include "follow/table_set.h"
#include "source/feeds.h"
#include "source/follower.h"
#include "source/source.h"
#include "text/try.h"
#include "text/words.h"

namespace cuckooguard::source {

// Asks over and over, by a new connection each time, which server an address leads to: a name, a
// virtual IP or a balancer may have moved on to another one while the one that is followed lives on
// and answers.
//
// A connection that is open proves nothing of that, and neither does the resolver's answer: an
// address that is missing from it may still be the same server's, and one that has moved does not
// show there. So the identity of whoever answers is compared. Who cannot be reached has said
// nothing (the server may be full, the resolver ill): the server is followed on. Who refuses us may
// be another one: it has ended.
//
// Costs the server one connection per kEveryMin, or per max_lag if that is longer.
//
// Threads: its own; construction starts it, destruction ends it, and waits for what is being asked.
// Errors: it ends, and says why.
class ServerWatch final : public EndingThread {
 public:
  static constexpr std::chrono::seconds kEveryMin{1};
  // Of each connection and answer, so that nobody waits long for its end.
  static constexpr std::chrono::seconds kTimeout{2};
  // An error: another server than is followed answers, or may.
  using Ask = std::function<std::expected<void, std::string>()>;

  // `on_end`: on its thread, once; whoever is to look may be waiting for something else.
  ServerWatch(Ask ask, std::chrono::nanoseconds max_lag, std::function<void()> on_end)
      : EndingThread(
            [ask = std::move(ask), every = std::max<std::chrono::nanoseconds>(max_lag, kEveryMin)](
                const std::stop_token& stop) {
              std::expected<void, std::string> asked;
              while (asked && pause_for(every, stop)) {
                asked = ask();
              }
              return asked ? std::string() : std::move(asked.error());
            },
            std::move(on_end)) {}
};

// `Log::FollowerSettings` has, of any kind of server:
//   name                of the source
//   max_lag, asking
//   storage, observer   with it
//   followed            is told of the server; may be null
//   schema()            of all tables
template <class Log>
class ServerFollower : public Follower {
 public:
  using Settings = typename Log::FollowerSettings;

  static constexpr std::chrono::milliseconds kBackoffMin{100};
  static constexpr std::chrono::seconds kRefusedMax{10};
  static constexpr std::chrono::minutes kSeveralMax{1};

  std::chrono::nanoseconds step(const std::stop_token& stop) final {
    try {
      return stream_ ? follow(stop) : connect(stop);
    } catch (const std::exception& trouble) {  // no memory, say: as if the server were gone
      return lose_in_trouble(trouble.what());
    }
  }
  void finish() final {
    loader_.reset();
    checkpoints_.reset();  // writes once more, when what was deleted is seen to be committed
    probe_.reset();
    leave_stream();
    tables_.log.expire_all();
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

  ServerFollower(Settings settings, Feeds feeds, Clock clock)
      : clock_(clock),
        tables_(std::move(feeds), std::move(clock), settings.schema(), settings.asking),
        settings_(std::move(settings)) {}

  // Of the log that is followed, by which a checkpoint of it is known.
  virtual std::string log_identity() const { return identity_; }
  virtual Duration connect(const std::stop_token& stop) = 0;
  // What the stream has next, applied.
  virtual Done follow_one(const std::stop_token& stop) = 0;
  // Any thread: follow_one() returns soon. By default it does so within kStepMax.
  virtual void wake() {}
  // The server has said that its log does not have what comes behind our position.
  virtual void on_position_gone() {}
  virtual void leave_stream() {}
  virtual typename Reader::Settings reader_settings() const = 0;

  // Behind the checkpoints of a former run, if they can be used.
  bool may_take_up() const {
    return settings_.storage.directory != nullptr && !has_tried_checkpoints_;
  }
  std::expected<bool, Error> take_up(Reader& reader,
                                     bool is_cluster,
                                     std::optional<Position> begins = std::nullopt) {
    TRY(reader.list(tables_));
    auto restored = Restore<Log>({.source = settings_.name,
                                  .directory = *settings_.storage.directory,
                                  .observer = *settings_.observer,
                                  .server = log_identity(),
                                  .is_cluster = is_cluster,
                                  .max_lag = settings_.max_lag,
                                  .begins = std::move(begins)},
                                 tables_,
                                 reader)
                        .take_up();
    has_tried_checkpoints_ = restored.has_value();
    return restored;
  }
  void begin_checkpoints(std::function<void(const Position& position)> on_kept = {}) {
    if (settings_.storage.directory == nullptr || checkpoints_) {
      return;
    }
    using Writer = CheckpointWriter<Log>;
    checkpoints_ = std::make_unique<Writer>(
        typename Writer::Settings{.source = settings_.name,
                                  .server = log_identity(),
                                  .directory = *settings_.storage.directory,
                                  .every = settings_.storage.checkpoint_every,
                                  .observer = *settings_.observer,
                                  .on_kept = std::move(on_kept)},
        tables_);
  }
  Done apply(const typename Log::Event& event, const std::stop_token& stop) {
    const auto applied = tables_.log.apply(event, stop);
    return applied ? Done() : failed(applied.error());
  }
  // It is about to be followed, at an address at which others were before. An error: not yet.
  Done turn_to(const std::string& identity) {
    const TimePoint now = clock_();
    if (left_ && left_->identity == identity && now - left_->at < kSeveralMax) {
      return failed("the address leads to several servers: now to " + identity +
                    ", previously to " + identity_ + "; give each server its own address");
    }
    if (!identity_.empty()) {
      left_ = Left{.identity = identity_, .at = now};
    }
    return {};
  }
  void is_followed(const typename Log::Login& login, const std::string& identity) {
    identity_ = identity;
    if (settings_.followed) {
      settings_.followed->is(login, identity);
    }
  }
  // An error if there are any.
  static Done judge(const std::vector<std::string>& refusals) {
    return refusals.empty() ? Done()
                            : std::unexpected(Error::refusal("cannot follow the server: " +
                                                             text::joined(refusals, "; ")));
  }
  // `login`: of the server that is followed. `identity_of`: asks a connection which it is.
  template <class IdentityOf>
  void begin_watch(typename Log::Login login, IdentityOf identity_of) {
    login.timeout = ServerWatch::kTimeout;
    const auto ask =
        [login, identity_of, followed = identity_]() -> std::expected<void, std::string> {
      auto connection = Log::Connection::open(login);
      const auto found =
          connection ? identity_of(*connection) : std::unexpected(std::move(connection.error()));
      if (found ? *found == followed : !found.error().is_refusal()) {
        return {};
      }
      return std::unexpected(found ? "the address now leads to another server: to " + *found +
                                         ", previously to " + followed
                                   : found.error().what);
    };
    watch_ = std::make_unique<ServerWatch>(ask, settings_.max_lag, [this] { wake(); });
  }
  // Nobody calls what a derived class has from now on: its destructor begins with this.
  void end() {
    watch_.reset();
    disconnect();
  }

  // In memory and in files, so that all is read anew.
  void forget_position() {
    tables_.log.forget_position();
    is_position_gone_ = true;
    drop_checkpoints();
  }
  // `error`: why. How long to wait.
  Duration lose(const Error& error) {
    Backoff& backoff = error.is_refusal() || stream_ ? reached_ : unreached_;
    end();
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
    return backoff.next();
  }
  static std::unexpected<Error> failed(std::string_view why) {
    Error error;
    error.what = why;
    return std::unexpected(std::move(error));
  }

  Clock clock_;
  TableSet<Log> tables_;
  Settings settings_;
  std::string identity_;           // of the server that is followed
  bool is_position_gone_ = false;  // its log does not have what comes behind ours: all is read anew
  bool has_tried_checkpoints_ = false;
  std::unique_ptr<TableLoader<Log>> loader_;
  std::unique_ptr<CheckpointWriter<Log>> checkpoints_;
  std::unique_ptr<typename Log::Stream> stream_;
  std::unique_ptr<typename Log::Probe> probe_;

 private:
  struct Left {
    std::string identity;
    TimePoint at;
  };

  Duration follow(const std::stop_token& stop) {
    Done done;
    {
      // Gone, and not running any more, before anybody lets go of the stream.
      const std::stop_callback on_stop(stop, [this] { wake(); });
      const TimePoint until = clock_() + kStepMax;
      done = follow_one(stop);  // first: who may not read the log need not read tables
      if (done) {
        load_what_is_due();
      }
      while (done && clock_() < until && !stop.stop_requested()) {
        done = follow_one(stop);
      }
    }
    if (stop.stop_requested()) {
      return Duration::zero();
    }
    const Done tended = tend();
    if (done || (Log::kIsWoken && has_moved())) {  // that is why it has failed
      done = tended;
    }
    if (done) {
      unreached_.succeeded();
      reached_.succeeded();
      return Duration::zero();
    }
    if (is_position_gone(done.error())) {
      is_position_gone_ = true;
      on_position_gone();
    }
    return lose(done.error());
  }
  bool has_moved() const { return watch_ && watch_->has_ended(); }
  void load_what_is_due() {
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
  // What else says that it does not go on. Now and then.
  Done tend() {
    tables_.loads.tend();
    if (const std::string_view why = tables_.log.why_void(); !why.empty()) {
      return failed(why);
    }
    if (probe_->has_ended()) {
      return failed(probe_->why());
    }
    return has_moved() ? failed(watch_->why()) : Done();
  }
  void disconnect() {
    probe_.reset();
    stream_.reset();
  }
  void drop_checkpoints() {
    has_tried_checkpoints_ = true;
    loader_.reset();
    checkpoints_.reset();
    if (settings_.storage.directory == nullptr) {
      return;
    }
    if (const auto removed = settings_.storage.directory->remove_filters(settings_.name);
        !removed) {
      settings_.observer->on_trouble(settings_.name, removed.error());
    }
  }
  // There may be no memory to tell of it, either.
  Duration lose_in_trouble(std::string_view why) {
    try {
      return lose(failed(why).error());
    } catch (const std::exception&) {
      return reached_.next();
    }
  }

  // A server that refuses us, or whose log does not go on, is asked ever less often: each time
  // costs it a line in its own log, or a read of all tables. That is counted apart, so that a log
  // which ends in a crash is begun anew at once, however long the server was gone.
  Backoff unreached_{kBackoffMin, Backoff::kUnreachedMax};
  Backoff reached_{kBackoffMin, kRefusedMax};
  std::optional<Left> left_;  // the server that was followed before
  std::unique_ptr<ServerWatch> watch_;
};

}  // namespace cuckooguard::source
