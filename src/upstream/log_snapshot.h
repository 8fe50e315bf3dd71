// A snapshot of filters in Redis: what was applied up to one entry of their log, in pieces, and the
// line in {P}:meta that names it.
//
//   line      u64 seq, text id of that entry in the stream, u64 bytes, tag
//   content   state of the LogReader, then the image of the filters; in pieces of kPieceBytes
//   tag       HMAC of generation, seq, id, bytes and content
//
// Threads:   one. Lifetimes: the key outlives all.
// Errors:    what is no line is nothing; a SnapshotWriter that fails says why.
// Limits:    kPiecesMax, within kPieceStays. kPiecesAhead are sent before the first has been taken,
// and in memory with
//            what the image needs (filled/filters_image.h), so that a log goes on beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "filled/filters_image.h"
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
  static constexpr std::uint64_t kPiecesAhead = 2;
  // Milliseconds: of the lock, without another piece; of pieces, which must all be there in the
  // end.
  static constexpr std::string_view kLockStays = "60000";
  static constexpr std::string_view kPieceStays = "3600000";

  struct Plan {
    std::string generation;
    std::string token;  // with which the lock is held
    std::string set;
    std::string entry_tag;  // of the entry that the line names: it must still be there
    SnapshotLine line;      // its tag and its bytes are yet to come
    std::string front;      // of the content
    std::shared_ptr<filled::FiltersImage> image;
  };
  // Empty `why`: it stands.
  using OnEnd = std::function<void(const std::string& why)>;

  SnapshotWriter(const LogKeys& keys, const filled::LogKey& key, Plan plan, OnEnd on_end);

  const SnapshotLine& line() const { return plan_.line; }
  // For filled::kImageTurn; `redis`, which is the same each time, keeps it until its replies have
  // come. False: there is nothing to do before one of them has.
  bool work(PipelinedRedis& redis);
  // What it is of is not what the log says any more. on_end() is not called.
  void abandon();

 private:
  enum class Next : std::uint8_t { step, piece, reply, end };
  Next next() const;
  bool do_next(PipelinedRedis& redis);
  void read_image();
  void fail(const std::string& why);
  void put_piece(PipelinedRedis& redis);
  void let_stand(PipelinedRedis& redis);

  const LogKeys& keys_;
  Plan plan_;
  filled::Mac mac_;
  OnEnd on_end_;
  std::string content_;  // that was not sent yet
  bool has_all_ = false;
  std::uint64_t sent_ = 0;
  std::uint64_t taken_ = 0;
  bool is_ending_ = false;
};

}  // namespace cuckooguard::upstream
