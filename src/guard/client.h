// One client: its connection as Redis has it, and the guarded keys of its writes.
//
// Threads: its worker's. Limits: those of redis::ClientState and of WritesInFlight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "guard/loads.h"
#include "guard/overlay.h"
#include "redis/client_state.h"
#include "text/network.h"

namespace cuckooguard::guard {

// The guarded keys of one client's writes, from the moment they are scanned until Redis has
// replied.
//
//   scanned() ─▶ await(reply) ─▶ replied(): refused      ─▶ forgotten
//                                           carried out  ─▶ has_outcomes() ─▶ Guard::learn_replied
//                                           inside MULTI ─▶ end_transaction() ─▶ the same, or
//                                                           forgotten
//
// Until then they pass for this client's own reads only: a command that Redis refuses changes
// nothing for others, and no other client can know of a write before its reply has come through
// here.
//
// Threads: its worker's. Owned by its Client, made with the first such write. Limits: 32 bytes for
// each key; has_room() bounds them to kKeysMax per client and kWorkerKeysMax per worker (32 MiB).
// Up to kSearchedMax keys are searched for each read of this client that would be answered; with
// more, all of its reads pass.
class WritesInFlight : boost::noncopyable {
 public:
  static constexpr std::size_t kKeysMax = std::size_t{1} << 14;
  static constexpr std::size_t kWorkerKeysMax = std::size_t{1} << 20;
  static constexpr std::size_t kSearchedMax = 1024;

  struct Key {
    Overlay* overlay = nullptr;
    std::uint64_t hash = 0;
    std::uint64_t load = 0;  // Loads::hash(), if the namespace has any
    std::uint32_t reply = 0;
    std::uint16_t ns = 0;  // as it was numbered then, modulo 2^16: a hint
    // An error does not say that nothing was written: a script's, a module's.
    bool may_be_half_done : 1 = false;
    // No reply will be seen: the client's known rights decide.
    bool is_unseen : 1 = false;
    bool is_absent_reply : 1 = false;  // the value: the overlay does not hear of it
    // For loads: the key may have a value now; and it has none if Redis says nil (SET NX).
    bool has_value : 1 = false;
    bool is_refused_by_nil : 1 = false;
    bool is_nil : 1 = false;  // what Redis has said
  };
  static_assert(sizeof(Key) == 32);

  // `worker_keys`: of all clients of the worker, kept by this. Outlives it, or forget_all().
  explicit WritesInFlight(std::size_t& worker_keys) : worker_keys_(worker_keys) {}

  bool has_room() const {
    return keys_.size() - head_ + queued_.size() < kKeysMax && worker_keys_ < kWorkerKeysMax;
  }
  // A key of the command at hand; await() says which reply is its own. Replies are numbered in
  // their order, modulo 2^32.
  void scanned(const Key& key);
  void await(std::uint64_t reply);

  // Redis has replied to all commands up to this one; `is_queued`: what it says is that EXEC will
  // run it. `is_nil`: of the last of them.
  struct Said {
    bool is_refused = false;
    bool is_nil = false;
    bool is_queued = false;
  };
  void replied(std::uint64_t reply, Said said);
  void end_transaction(bool is_carried_out);
  // The replies to all that is in flight, and to EXEC, will not be seen.
  void give_up();
  // Inside MULTI: what has been queued so far.
  void give_up_transaction();

  bool has_outcomes() const { return !outcomes_.empty(); }
  std::vector<Key> take_outcomes() { return std::exchange(outcomes_, {}); }
  void forget_all();

  bool holds(std::uint64_t hash) const;
  bool is_in_flight() const { return head_ != keys_.size(); }

  // Guard's names for this client and its user (guard/learner.h).
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t writer = kNone;
  std::uint32_t user = kNone;
  TimePoint young_until{};  // the learner's: until when its reads would miss a key that is dropped
  // Whom the command at hand is the first write of this client's to concern; its session takes it.
  Loads* joins = nullptr;

 private:
  static constexpr std::size_t kKept = 16;  // room that is not given back

  void decided(const Key& key, bool is_unseen);
  void release(std::size_t keys) { worker_keys_ -= keys; }

  std::size_t& worker_keys_;
  std::vector<Key> keys_;  // a FIFO, from head_ on
  std::size_t head_ = 0;
  std::size_t awaiting_ = 0;  // those from here on have no number yet
  std::vector<Key> queued_;   // inside MULTI
  std::vector<Key> outcomes_;
};

class Client : public redis::ClientState {
 public:
  // As there, and its writes hear of it.
  void replied(const redis::StateChange& change, char reply_type);
  // Redis has replied to commands up to this one, which are no changes.
  void replied_to(std::uint64_t reply, bool is_refused, bool is_nil = false) {
    if (writes_ != nullptr && writes_->is_in_flight()) {
      writes_->replied(reply,
                       {.is_refused = is_refused, .is_nil = is_nil, .is_queued = is_in_multi()});
    }
  }

  // Null: it has not written a guarded key yet.
  WritesInFlight* writes() const { return writes_.get(); }
  WritesInFlight& remember_writes(std::size_t& worker_keys);

  // Null: it has neither missed nor written a key whose loads are anybody's concern yet.
  Misses* misses() const { return misses_.get(); }
  void remember_misses(std::unique_ptr<Misses> misses) { misses_ = std::move(misses); }
  // What its worker has kept of it (Guard::leaves()).
  void forget_worker() {
    writes_.reset();
    misses_.reset();
  }

  void came_from(text::Network network) { network_ = network; }
  text::Network network() const { return network_; }

 private:
  std::unique_ptr<WritesInFlight> writes_;
  std::unique_ptr<Misses> misses_;
  text::Network network_;
};
static_assert(sizeof(Client) <= 120 + sizeof(std::string), "one per client");

}  // namespace cuckooguard::guard
