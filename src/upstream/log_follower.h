// What a FilterLog does on its thread: connects, reads what Redis has, follows its log and appends
// to it. filter_log.h says what that promises.
//
// A round asks whether this Redis may be written to, for {P}:meta and for what is new in the log,
// on one connection; a read that found nothing waits there. Numbers are dense, and meta says which
// is the last one and what its tag is: so a round proves that all is here that Redis had when it
// was asked, and that it is the same history. Clocks of Redis do not count, nor does it how long a
// connection was away.
//
// Threads:   submit(), is_current() and status() from any; run() is the thread.
// Lifetimes: `filters` and `tls` outlive it.
// Errors:    a Failure ends what is being done; then it is tried again, later each time.
// Limits:    kInFlightMax entries of its own have not come back. Snapshots and dumps are read from
//            images in turns of filled::kImageTurn, between which entries are applied; of dumps
//            there are as many as are submitted at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "filled/change_queue.h"
#include "filled/log_reader.h"
#include "io/clock.h"
#include "upstream/filter_log.h"
#include "upstream/log_scripts.h"
#include "upstream/log_snapshot.h"
#include "upstream/pipelined_redis.h"
#include "upstream/redis_reply.h"
#include "upstream/wake_up.h"

namespace cuckooguard::upstream {

class LogFollower {
 public:
  using State = FilterLog::State;
  static constexpr std::size_t kInFlightMax = 64;

  LogFollower(FilterLog::FindRedis find_redis,
              FilterLog::Settings settings,
              filled::Filters& filters,
              FilterLog::Calls calls,
              const io::TlsSlot* tls);

  void submit(std::shared_ptr<filled::Change> change);
  bool is_current(filled::TimePoint now) const noexcept;
  FilterLog::Status status() const;

  void run(const std::stop_token& stop);

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

  // --- log_follower.cpp ---
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
  void exchange(TimePoint until);
  void send_waiting();
  void append(std::uint64_t counter, const std::string& body);

  // --- log_reading.cpp ---
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
  // What is here is not current any more, and is read again.
  void forget();
  void proven(TimePoint asked_at);
  void note(const Meta& meta, TimePoint asked_at);

  // --- log_upkeep.cpp ---
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

  FilterLog::FindRedis find_redis_;
  const io::TlsSlot* tls_;
  FilterLog::Settings settings_;
  filled::Filters& filters_;
  FilterLog::Calls calls_;
  LogKeys keys_;
  filled::LogKey key_;
  filled::ChangeQueue queue_;
  WakeUp wake_up_;
  std::atomic<TimePoint::rep> current_until_{0};
  mutable std::mutex mutex_;
  FilterLog::Status status_;

  // The thread's.
  std::stop_token stop_;
  std::optional<RedisPlace> place_;  // of both connections
  std::unique_ptr<PipelinedRedis> appending_;
  std::unique_ptr<PipelinedRedis> following_;
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

}  // namespace cuckooguard::upstream
