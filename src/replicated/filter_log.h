// The log that all guards in front of one Redis share: a stream in which every change of a filter
// has its place, so that all guards have the same filters, and a restart finds them again.
//
//   submit ─▶ queue ─▶ append (a script) ─▶ {P}:log ─▶ XREAD ─▶ Filters::apply ─▶ Change::finish
//
// A change is done when its entry comes back, in order with everybody's: which guard was first is
// what the stream says. The script assigns the numbers of entries, which are dense; what an entry
// must be to count is filled/log_reader.h's. Beside the stream there are
//
//   {P}:meta              generation, number of the last entry, which snapshot stands
//   {P}:snapshot:<0|1>:<i>  its pieces; the other set is what the next one is written to
//   {P}:lock              who writes the next one
//
// of which a cluster has all in one slot. Which Redis that is, FindRedis says: when it is another
// one (a failover, or the slot has moved), nothing that the one before says counts any more, and
// the log goes on there. Redis is the truth. What it has lost is lost: after a crash that is what
// `appendfsync` allows, after a failover what the replica had not yet got. Whoever was connected
// anew compares the last entry that was applied here with the one in Redis, so that an end that is
// lost is noticed, whatever came in its place; then all is read again. A Redis that must not be
// written to tells nothing: it may be a master of before. A Redis without {P}:meta (FLUSHALL, an
// empty one) begins a new generation, in which there is no filter. The guards' clocks should agree:
// a filter expires when one of them says so. Scripts are sent as they are, by EVAL: by EVALSHA,
// what is sent again after SCRIPT FLUSH would come behind what was sent after it.
//
// Who may write to this Redis can make guards forget, as anyone who may delete can, and keep them
// from being current; he cannot have them do what no guard has asked for, or anything twice.
//
// A round asks, on one connection, whether this Redis may be written to, for {P}:meta and for new
// entries of the log; a read that finds nothing waits there. Numbers are dense, and meta has the
// number and the tag of the last entry: so a round proves that everything is here that Redis had
// when it was asked, and that it is the same history (replicated/replica.h). Redis's clock does not
// matter, nor does the length of an outage.
//
// Look-ups: ask is_current() after the look-up, and that Filters::version() is the one of before:
// while all is read again, filters are not what they were.
//
// Threads:   construct, start and destroy from the owner's thread; submit(), is_current() and
//            status() from any. The calls run on a thread of its own, which is the one writer of
//            the filters; they may submit().
// Lifetimes: `filters` and `tls` outlive it. What is still waiting at the end is finished.
// Errors:    outcomes: `not_in_log` if it was surely not done, `unknown` if it may have been. What
//            does not let the log be read is a state, and tried again.
// Limits:    Settings. Two connections; kInFlightMax entries of its own that have not come back.
//            Snapshots and dumps are read in turns of filled::kImageTurn, and entries applied
//            between them; a snapshot that is read is in memory as a whole. Redis 6.2 or newer, or
//            Valkey.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "config/config.h"
#include "filled/change_queue.h"
#include "filled/filters.h"
#include "filled/filters_image.h"
#include "filled/log_entry.h"
#include "filled/store.h"
#include "io/clock.h"
#include "io/tls_credentials.h"
#include "io/worker.h"
#include "replicated/replica.h"
#include "upstream/redis_client.h"

namespace cuckooguard::replicated {

using upstream::RedisClient;
using upstream::RedisPlace;
using upstream::Reply;

// What a FilterLog has Redis do atomically: its keys, and its scripts in Lua.
//
// Each script changes nothing, and says so, when its arguments no longer hold. All keys are in one
// slot of a cluster by their hash tag; those of a snapshot's pieces are made from KEYS' first.
//
// Threads: plain values. Errors: what has failed with an error of Redis has not appended anything.
// Source: https://redis.io/docs/latest/develop/interact/programmability/eval-intro.

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

class FilterLog final : public filled::Store {
 public:
  using State = filled::LogState;
  using Status = filled::LogStatus;

  // The Redis that has this key at the moment; nothing: it is not known. On the log's thread.
  using FindRedis = std::function<std::optional<RedisPlace>(std::string_view key)>;

  using Settings = LogSettings;

  struct Calls {
    std::function<void(State, const std::string& why)> on_state;  // on change
    // The filters are those of a generation that was not here before, also the first one. It is
    // ready: what is submitted goes into it.
    std::function<void()> on_new_generation;
    // Entries that nobody with the key has written, or a history that is not what it was. At most
    // once per kTroubleEvery.
    std::function<void(const std::string& what)> on_trouble;
  };
  static constexpr std::chrono::seconds kTroubleEvery{10};
  static constexpr std::size_t kInFlightMax = 64;

  FilterLog(FindRedis find_redis,
            Settings settings,
            filled::Filters& filters,
            Calls calls,
            const io::TlsSlot* tls = nullptr);
  FilterLog(const FilterLog&) = delete;
  FilterLog& operator=(const FilterLog&) = delete;
  ~FilterLog() override;

  void start();

  void submit(std::shared_ptr<filled::Change> change) override;
  void flushed(std::shared_ptr<filled::Change> change) override;
  bool is_current(filled::TimePoint now) const noexcept override;
  Status status() const;
  std::optional<filled::LogStatus> log() const override { return status(); }

 private:
  using TimePoint = filled::TimePoint;
  using milliseconds = std::chrono::milliseconds;

  void run();
  Done step();
  void fail(const Failure& failure);
  void become(State state, const std::string& why);
  void tell_trouble(const std::string& what);
  void publish();
  Done connect();
  Done see_that_keys_stay();
  bool is_lost() const;
  // Neither connection is used any more; why.
  std::string cut();
  static std::string random_name();
  // Until it is done; false: it is not, because of the time, the end, or a lost connection.
  bool pump(const std::function<bool()>& is_done, TimePoint until);
  // The same, for what following_ was asked; longer while something comes. False, too, if the log
  // is in another Redis by now: what a master of before says is nothing.
  bool await(const Reply& reply, milliseconds wait);
  void send_waiting();
  void append(std::uint64_t counter, const std::string& body);

  // What following_ is asked: the reply's place.
  std::shared_ptr<Reply> request(std::span<const std::string_view> words);
  std::shared_ptr<Reply> request(std::initializer_list<std::string_view> words) {
    return request(std::span(words.begin(), words.size()));
  }
  std::expected<Reply, Failure> ask(std::initializer_list<std::string_view> words);
  std::unexpected<Failure> refused(const redisReply& error);
  Done load();
  Done load_snapshot(const std::string& generation, std::string_view text, std::string_view set);
  Done round();
  // Whether all is here that Redis had at `asked_at`. `last`: the entry of Replica::id_to_prove();
  // null: it was not asked for.
  std::expected<bool, Failure> follow(const redisReply& told,
                                      const redisReply* last,
                                      const redisReply& streams,
                                      TimePoint asked_at);
  void proven(TimePoint asked_at);
  void finish_flushed(TimePoint asked_at);
  // What is here is no longer current, and is read again, because of this.
  std::unexpected<Failure> left_by(Failure failure);
  void forget();
  void ask_for_snapshot();

  Done keep_up();
  void expire(TimePoint now);
  void begin_snapshot(TimePoint now);
  void write_snapshot(const std::string& token);
  void end_snapshot(const std::string& token, const std::string& why_not);
  // A turn of each that is being read. False: there is nothing to do until something comes.
  bool read_images();
  void take_turn_of_dump();
  void give_up_dumps();

  FindRedis find_redis_;
  Settings settings_;
  filled::Filters& filters_;
  Calls calls_;
  LogKeys keys_;
  filled::LogKey key_;
  filled::ChangeQueue queue_;
  std::atomic<TimePoint::rep> current_until_{0};
  struct Flushed {
    std::shared_ptr<filled::Change> change;
    TimePoint at;
  };

  mutable std::mutex mutex_;  // of these
  Status status_;
  std::deque<Flushed> flushed_;  // of clients, each of which waits for one

  io::Worker worker_;

  // The thread's.
  std::optional<RedisPlace> place_;  // of both connections
  std::unique_ptr<RedisClient> appending_;
  std::unique_ptr<RedisClient> following_;
  std::optional<State> state_;  // as told
  std::string why_;
  milliseconds pause_{0};  // before the next try
  TimePoint ready_since_{};
  TimePoint trouble_told_{};
  std::string writer_;  // of this connection
  std::uint64_t counter_ = 0;
  Replica replica_;
  std::string generation_;  // the last one that was ready
  TimePoint keys_seen_at_{};
  bool is_snapshot_begun_ = false;
  TimePoint snapshot_begun_at_{};
  TimePoint snapshot_over_at_{};
  TimePoint kept_up_at_{};
  std::shared_ptr<SnapshotWriter> snapshot_;  // null: none is being written
  std::deque<filled::UnfinishedDump> dumps_;
  std::unordered_map<std::string, std::uint64_t> expiring_;  // incarnations, that were submitted
  TimePoint expiring_since_{};
};

}  // namespace cuckooguard::replicated
