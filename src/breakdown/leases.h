// The leases of one namespace: who may load which key, and who waits for it.
//
//   key:  no entry ─ nil ─▶ leased to the connection that had the nil; more of them wait
//         leased   ─ a write of the key ──────────▶ all who wait ask Redis again
//                  ─ its time, or its owner goes ─▶ to who has waited longest, with the nil of then
//         queued   only with max_concurrent_misses, while so many keys are leased: the first one
//                  waits, too, until a lease ends by a write or with its owner, or kLate after its
//                  time, for so long its client may still be loading
//
// With `scope: redis`, whoever would have the lease waits until it has been asked for in the Redis
// that guards share (SharedLeases), for kAskMost:
//
//         asked ─ ours, failed, no answer ─▶ leased
//           ├ the key has a value by now ──▶ all who wait ask Redis again
//           └ elsewhere ─ the key is written ─▶ the same
//                       └ that lease has ended, or its time is over ─▶ asked
//
// What is in Redis only says who loads: if it is lost, one more does.
//
// A lease lasts kUsualTimes times what this namespace usually needs from a nil to the SET, or what
// the configuration says. What a SET needs that comes after the lease's end counts, too, for kLate:
// a database that has become slow must not look like clients that never set.
//
// A connection waits no longer than `hold` after its first nil, and only where its address lets it
// (addresses.h). In doubt it does not.
//
// Threads: any; one lock for all keys, taken by misses and by writes of keys while there is an
// entry. Lifetimes: shared by those that wait or have a lease. Limits: kKeysMax keys, above which
// misses are not looked at; one wait for each connection; kPastMax outcomes that are still open for
// each key.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "breakdown/addresses.h"
#include "config/config.h"
#include "filter/key_hash.h"
#include "guard/loads.h"

namespace cuckooguard::breakdown {

class Connection;
class Leases;

// The leases that guards share, in their Redis (redis_leases.h).
//
// Threads: any, from within Leases' lock as well; what Leases is told comes on a thread of its own,
// without a lock of its that ask() takes. Limits: it refuses what would be too much.
class SharedLeases : boost::noncopyable {
 public:
  struct Ask {
    std::uint64_t by = 0;  // join()
    std::uint64_t key = 0;
    std::uint64_t ticket = 0;
    std::string name{};
    int db = 0;
    std::chrono::milliseconds lasts{};
  };
  enum class Answer : std::uint8_t {
    ours,
    elsewhere,  // another guard has it; pushed() or ended() tells when that is over
    unwatched,  // the same, and nothing tells
    ended,      // another guard had it until now
    there,      // Redis has the key
    failed,
  };

  virtual ~SharedLeases() = default;

  virtual std::uint64_t join(Leases& leases) = 0;
  virtual void leave(std::uint64_t leases) = 0;  // it is told nothing any more
  // Leases::answered() follows. False: not now, or not for this key.
  virtual bool ask(Ask ask) = 0;
  virtual void release(std::string_view name, int db) = 0;
};

class Leases final : public guard::Loads, public std::enable_shared_from_this<Leases> {
 public:
  static constexpr std::size_t kKeysMax = 16'384;
  static constexpr std::size_t kPastMax = 4;
  static constexpr std::chrono::milliseconds kLeaseLeast{20};
  static constexpr std::chrono::milliseconds kLeaseMost{500};
  static constexpr int kUsualTimes = 4;
  static constexpr std::chrono::milliseconds kLate{1000};
  // A SET that comes so soon after a wait has ended by time may have waited for that.
  static constexpr std::chrono::milliseconds kSoon{5};
  static constexpr std::chrono::milliseconds kAskMost{20};
  static constexpr std::chrono::milliseconds kAskEvery{20};  // where nothing tells
  static constexpr std::size_t kNameMax = 1024;  // longer keys are not asked for in Redis

  // Another process's leases count, too, if it has `shared` ones and `settings` say so; of keys in
  // this database.
  Leases(config::Breakdown settings,
         std::shared_ptr<Addresses> addresses,
         const filter::HashSecret& secret,
         std::shared_ptr<SharedLeases> shared = nullptr,
         int db = 0);
  ~Leases() override;
  Leases(const Leases&) = delete;
  Leases& operator=(const Leases&) = delete;

  std::uint64_t hash(std::string_view key) const override { return hash_(key); }
  std::unique_ptr<guard::Misses> connect(text::Network network,
                                         std::shared_ptr<guard::KnownReplies> known,
                                         void* waiter) override;
  void written(std::uint64_t key, const guard::Misses* by, bool has_value, TimePoint now) override;
  void close() override;
  Now now() const override;
  const std::shared_ptr<Addresses>& addresses() const { return addresses_; }
  std::shared_ptr<SharedLeases> shared() const;

  // By SharedLeases. False: a lease that is ours is of no use any more.
  bool answered(std::uint64_t key,
                std::uint64_t ticket,
                SharedLeases::Answer answer,
                TimePoint now);
  // In Redis this key has changed, or another guard's lease of it has ended. Empty: nobody tells
  // any more; all who wait for others ask Redis again.
  void pushed(std::string_view name, TimePoint now);
  void ended_elsewhere(std::string_view name, TimePoint now);

 private:
  friend class Connection;

  using Names = std::list<std::uint64_t>;  // of keys
  using Waiters = std::list<Connection*>;

  enum class Elsewhere : std::uint8_t { no, asked, yes };

  // Of a lease that has ended without a write: one may yet come.
  struct Past {
    std::uint64_t address = 0;
    TimePoint ended{};
  };
  struct Key {
    const Connection* owner = nullptr;  // of the lease; null: none
    std::uint64_t address = 0;          // the owner's
    TimePoint until{};                  // of the lease
    TimePoint since{};                  // the first nil after the last SET
    TimePoint hold_ended{};             // a wait for it has ended by time; of a connection at:
    std::uint64_t hold_address = 0;
    std::uint64_t would_be_held = 0;
    std::string name{};  // empty: it is not asked for in Redis
    Elsewhere elsewhere = Elsewhere::no;
    TimePoint asks_at{};       // unless `no`: for so long nothing need be done
    std::uint64_t ticket = 0;  // of what has no answer yet; 0: nothing
    bool is_shared = false;    // the owner's lease is in Redis, too
    Waiters waiters{};         // who has waited longest first
    std::vector<Past> past{};  // the first ended first
    // Its places; the end of the list: it is not there.
    Names::iterator in_leases{};
    Names::iterator in_late{};
    Names::iterator in_queue{};
  };
  using Keys = std::unordered_map<std::uint64_t, Key>;

  bool missed(Connection& client,
              const guard::Misses::Key& key,
              guard::Misses::May may,
              TimePoint now);
  guard::Misses::Next next(Connection& client, TimePoint now);
  void end(Connection& client, guard::Misses::End how, TimePoint now);
  void gone(std::uint64_t key, const Connection& owner, TimePoint now);

  bool has_place() const {
    return settings_.max_concurrent_misses == 0 ||
           leased_ + late_loads_ + asked_ < settings_.max_concurrent_misses;
  }
  Keys::iterator make(const guard::Misses::Key& key);
  bool may_wait(Connection& client, const Key& of, TimePoint now);
  void wait(Connection& client, Keys::iterator at);
  void enqueue(Keys::iterator at);
  void wait_on(Connection& client) const;
  void stop_waiting(Connection& client, TimePoint now);
  void lease(Connection& client, Keys::iterator at, TimePoint now);
  enum class LeaseEnd : std::uint8_t { write, time, gone };
  void end_lease(Keys::iterator at, LeaseEnd how, TimePoint now);
  void hand_over(Keys::iterator at, TimePoint now);
  void grant(Keys::iterator at, TimePoint now);
  bool ask(Keys::iterator at, TimePoint now);
  void ask_again(Keys::iterator at, TimePoint now);
  void ask_if_due(std::uint64_t key, TimePoint now);
  void stop_asking(Key& of);
  void leave();
  void let_ask(Key& of);
  void admit_next(TimePoint now);
  void expire(TimePoint now);
  void judge_past(TimePoint now);
  void credit(Keys::iterator at, std::uint64_t writer, TimePoint now);
  void drop_if_idle(Keys::iterator at);
  TimePoint::duration lease_time() const;

  const config::Breakdown settings_;
  const std::shared_ptr<Addresses> addresses_;
  const filter::KeyHash hash_;

  mutable std::mutex mutex_;
  std::atomic<std::size_t> size_{0};  // keys_.size(): without one, a write need not lock
  Keys keys_;
  Names leases_;  // those that are leased, the oldest lease first
  Names late_;    // those with a past, by the end of its first
  Names queue_;   // those that wait for a place
  std::size_t leased_ = 0;
  std::size_t late_loads_ = 0;  // all keys' pasts: they may still be loading
  std::size_t asked_ = 0;
  std::size_t held_ = 0;
  TimePoint::duration usual_{};
  const int db_;
  std::shared_ptr<SharedLeases> shared_;  // null: none, or it is closed
  std::uint64_t number_ = 0;              // there; 0: it has not joined
  std::uint64_t tickets_ = 0;
  bool is_closed_ = false;
};

// One client's connection: waits for one key at a time, and has leases of any number of them.
//
// Threads: its worker's; what the lock of the namespace in which it waits keeps, any.
class Connection final : public guard::Misses {
 public:
  static constexpr std::size_t kLeasesKept = 64;  // those before last only until their time

  Connection(std::shared_ptr<Addresses> addresses,
             text::Network network,
             std::shared_ptr<guard::KnownReplies> known,
             void* waiter)
      : addresses_(std::move(addresses)),
        address_(addresses_->connect(network)),
        known_(std::move(known)),
        waiter_(waiter) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() override { addresses_->disconnect(address_); }

  bool missed(guard::Loads& of, const Key& key, May may, TimePoint now) override;
  Next next(TimePoint now) override;
  TimePoint until() const override { return until_; }
  void end(End how, TimePoint now) override;
  void gone(TimePoint now) override;

 private:
  friend class Leases;

  // `ask` and `take`: it was woken, and waits among the key's no more. To `take`: with a lease.
  enum class State : std::uint8_t { idle, waits, ask, take };

  void wake(State state);
  void remember(std::weak_ptr<Leases> leases, std::uint64_t key) {
    if (leases_.size() == kLeasesKept) {
      leases_.erase(leases_.begin(), leases_.begin() + kLeasesKept / 2);
    }
    leases_.emplace_back(std::move(leases), key);
  }

  const std::shared_ptr<Addresses> addresses_;
  const std::uint64_t address_;
  const std::shared_ptr<guard::KnownReplies> known_;
  void* const waiter_;

  std::shared_ptr<Leases> waits_for_;  // null: it has not had a nil that waits
  std::vector<std::pair<std::weak_ptr<Leases>, std::uint64_t>> leases_;
  TimePoint until_{};

  // By the lock of `waits_for_`:
  State state_ = State::idle;
  std::uint64_t key_ = 0;
  Leases::Waiters::iterator place_{};
  TimePoint since_{};     // the first nil
  TimePoint deadline_{};  // hold after that
};

}  // namespace cuckooguard::breakdown
