// Snapshots on their way into Redis, and those that can be had there; or with files in which they
// are kept (snapshot_files.h), those that are read for their hashes, and can be had of these.
//
//   add(snapshot, file) ─▶ step() … ─▶ standing() of a manifest ─▶ stands()
//
// Pieces go by themselves after a while; those of a manifest that stands stay.
//
// Threads:   one. Lifetimes: what add() is given is its own.
// Errors:    a sentence: Redis or the file; that snapshot is given up, and wanted again.
// Limits:    kPiecesAtOnce of 1 MiB for each step; one snapshot of a table.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "builder/snapshot_files.h"
#include "fleet/chain.h"
#include "fleet/layout.h"
#include "source/source_kind.h"

namespace cuckooguard::fleet {

class Uploads {
 public:
  static constexpr int kPiecesAtOnce = 4;
  static constexpr std::string_view kPieceStays = "3600";  // seconds, until its manifest stands
  static constexpr std::string_view kOldStays = "60";      // for those who are reading it

  using Done = std::expected<void, std::string>;
  using Redis = source::RedisSession;

  // `files`: null: into Redis.
  explicit Uploads(const Keys& keys, const SnapshotFiles* files = nullptr)
      : keys_(keys), files_(files) {}

  // Of a file that is open, so that another one may take its place.
  void add(Snapshot snapshot, std::ifstream file);
  bool has(TableId table) const;  // it is on its way
  bool is_idle() const { return waiting_.empty(); }
  // Pieces. What is there in whole is among the standing.
  Done step(Redis& redis);
  void give_up() { waiting_.clear(); }

  // The snapshots of a manifest that another builder has made; those that are in files of its own
  // cannot be had here.
  void adopt(const Manifest& manifest);
  void forget(TableId table) { standing_.erase(table); }
  // Of a log that is over.
  Done forget_all(Redis& redis) {
    standing_.clear();
    return stands(redis);
  }
  std::map<TableId, Snapshot>& standing() { return standing_; }
  const std::map<TableId, Snapshot>& standing() const { return standing_; }
  // The manifest that is there now has them: their pieces stay, and those of before go.
  Done stands(Redis& redis);
  // All that are needed.
  std::set<std::string> names() const;
  // Whether all its pieces are there.
  std::expected<bool, std::string> is_whole(Redis& redis, const Snapshot& snapshot) const;

 private:
  struct Upload {
    Snapshot snapshot;
    std::ifstream file;
    std::uint64_t pieces = 0;
    std::string hashes{};  // of them
  };

  // In Redis.
  static std::uint64_t pieces_of(const Snapshot& snapshot) {
    return snapshot.is_at_builder ? 0 : pieces_in(snapshot.bytes);
  }
  bool has_file(const Snapshot& snapshot) const {
    return files_ != nullptr && files_->has(snapshot.name);
  }
  Done put_piece(Redis& redis, Upload& upload);

  const Keys& keys_;
  const SnapshotFiles* files_;
  std::deque<Upload> waiting_;
  std::map<TableId, Snapshot> standing_;
  std::vector<Snapshot> kept_;  // whose pieces stay
};

}  // namespace cuckooguard::fleet
