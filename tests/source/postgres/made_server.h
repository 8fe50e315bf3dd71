// A PostgreSQL in memory, as far as a log and snapshots go: one table of ids.
//
//   begin() ─▶ insert, erase, move … ─▶ commit(): in the log ─▶ show(): visible, its rows unlocked
//                                   └─▶ roll_back()
//
// Transactions become visible in another order than the log has them in, as they do in PostgreSQL:
// a commit is in the log before others see it, by microseconds, or by as long as a synchronous
// standby is silent. Until then its rows are locked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "postgres/log.h"
#include "source/postgres/made_log.h"

namespace cuckooguard::source::postgres {

class MadeServer {
 public:
  using Rows = std::set<std::uint64_t>;

  explicit MadeServer(std::uint32_t seed) : random_(seed) {
    for (std::uint64_t id = 1; id <= kIds; id += 2) {
      visible_.insert(id);
    }
  }

  // Something that writers, or the server, do.
  void step() {
    if (is_settled_) {
      return;
    }
    switch (any(6)) {
      case 0:
        if (open_.size() < kOpenMax) {
          open_.push_back({.xid = next_xid_++, .changes = {}, .touched = {}});
        }
        return;
      case 1:
      case 2:
      case 3:
        if (!open_.empty()) {
          change(open_[any(open_.size())]);
        }
        return;
      case 4:
        if (!open_.empty()) {
          end(any(open_.size()));
        }
        return;
      default:
        show_one();
    }
  }
  // All that is open is rolled back, what the log has is visible, and nobody writes any more.
  void settle() {
    is_settled_ = true;
    while (!open_.empty()) {
      roll_back(0);
    }
    while (!logged_.empty()) {
      show_one();
    }
  }
  void show_one() {
    if (!logged_.empty()) {
      const std::size_t which = any(logged_.size());
      apply(logged_[which], visible_);
      unlock(logged_[which]);
      logged_.erase(logged_.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }

  // --- what others ask ---
  const Rows& visible() const { return visible_; }
  pgoutput::Lsn end() const { return {log_.end()}; }
  XidSnapshot snapshot() const {
    XidSnapshot snapshot{.xmin = next_xid_, .xmax = next_xid_, .running = {}};
    for (const auto* const all : {&open_, &logged_}) {
      for (const Writer& writer : *all) {
        snapshot.running.push_back(writer.xid);
      }
    }
    return ordered(std::move(snapshot));
  }
  // As if all that the log has were visible.
  XidSnapshot snapshot_by_log() const {
    XidSnapshot snapshot{.xmin = next_xid_, .xmax = next_xid_, .running = {}};
    for (const Writer& writer : open_) {
      snapshot.running.push_back(writer.xid);
    }
    return ordered(std::move(snapshot));
  }

  // --- the stream ---
  struct Sent {
    std::uint64_t end;  // of the transaction
    std::string message;
  };
  const std::vector<Sent>& sent() const { return sent_; }
  static std::string relation() { return MadeLog::relation(); }

  std::size_t any(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }

  static constexpr Xid kFirstXid = (Xid{1} << 32U) - 60;  // numbers of 32 bits begin anew soon

 private:
  static constexpr std::size_t kIds = 60;
  static constexpr std::size_t kOpenMax = 5;

  struct Change {
    std::uint64_t before;  // 0: none
    std::uint64_t after;
  };
  struct Writer {
    Xid xid;
    std::vector<Change> changes;
    std::set<std::uint64_t> touched;  // ids that are locked
  };

  static XidSnapshot ordered(XidSnapshot snapshot) {
    std::ranges::sort(snapshot.running);
    if (!snapshot.running.empty()) {
      snapshot.xmin = snapshot.running.front();
    }
    return snapshot;
  }
  static void apply(const Writer& writer, Rows& rows) {
    for (const Change& change : writer.changes) {
      rows.erase(change.before);
      if (change.after != 0) {
        rows.insert(change.after);
      }
    }
  }
  void unlock(const Writer& writer) {
    for (const std::uint64_t id : writer.touched) {
      locked_.erase(id);
    }
  }
  bool lock(Writer& writer, std::uint64_t id) {
    if (!writer.touched.contains(id) && !locked_.insert(id).second) {
      return false;  // it would wait
    }
    writer.touched.insert(id);
    return true;
  }
  void change(Writer& writer) {
    Rows rows = visible_;
    apply(writer, rows);
    const std::uint64_t id = 1 + any(kIds);
    const std::uint64_t other = 1 + any(kIds);
    const bool is_there = rows.contains(id);
    if (!lock(writer, id)) {
      return;
    }
    if (!is_there) {
      writer.changes.push_back({.before = 0, .after = id});
    } else if (any(3) == 0 && !rows.contains(other) && lock(writer, other)) {
      writer.changes.push_back({.before = id, .after = other});
    } else if (any(2) == 0) {
      writer.changes.push_back({.before = id, .after = 0});
    } else {
      writer.changes.push_back({.before = id, .after = id});
    }
  }
  void end(std::size_t which) {
    if (any(5) == 0) {
      roll_back(which);
      return;
    }
    Writer writer = take(which);
    write(writer);
    logged_.push_back(std::move(writer));
  }
  void roll_back(std::size_t which) { unlock(take(which)); }
  Writer take(std::size_t which) {
    const auto place = open_.begin() + static_cast<std::ptrdiff_t>(which);
    Writer writer = std::move(*place);
    open_.erase(place);
    return writer;
  }
  void write(const Writer& writer) {
    std::vector<std::string> messages;
    for (const Change& change : writer.changes) {
      const MadeRow after = row_of(std::to_string(change.after));
      const MadeRow before = key_of(std::to_string(change.before));
      messages.push_back(change.before == 0              ? MadeLog::insert(after)
                         : change.after == 0             ? MadeLog::erase(before)
                         : change.after == change.before ? MadeLog::update(0, {}, after)
                                                         : MadeLog::update('K', before, after));
    }
    for (std::string& message :
         log_.transaction(static_cast<std::uint32_t>(writer.xid), std::move(messages))) {
      sent_.push_back({.end = log_.end(), .message = std::move(message)});
    }
  }

  std::minstd_rand random_;
  bool is_settled_ = false;
  Xid next_xid_ = kFirstXid;
  Rows visible_;
  std::set<std::uint64_t> locked_;
  std::deque<Writer> open_;
  std::deque<Writer> logged_;  // not visible yet
  MadeLog log_;
  std::vector<Sent> sent_;
};

}  // namespace cuckooguard::source::postgres
