// The leases of all guards in front of one Redis, in that Redis: a key for each, which is there for
// as long as the lease, and a push when the key that is being loaded has changed.
//
//   ask ─ SET lease NX PX, EXISTS key ─ the key is there ────▶ DEL lease; there
//                                     ├ OK ──────────────────▶ ours
//                                     └ nil ─ CLIENT CACHING YES, EXISTS lease key key
//                                               ├ 0 ▶ ended   ├ 1 ▶ elsewhere   └ 2, 3 ▶ there
//   Redis pushes: the key has changed ▶ Leases::pushed(); the lease has ▶ ended_elsewhere()
//
// EXISTS counts a key as often as it is named. Tracking (OPTIN) remembers the keys of reads, those
// that are not there as well, until each has been pushed once: these are the lease, and the key
// that another guard's client loads. Where Redis does not push (RESP2, a proxy, no right), the
// answer is `unwatched`.
//
// A lease is deleted by the guard that has it, without looking whose it is: its key has just been
// written, or its client has gone. If it was another guard's by then, one more client loads.
//
// Threads:   make and destroy from any but its own; the rest any. The connections have one thread.
// Lifetimes: what `redis_of` and `tls` have outlives the last of the Leases that share it.
// Errors:    what cannot be asked has `failed`. What Redis refuses is told on change. A lost
//            connection is opened again by the next ask, after kRetryEvery if it had never served.
// Limits:    kAsksMax asks that have no answer, and as many releases that were not sent: a further
//            lease stays for its time. kLinksMax connections: one per node. Redis tracks one
//            key, and its lease, for each key that is waited for; it forgets them when they are
//            written.
// Source:    https://redis.io/docs/latest/develop/reference/client-side-caching
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "app/guests.h"
#include "breakdown/leases.h"
#include "io/worker.h"
#include "log/event_log.h"
#include "upstream/redis_client.h"

namespace cuckooguard::breakdown {

// Of a key; in its slot of a cluster. Nullopt: there is none in that slot.
std::optional<std::string> lease_key(std::string_view key);
std::string_view key_of_lease(std::string_view lease);  // empty: it is none

class RedisLeases final : public SharedLeases {
 public:
  static constexpr std::size_t kAsksMax = 4096;
  static constexpr std::size_t kLinksMax = 1000;
  static constexpr std::chrono::milliseconds kRetryEvery{200};

  using RedisOf = std::function<std::optional<upstream::RedisPlace>(std::string_view key)>;

  RedisLeases(RedisOf redis_of, const io::TlsSlot* tls, log::EventLog& log);
  RedisLeases(const RedisLeases&) = delete;
  RedisLeases& operator=(const RedisLeases&) = delete;
  ~RedisLeases() override;

  std::uint64_t join(Leases& leases) override;
  void leave(std::uint64_t leases) override;
  bool ask(Ask ask) override;
  void release(std::string_view name, int db) override;

 private:
  class Link;

  void push(Ask what);
  void send_waiting();
  Link* link_to(std::string_view key);
  // False: a lease that is ours is of no use any more.
  bool answer(const Ask& ask, Answer answer);
  void on_push(std::string_view key);  // empty: all that were tracked

  const RedisOf redis_of_;
  log::EventLog& log_;
  std::atomic<std::size_t> asks_{0};  // that have no answer
  std::mutex mutex_;                  // for waiting_
  std::deque<Ask> waiting_;           // a release has no ticket
  std::mutex told_mutex_;             // for who is told
  std::map<std::uint64_t, Leases*> leases_;
  std::uint64_t last_number_ = 0;

  io::Worker worker_;
  // Its thread's.
  std::map<std::string, std::unique_ptr<Link>> links_;  // by address
};

// app::Guests::make_loads.
std::shared_ptr<guard::Loads> make_loads(const app::LoadsParts& parts);

}  // namespace cuckooguard::breakdown
