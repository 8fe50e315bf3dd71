// The database of a toy log.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source/follow/toy_log.h"
#include "text/try.h"

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
  std::vector<std::string> tables() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, rows] : committed_) {
      names.push_back(name);
    }
    return names;
  }
  std::uint64_t definition() const {
    const std::scoped_lock lock(mutex_);
    return definition_;
  }
  // While the next view is opened this row comes, or goes; and of what is in the log so many
  // transactions become visible.
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
      const Move move = moves_.front();
      moves_.pop_front();
      commit_locked({toggle_locked(move.table, move.id)});
      show_locked(move.shown);
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
  std::deque<Move> moves_;
  std::optional<std::pair<std::string, Rows>> defined_next_;
};

// An address: a server answers there, or none, or one that lets nobody in.
class ToyHost {
 public:
  ToyHost(ToyServer& server, std::string identity) { is(server, std::move(identity)); }

  void is(ToyServer& server, std::string identity) {
    const std::scoped_lock lock(mutex_);
    server_ = &server;
    identity_ = std::move(identity);
    error_.reset();
  }
  void fails(ToyError error) {
    const std::scoped_lock lock(mutex_);
    error_ = std::move(error);
  }
  std::expected<std::pair<ToyServer*, std::string>, ToyError> answer() const {
    const std::scoped_lock lock(mutex_);
    return error_ ? std::unexpected(*error_)
                  : std::expected<std::pair<ToyServer*, std::string>, ToyError>(
                        std::pair(server_, identity_));
  }

 private:
  mutable std::mutex mutex_;
  ToyServer* server_ = nullptr;
  std::string identity_;
  std::optional<ToyError> error_;
};

struct ToyLogin {
  const ToyHost* host = nullptr;
  std::chrono::nanoseconds timeout{};
};

class ToyConnection {
 public:
  static std::expected<ToyConnection, ToyError> open(const ToyLogin& login) {
    auto [server, identity] = TRY(login.host->answer());
    return ToyConnection(*server, std::move(identity));
  }

  ToyServer& server() { return *server_; }
  const std::string& identity() const { return identity_; }
  static std::expected<void, ToyError> run(std::string_view /*sql*/) { return {}; }
  void interrupt() const {}

 private:
  ToyConnection(ToyServer& server, std::string identity)
      : server_(&server), identity_(std::move(identity)) {}

  ToyServer* server_;
  std::string identity_;
};

inline std::expected<ToyConnection, ToyError> open_same_server(const ToyLogin& login,
                                                               std::string_view identity) {
  auto connection = TRY(ToyConnection::open(login));
  if (connection.identity() != identity) {
    return std::unexpected(ToyError{.what = "another server answers"});
  }
  return connection;
}

}  // namespace cuckooguard::source
