// A database, its log, and what it was at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace cuckooguard::source::stream {

// A row has an id, which is its primary key, and a code, which others may have, too.
struct Logged {
  std::size_t table = 0;
  int id = 0;
  std::optional<int> before{};  // the code
  std::optional<int> after{};
  std::int64_t committed_ms = 0;
  std::uint64_t commit = 0;  // PostgreSQL: the LSN of the commit before its transaction
  std::uint64_t pos = 0;
  bool is_truncate = false;
};

class MadeDatabase {
 public:
  using Rows = std::vector<std::map<int, int>>;  // of each table: id and code

  explicit MadeDatabase(std::size_t tables) : rows(tables) {}

  void insert(std::size_t table, int id, int code, std::int64_t now_ms) {
    if (!rows[table].contains(id)) {
      append({.table = table, .id = id, .after = code}, now_ms);
    }
  }
  void update(std::size_t table, int id, int code, std::int64_t now_ms) {
    if (const auto row = rows[table].find(id); row != rows[table].end()) {
      append({.table = table, .id = id, .before = row->second, .after = code}, now_ms);
    }
  }
  void remove(std::size_t table, int id, std::int64_t now_ms) {
    if (const auto row = rows[table].find(id); row != rows[table].end()) {
      append({.table = table, .id = id, .before = row->second}, now_ms);
    }
  }
  // An update of the primary key: both at one place.
  void move(std::size_t table, int id, int to, std::int64_t now_ms) {
    const auto row = rows[table].find(id);
    if (row == rows[table].end() || rows[table].contains(to)) {
      return;
    }
    const int code = row->second;
    append({.table = table, .id = id, .before = code}, now_ms);
    next_pos_ -= kStep;
    append({.table = table, .id = to, .after = code}, now_ms);
  }
  void truncate(std::size_t table, std::int64_t now_ms) {
    append({.table = table, .is_truncate = true}, now_ms);
  }
  // What is appended from here on is of the next transaction.
  void commit() { commit_ = next_pos_; }
  // RESET MASTER: positions begin again.
  void reset_log() {
    next_pos_ = kStep;
    commit_ = 0;
    first_ = log.size();
  }
  std::size_t first() const { return first_; }  // since the log began
  std::uint64_t pos() const { return next_pos_; }

  Rows rows_at(std::size_t length) const {
    Rows all(rows.size());
    for (std::size_t i = 0; i < length; ++i) {
      apply(log[i], all);
    }
    return all;
  }

  Rows rows;
  std::vector<Logged> log;

 private:
  static constexpr std::uint64_t kStep = 100;

  static void apply(const Logged& change, Rows& to) {
    if (change.is_truncate) {
      to[change.table].clear();
    } else if (change.after) {
      to[change.table][change.id] = *change.after;
    } else {
      to[change.table].erase(change.id);
    }
  }
  void append(Logged change, std::int64_t now_ms) {
    change.committed_ms = now_ms;
    change.commit = commit_;
    change.pos = next_pos_;
    next_pos_ += kStep;
    apply(change, rows);
    log.push_back(change);
  }

  std::uint64_t next_pos_ = kStep;
  std::uint64_t commit_ = 0;
  std::size_t first_ = 0;
};

}  // namespace cuckooguard::source::stream
