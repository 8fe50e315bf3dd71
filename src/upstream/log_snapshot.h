// A snapshot of filters in Redis: what was applied up to one entry of their log, in pieces, and the
// line in {P}:meta that names it.
//
//   line      u64 seq, text id of that entry in the stream, u64 bytes, tag
//   content   state of the LogReader, then the dump of the filters; in pieces of kPieceBytes
//   tag       HMAC of generation, seq, id, bytes and content
//
// Threads:   one. Lifetimes: the key outlives all.
// Errors:    what is no line is nothing; a SnapshotWriter that fails says why.
// Limits:    kPiecesMax; the whole content is in memory. kPiecesAhead are sent before the first
//            has been taken, so that a log goes on beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "filled/log_entry.h"
#include "upstream/log_scripts.h"
#include "upstream/pipelined_redis.h"

namespace cuckooguard::upstream {

struct SnapshotLine {
  std::uint64_t seq = 0;
  std::string id;
  std::uint64_t bytes = 0;
  std::string tag{};

  std::uint64_t pieces() const { return (bytes + kPieceBytes - 1) / kPieceBytes; }
  std::string text() const;
  static std::optional<SnapshotLine> read(std::string_view text);
};

// To which the content is added, piece by piece.
filled::Mac begin_snapshot_tag(const filled::LogKey& key,
                               std::string_view generation,
                               const SnapshotLine& line);

class SnapshotWriter : public std::enable_shared_from_this<SnapshotWriter> {
 public:
  static constexpr std::uint64_t kPiecesAhead = 4;
  static constexpr std::string_view kStays = "60000";  // milliseconds, of lock and loose pieces

  struct Plan {
    std::string generation;
    std::string token;  // with which the lock is held
    std::string set;
    std::string entry_tag;  // of the entry that the line names: it must still be there
    SnapshotLine line;      // its tag is yet to come
    std::string content;
  };
  // Empty `why`: it stands.
  using OnEnd = std::function<void(const std::string& why)>;

  SnapshotWriter(const LogKeys& keys, const filled::LogKey& key, Plan plan, OnEnd on_end);

  // Once; `redis` keeps it until its replies have come.
  void start(PipelinedRedis& redis) { go_on(redis); }
  // What it is of is not what the log says any more. on_end() is not called.
  void abandon() { is_ending_ = true; }

 private:
  void go_on(PipelinedRedis& redis);
  void put_piece(PipelinedRedis& redis);
  void let_stand(PipelinedRedis& redis);

  const LogKeys& keys_;
  Plan plan_;
  filled::Mac mac_;
  OnEnd on_end_;
  std::uint64_t sent_ = 0;
  std::uint64_t taken_ = 0;
  bool is_ending_ = false;
};

}  // namespace cuckooguard::upstream
