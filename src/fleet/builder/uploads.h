// Snapshots on their way into Redis, and those that can be had there.
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
#include <string>
#include <vector>

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

  explicit Uploads(const Keys& keys) : keys_(keys) {}

  // Of a file that is open, so that another one may take its place.
  void add(Snapshot snapshot, std::ifstream file);
  bool has(TableId table) const;  // it is on its way
  bool is_idle() const { return waiting_.empty(); }
  // Pieces. What is there in whole is among the standing.
  Done step(Redis& redis);
  void give_up() { waiting_.clear(); }

  // The snapshots of a manifest that another builder has made.
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
  // Whether all its pieces are there.
  std::expected<bool, std::string> is_whole(Redis& redis, const Snapshot& snapshot) const;

 private:
  struct Upload {
    Snapshot snapshot;
    std::ifstream file;
    std::uint64_t pieces = 0;
    std::string hashes{};  // of them
  };

  static std::uint64_t pieces_of(const Snapshot& snapshot) {
    return (snapshot.bytes + kPieceBytes - 1) / kPieceBytes;
  }
  Done put_piece(Redis& redis, Upload& upload);

  const Keys& keys_;
  std::deque<Upload> waiting_;
  std::map<TableId, Snapshot> standing_;
  std::vector<Snapshot> kept_;  // whose pieces stay
};

}  // namespace cuckooguard::fleet
