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
// when it was asked, and that it is the same history. Redis's clock does not matter, nor does the
// length of an outage.
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
#include <vector>

#include "config/config.h"
#include "filled/change_queue.h"
#include "filled/filters.h"
#include "filled/filters_image.h"
#include "filled/log_entry.h"
#include "filled/log_reader.h"
#include "filled/store.h"
#include "io/clock.h"
#include "io/tls_credentials.h"
#include "io/worker.h"
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

inline constexpr std::uint64_t kPiecesMax = 65536;
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;

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
//            and in memory with what the image needs (filled/filters_image.h), so that a log goes
//            on beside it.
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

  struct Settings {
    std::string prefix = "cuckooguard:filters";  // without '{' and '}'
    std::string key;                             // the same for all guards; 16 bytes at least
    // How long what was proven to be here may be believed.
    std::chrono::milliseconds max_lag{1000};
    std::chrono::milliseconds change_wait{5000};
    std::size_t waiting_max = 65536;  // changes
    std::size_t waiting_bytes_max = std::size_t{64} << 20U;
    // A snapshot is due after so many entries, or bytes of them, and begun no sooner than
    // `snapshot_every` after the last try.
    std::uint64_t snapshot_entries = 100'000;
    std::uint64_t snapshot_bytes = std::uint64_t{64} << 20U;
    std::chrono::milliseconds snapshot_every{10'000};
    // After so many entries, or so much time if there were any, a guard says what it has applied.
    std::uint64_t digest_entries = 10'000;
    std::chrono::milliseconds digest_every{10'000};
  };

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
  bool is_current(filled::TimePoint now) const noexcept override;
  Status status() const;
  std::optional<filled::LogStatus> log() const override { return status(); }

 private:
  using TimePoint = filled::TimePoint;
  using milliseconds = std::chrono::milliseconds;

  struct Failure {
    State state = State::lost;
    std::string why;
    bool has_begun_anew = false;  // the log: an empty one is soon read
  };
  using Done = std::expected<void, Failure>;

  struct Meta {  // as a round finds it
    std::string generation;
    std::uint64_t seq = 0;
    std::string tag;
    std::uint64_t snapshot_seq = 0;
    std::string set;  // of the snapshot that stands; empty: none does
    bool wants_snapshot = false;
  };

  // --- filter_log.cpp ---
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

  // --- reading.cpp ---
  std::shared_ptr<Reply> request(std::span<const std::string_view> words);
  std::shared_ptr<Reply> request(std::initializer_list<std::string_view> words) {
    return request(std::span(words.begin(), words.size()));
  }
  std::expected<Reply, Failure> ask(std::initializer_list<std::string_view> words);
  std::unexpected<Failure> refused(const redisReply& error);
  Done load();
  Done load_snapshot(const std::string& generation, std::string_view text, std::string_view set);
  Done round();
  static Meta meta_of(const redisReply& reply);
  std::string proof_of(std::string_view generation) const;
  // `last`: what Redis has of the entry that was applied last; null: that was asked before.
  Done prove_history(const Reply* last, const Meta& meta);
  Done take(const redisReply& streams, const Meta& meta);
  Done apply(const filled::Entry& entry);
  std::unexpected<Failure> reread(const std::string& why, bool is_trouble = true);
  void ask_for_snapshot();
  // What is here is no longer current, and is read again.
  void forget();
  void proven(TimePoint asked_at);
  void note(const Meta& meta, TimePoint asked_at);

  // --- upkeep.cpp ---
  Done keep_up();
  // There is what only a guard with more room knows.
  bool is_unsure() const;
  Done become_sure(TimePoint now);
  void expire(TimePoint now);
  void say_digest(TimePoint now);
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
  mutable std::mutex mutex_;
  Status status_;

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
  std::unique_ptr<filled::LogReader> reader_;  // null: all is to be read
  std::string position_;                       // id of the entry that was read last
  std::string applied_id_;                     // and of the one that was applied last
  bool is_history_proven_ = false;             // that one is the one in this Redis
  std::string generation_;                     // the last one that was ready
  Meta meta_;
  TimePoint meta_at_{};  // when it was asked for
  std::optional<TimePoint> snapshot_at_;
  TimePoint keys_seen_at_{};
  std::uint64_t skipped_ = 0;
  std::uint64_t rereads_ = 0;
  // Since the last snapshot, and the last digest.
  std::uint64_t entries_ = 0;  // those that do not count included
  std::uint64_t bytes_ = 0;
  std::uint64_t undigested_ = 0;
  TimePoint digest_at_{};
  bool is_digest_due_ = false;
  TimePoint differed_at_{};
  bool is_snapshot_begun_ = false;
  TimePoint snapshot_begun_at_{};
  TimePoint snapshot_over_at_{};
  TimePoint kept_up_at_{};
  std::uint64_t unsure_told_ = 0;             // filters
  TimePoint sure_asked_at_{};                 // for a snapshot to become sure by
  milliseconds sure_wait_{0};                 // until it is asked for again; 0: it was not
  std::uint64_t sure_newer_than_ = 0;         // seq of the one that was there
  std::shared_ptr<SnapshotWriter> snapshot_;  // null: none is being written
  std::deque<filled::UnfinishedDump> dumps_;
  std::unordered_map<std::string, std::uint64_t> expiring_;  // incarnations, that were submitted
  TimePoint expiring_since_{};
};

}  // namespace cuckooguard::replicated
