// Loads: what clients do after a miss, a read of a key that may exist to which Redis has said nil.
// Of identical misses one client loads, and the others wait for its SET; or so many load at once
// (`breakdown` of a namespace). The guard and its sessions know no more of it than this page.
//
//   nil ──▶ Misses::missed() ─ false ─▶ the nil leaves: this client loads
//                 └ true: it waits ─ woken, or until() ─▶ next() ─ ask ──▶ the read is sent again
//                                                          ├ take ─▶ the nil leaves
//                                                          └ wait ─▶ it waits on
//   reply to a write ──▶ Loads::written()
//
// Threads: Loads any; Misses its client's worker's. Lifetimes: both share what they need of each
// other. Errors: none; in doubt the nil leaves.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include <boost/core/noncopyable.hpp>

#include "guard/counters.h"
#include "guard/promised_reply.h"
#include "text/network.h"

namespace cuckooguard::guard {

// Of a namespace. One thread at a time counts; any reads.
struct LoadCounters {
  Counter leases;          // misses whose client was left to load while others were held back
  Counter leases_written;  // of those: ended by a write of the key
  Counter leases_lost;     // ended by time, or since their client had gone
  Counter held;            // misses that waited
  Counter spared;          // of those: Redis had the value when it was asked again
  Counter taken_over;      // the client before had not written the key: this one was left to load
  Counter timed_out;       // nil after `hold`
  Counter let_go;  // nil since the client sent more, or ended, or the guard reloads or drains
  Counter passed;  // misses that would have waited and must not: nil at once
  Counter would_be_held;  // in mode observe
  Counter would_be_spared;
  ReplyTimes waited;
};

class Loads;

// The misses of one client's connection.
class Misses : boost::noncopyable {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Key {
    std::uint64_t hash = 0;  // Loads::hash()
    std::string_view name{};
  };

  // Why a wait ends that missed() and next() have not ended.
  enum class End : std::uint8_t {
    value,   // Redis has the value now
    let_go,  // the client has sent more, or is to go; or Redis is lost
  };
  enum class Next : std::uint8_t { wait, ask, take };
  // What may become of a miss that another client loads: of one that may not wait the nil leaves;
  // in mode observe it does, too, and what would have been is counted.
  enum class May : std::uint8_t { wait, pass, be_observed };

  virtual ~Misses() = default;

  // Redis has said nil to a read of this key. True: the client waits. Asked again after `ask` it
  // waits no longer than it would have the first time.
  virtual bool missed(Loads& of, const Key& key, May may, TimePoint now) = 0;
  // It waits, and was woken, or has waited until().
  virtual Next next(TimePoint now) = 0;
  virtual TimePoint until() const = 0;
  virtual void end(End how, TimePoint now) = 0;
  // The client has gone. Nothing else follows.
  virtual void gone(TimePoint now) = 0;
};

class Loads : boost::noncopyable {
 public:
  using TimePoint = Misses::TimePoint;

  virtual ~Loads() = default;

  // For this process alone.
  virtual std::uint64_t hash(std::string_view key) const = 0;

  // A client of this network. `waiter` is added to `known` when next() is to be called.
  virtual std::unique_ptr<Misses> connect(text::Network network,
                                          std::shared_ptr<KnownReplies> known,
                                          void* waiter) = 0;

  // Redis has carried out a write of this key. `by`: whose, if it is connected; `has_value`: it may
  // have given the key one.
  virtual void written(std::uint64_t key, const Misses* by, bool has_value, TimePoint now) = 0;

  // Nothing waits any more, from now on.
  virtual void close() = 0;

  struct Now {
    std::size_t loads = 0;  // leases
    std::size_t held = 0;
    std::chrono::nanoseconds usual{};  // from nil to SET; 0: none was seen
  };
  virtual Now now() const = 0;
  const LoadCounters& counters() const { return counters_; }

 protected:
  LoadCounters counters_;
};

}  // namespace cuckooguard::guard
