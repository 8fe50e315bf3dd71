// What a FilterLog has Redis do atomically, by scripts in Lua, its keys, and how a snapshot gets
// into Redis.
//
// Each script changes nothing, and says so, when its arguments no longer hold. All keys are in one
// slot of a cluster by their hash tag; those of a snapshot's pieces are made from KEYS' first.
//
// Threads: plain values. Errors: what has failed with an error of Redis has not appended anything.
// Source: https://redis.io/docs/latest/develop/interact/programmability/eval-intro.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "filled/filters_image.h"
#include "filled/log_entry.h"
#include "replicated/replica.h"
#include "upstream/redis_client.h"

namespace cuckooguard::replicated {

using upstream::RedisClient;
using upstream::Reply;

struct LogKeys {
  explicit LogKeys(const std::string& prefix);

  std::string piece(std::string_view set, std::uint64_t number) const {
    return pieces + std::string(set) + ":" + std::to_string(number);
  }

  std::string log;
  std::string meta;
  std::string lock;
  std::string pieces;  // of snapshots, in two sets
};

// KEYS meta log lock pieces; ARGV generation, proof. Begins this generation if there is none.
// Says which one there is: generation, proof, snapshot, set.
std::string_view begin_script();
// KEYS meta log; ARGV generation, after, window, writer, counter, body, tag. The entry's number; 0:
// it is another generation; -1: the writer is too far behind, or knows of what is not there.
std::string_view append_script();
// KEYS meta lock piece; ARGV token, set, bytes, milliseconds that piece and lock stay if no more
// come. 0: the lock is not the token's, or the set is the one that stands.
std::string_view put_piece_script();
// KEYS lock; ARGV token.
std::string_view unlock_script();
// KEYS meta log lock pieces; ARGV generation, token, set, how many pieces, snapshot, its seq, its
// id, the tag of that entry. 0: it does not stand. What is behind it in the log goes, and the
// pieces of the one before.
std::string_view stand_script();

// Writes a snapshot of filters into Redis: its pieces, and the line in {P}:meta that names it
// (SnapshotLine).
//
// Threads:   one. Lifetimes: the key outlives it.
// Errors:    one that fails says why.
// Limits:    SnapshotLine::kPiecesMax, within kPieceStays. kPiecesAhead are sent before the first
//            has been taken, and in memory with what the image needs (filled/filters_image.h), so
//            that a log goes on beside it.
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
  bool work(RedisClient& redis);
  // Its content no longer matches the log. on_end() is not called.
  void abandon();

 private:
  enum class Next : std::uint8_t { step, piece, reply, end };
  Next next() const;
  bool do_next(RedisClient& redis);
  void read_image();
  void fail(const std::string& why);
  void put_piece(RedisClient& redis);
  void let_stand(RedisClient& redis);

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

}  // namespace cuckooguard::replicated
