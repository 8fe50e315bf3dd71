// The database of a toy log, a session that reads it, and what follows it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "follow/checkpoint_writer.h"
#include "follow/restore.h"
#include "follow/table_loader.h"
#include "follow/table_set.h"
#include "source/follow/toy_log.h"
#include "source/follower.h"

namespace cuckooguard::source {

class ToyServer {
 public:
  using Rows = std::set<std::string>;

  explicit ToyServer(const std::vector<std::string>& tables) {
    for (const std::string& table : tables) {
      visible_[table];
      committed_[table];
    }
  }

  // --- writers ---
  // In the log, and not to be seen before show().
  void commit(std::vector<ToyChange> changes) {
    const std::scoped_lock lock(mutex_);
    commit_locked(std::move(changes));
  }
  // The row comes, or goes.
  void toggle(const std::string& table, const std::string& id) {
    const std::scoped_lock lock(mutex_);
    commit_locked({toggle_locked(table, id)});
  }
  // The next so many transactions of the log are visible to all.
  void show(std::size_t count = SIZE_MAX) {
    const std::scoped_lock lock(mutex_);
    show_locked(count);
  }
  void insert(const std::string& table, const std::string& id) {
    commit({{.table = table, .before = {}, .after = id}});
    show();
  }
  void erase(const std::string& table, const std::string& id) {
    commit({{.table = table, .before = id, .after = {}}});
    show();
  }
  // Rows that no log tells of, as a definition may bring them.
  void define(const std::string& table, const Rows& rows) {
    const std::scoped_lock lock(mutex_);
    show_locked(SIZE_MAX);
    ++definition_;
    visible_[table] = rows;
    committed_[table] = rows;
    append({.group = {}, .changes = {}, .defined = table});
    show_locked(SIZE_MAX);
  }
  // Numbers begin again; rows stay. Streams of before end.
  void begin_log_anew() {
    const std::scoped_lock lock(mutex_);
    show_locked(SIZE_MAX);
    log_.clear();
    shown_ = 0;
    ++logs_;
  }
  Rows rows(const std::string& table) const {
    const std::scoped_lock lock(mutex_);
    return committed_.at(table);
  }

  // --- who follows ---
  ToyPosition end() const {
    const std::scoped_lock lock(mutex_);
    return ToyPosition(log_.size());
  }
  ToyPosition shown() const {
    const std::scoped_lock lock(mutex_);
    return ToyPosition(shown_);
  }
  std::uint64_t logs() const {
    const std::scoped_lock lock(mutex_);
    return logs_;
  }
  // Behind a number; nothing: there is no more, or is_silent.
  std::optional<ToyEvent> next(std::uint64_t behind) const {
    const std::scoped_lock lock(mutex_);
    if (behind < log_.size()) {
      return is_silent_ ? std::nullopt : std::optional(log_[behind]);
    }
    is_read_to_end_.notify_all();
    return std::nullopt;
  }
  void be_silent(bool is_silent) {
    const std::scoped_lock lock(mutex_);
    is_silent_ = is_silent;
  }

  // --- who reads ---
  std::uint64_t definition() const {
    const std::scoped_lock lock(mutex_);
    return definition_;
  }
  // While the next view is opened so many transactions become visible, and one more is logged, of
  // this row: it comes, or goes.
  void move_in_view(std::size_t shown, std::string table, std::string id) {
    const std::scoped_lock lock(mutex_);
    moves_.push_back({.shown = shown, .table = std::move(table), .id = std::move(id)});
  }
  // Nobody writes any more.
  void end_moves() {
    const std::scoped_lock lock(mutex_);
    moves_.clear();
  }
  // Of the next views: the log's end is taken for what they show.
  void lie_of_views() {
    const std::scoped_lock lock(mutex_);
    lies_ = true;
  }
  // Behind the next plan a table is defined anew, which whoever follows the log hears of first.
  void define_behind_plan(const std::string& table, const Rows& rows) {
    const std::scoped_lock lock(mutex_);
    defined_next_ = {table, rows};
  }
  ToyPlan plan(const std::string& table) {
    ToyPlan plan{.name = table, .definition = definition()};
    std::unique_lock lock(mutex_);
    const auto next = std::exchange(defined_next_, std::nullopt);
    lock.unlock();
    if (next) {
      define(next->first, next->second);
      lock.lock();
      is_read_to_end_.wait(lock);
    }
    return plan;
  }
  std::pair<ToyView, std::map<std::string, Rows>> open_view() {
    const std::scoped_lock lock(mutex_);
    ToyPosition covered(shown_);
    if (!moves_.empty()) {
      const Move move = moves_.back();
      moves_.pop_back();
      show_locked(move.shown);
      commit_locked({toggle_locked(move.table, move.id)});
    }
    const ToyPosition end(log_.size());
    return {{.covered = lies_ ? end : covered, .window_end = end}, visible_};
  }

 private:
  struct Move {
    std::size_t shown;
    std::string table;
    std::string id;
  };

  static void apply(const ToyChange& change, std::map<std::string, Rows>& rows) {
    if (change.before) {
      rows[change.table].erase(*change.before);
    }
    if (change.after) {
      rows[change.table].insert(*change.after);
    }
  }
  void commit_locked(std::vector<ToyChange> changes) {
    for (const ToyChange& change : changes) {
      apply(change, committed_);
    }
    append({.group = {}, .changes = std::move(changes), .defined = {}});
  }
  ToyChange toggle_locked(const std::string& table, const std::string& id) const {
    const bool is_there = committed_.at(table).contains(id);
    return {.table = table,
            .before = is_there ? std::optional(id) : std::nullopt,
            .after = is_there ? std::nullopt : std::optional(id)};
  }
  void append(ToyEvent event) {
    event.group = {.number = {log_.size() + 1}, .contents = ++written_};
    log_.push_back(std::move(event));
  }
  void show_locked(std::size_t count) {
    for (; count > 0 && shown_ < log_.size(); --count) {
      for (const ToyChange& change : log_[shown_++].changes) {
        apply(change, visible_);
      }
    }
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable is_read_to_end_;
  std::map<std::string, Rows> committed_;
  std::map<std::string, Rows> visible_;
  std::vector<ToyEvent> log_;
  std::size_t shown_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t logs_ = 0;
  std::uint64_t definition_ = 0;
  bool is_silent_ = false;
  bool lies_ = false;
  std::vector<Move> moves_;
  std::optional<std::pair<std::string, Rows>> defined_next_;
};

class ToyReader {
 public:
  struct Settings {
    ToyServer* server;
  };
  class Stream {
   public:
    explicit Stream(ToyServer::Rows rows) : rows_(std::move(rows)), at_(rows_.begin()) {}
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    Stream(Stream&& other) noexcept : rows_(std::move(other.rows_)), at_(rows_.begin()) {}
    Stream& operator=(Stream&&) = delete;
    ~Stream() = default;

    std::expected<std::optional<RowValues>, ToyError> next() {
      if (at_ == rows_.end()) {
        return std::nullopt;
      }
      value_ = *at_++;
      return RowValues(&value_, 1);
    }

   private:
    ToyServer::Rows rows_;
    ToyServer::Rows::const_iterator at_;
    std::optional<std::string_view> value_;
  };

  explicit ToyReader(Settings settings) : server_(settings.server) {}
  static std::expected<ToyReader, ToyError> open(Settings settings) { return ToyReader(settings); }

  std::expected<ToyPosition, ToyError> position() { return server_->end(); }
  static std::expected<void, ToyError> list(TableSet<ToyLog>& /*tables*/) { return {}; }
  std::expected<ToyPlan, std::variant<std::string, ToyError>> plan(const Target& /*target*/,
                                                                   const std::string& table) {
    return server_->plan(table);
  }
  std::expected<ToyView, ToyError> open_view(const ToyPosition& from,
                                             TableSet<ToyLog>& /*tables*/,
                                             const std::stop_token& /*stop*/) {
    auto [view, rows] = server_->open_view();
    if (!view.covered.covers(from)) {
      return std::unexpected(ToyError{.what = "it does not show what its log has"});
    }
    rows_ = std::move(rows);
    return view;
  }
  static std::expected<void, ToyError> close_view() { return {}; }
  std::expected<TableEstimate, ToyError> size(const ToyPlan& plan) {
    return TableEstimate{.rows = rows_[plan.name].size()};
  }
  std::expected<std::optional<std::string>, ToyError> count(const ToyPlan& plan) {
    return std::to_string(rows_[plan.name].size());
  }
  std::expected<Stream, ToyError> stream(const ToyPlan& plan) { return Stream(rows_[plan.name]); }
  static bool is_somebody_waiting(const ToyPlan& /*plan*/) { return false; }
  void interrupt() const {}

 private:
  ToyServer* server_;
  std::map<std::string, ToyServer::Rows> rows_;
};

class ToyFollower final : public Follower {
 public:
  ToyFollower(ToyServer& server, Feeds feeds, Clock clock, Storage storage, Observer& observer)
      : server_(server),
        clock_(clock),
        storage_(storage),
        observer_(observer),
        tables_(std::move(feeds), std::move(clock), "toy") {}

  std::chrono::nanoseconds step(const std::stop_token& stop) override {
    if (!has_begun_) {
      begin();
    }
    const TimePoint at = clock_();
    const ToyPosition shown = server_.shown();
    const ToyPosition end = server_.end();
    if (server_.logs() != stream_of_) {
      begin_stream();  // and what was asked may be of either log
      return {};
    }
    tables_.log.see_committed({.position = shown});
    tables_.log.prove(at, end);
    for (auto event = server_.next(read_); event; event = server_.next(read_)) {
      ++read_;
      if (!tables_.log.apply(*event, stop)) {
        break;
      }
    }
    if (!tables_.log.why_void().empty()) {
      loader_.reset();
      writer_.reset();
      has_begun_ = false;
      return {};
    }
    if (!loader_ || loader_->has_ended()) {
      if (const auto due = tables_.loads.take_due(); !due.empty()) {
        loader_ = std::make_unique<TableLoader<ToyLog>>(
            ToyReader::Settings{.server = &server_}, clock_, tables_, due);
      }
    }
    tables_.loads.tend();
    return std::chrono::microseconds(100);
  }
  void finish() override {
    loader_.reset();
    writer_.reset();
    tables_.log.expire_all();
  }
  SourceStatus status() const override { return tables_.status().read(); }
  Reached reached(std::string_view position) const override {
    return tables_.status().reached(position);
  }

 private:
  static constexpr const char* kName = "toy";
  static constexpr const char* kServer = "toy-1";

  void begin() {
    if (!take_up()) {
      const std::uint64_t end = server_.end().number();
      tables_.log.begin_at(ToyPosition(end > 0 ? end - 1 : 0));
    }
    begin_stream();
    if (storage_.directory != nullptr) {
      using Writer = CheckpointWriter<ToyLog>;
      writer_ = std::make_unique<Writer>(Writer::Settings{.source = kName,
                                                          .server = kServer,
                                                          .directory = *storage_.directory,
                                                          .every = storage_.checkpoint_every,
                                                          .observer = observer_,
                                                          .clock = clock_},
                                         tables_);
    }
    has_begun_ = true;
  }
  void begin_stream() {
    stream_of_ = server_.logs();
    read_ = tables_.log.resume_position().number();
    tables_.log.reconnected({}, kServer);
  }
  bool take_up() {
    if (storage_.directory == nullptr || std::exchange(has_tried_, true)) {
      return false;
    }
    ToyReader reader({.server = &server_});
    return Restore<ToyLog>({.source = kName,
                            .directory = *storage_.directory,
                            .observer = observer_,
                            .server = kServer,
                            .is_cluster = false,
                            .max_lag = std::chrono::seconds(1)},
                           tables_,
                           reader)
        .take_up()
        .value_or(false);
  }

  ToyServer& server_;
  Clock clock_;
  Storage storage_;
  Observer& observer_;
  TableSet<ToyLog> tables_;
  std::uint64_t stream_of_ = 0;
  std::uint64_t read_ = 0;
  bool has_begun_ = false;
  bool has_tried_ = false;
  std::unique_ptr<TableLoader<ToyLog>> loader_;
  std::unique_ptr<CheckpointWriter<ToyLog>> writer_;
};

}  // namespace cuckooguard::source
