// Where the master of a name is, and its replicas, asked of Sentinels: of each once per kEvery, at
// once when it publishes that a master is being, or has been, replaced, and soon after refresh(),
// at most once per kSoon. The answer with the highest config epoch counts, since a Sentinel that
// was cut off has old news. An answer older than what was last acted upon counts only if more than
// half of the configured Sentinels answer and none contradicts it (they were set up again). A
// master is believed when it confirms its role (ROLE), or does not let the guard ask; until then
// the previous master stands, if there was one.
//
// The result is reported each time a Sentinel was asked. If none answers, nothing is reported, and
// the last result stands.
//
// Threads: construct, start and destroy from the owner's thread; the calls run on others, one at a
//   time. Lifetimes: `tls` outlives it.
// Errors: reported once as long as they last (on_silence).
// Limits: config::kSentinelsMax Sentinels, a thread and two connections to each, and one to each
//   new master; calls and connects wait as ClusterWatch's do. The first kReplicasMax replicas and
//   kOthersMax other Sentinels of each.
// Source: https://redis.io/docs/latest/develop/reference/sentinel-clients; Redis 7.0.15 sentinel.c.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cluster/map.h"
#include "config/config.h"
#include "io/tls_credentials.h"
#include "io/worker.h"
#include "upstream/redis_client.h"

namespace cuckooguard::upstream {

class SentinelWatch {
 public:
  static constexpr std::chrono::seconds kEvery{1};
  static constexpr std::chrono::milliseconds kSoon{250};
  static constexpr std::chrono::milliseconds kAgain{50};  // while a new master is not one yet
  static constexpr std::size_t kReplicasMax = 256;
  static constexpr std::size_t kOthersMax = 64;

  struct Known {
    cluster::Map map;                        // nodes without slots; an id is host:port
    std::optional<config::Address> master;   // of these; nullopt: none is believed yet
    std::vector<config::Address> sentinels;  // all that are known
    // A Sentinel that answers and knows the master; the same one as long as it does.
    std::optional<config::Address> answering;
    bool is_one_before_up = false;  // who answered before has only not known the new master

    bool operator==(const Known&) const = default;
  };

  struct Calls {
    std::function<void(Known)> on_known;                     // each time
    std::function<void(const std::string& why)> on_silence;  // no Sentinel answers; on change
  };

  SentinelWatch(config::Upstream settings, Calls calls, const io::TlsSlot* tls);
  ~SentinelWatch();
  SentinelWatch(const SentinelWatch&) = delete;
  SentinelWatch& operator=(const SentinelWatch&) = delete;

  void start();
  // No more is told. The owner's thread; harmless when repeated.
  void stop();
  // Something has been heard of that is not known. Any thread.
  void refresh();
  // From now on these, with the same Sentinels and master: whoever is connected to anew. Any
  // thread.
  void adopt(const config::Upstream& settings);

 private:
  // The answer of one Sentinel.
  struct View {
    config::Address master;
    std::uint64_t config_epoch = 0;
    std::vector<cluster::Node> nodes;
    std::vector<config::Address> others;
  };
  struct Sentinel {
    Sentinel(config::Address at, const io::TlsSlot* tls)
        : address(std::move(at)), worker({}, tls) {}

    config::Address address;
    std::optional<View> view;  // nullopt: it does not answer
    std::atomic<bool> is_due{false};
    io::Worker worker;
  };

  void run(Sentinel& sentinel);
  std::string keep_asking(Sentinel& sentinel);
  static void rest(Sentinel& sentinel,
                   std::chrono::milliseconds pause,
                   const std::function<bool()>& is_over);
  std::expected<View, std::string> ask(RedisClient& redis) const;
  bool is_master(io::AsioLoop& loop, const config::Address& node) const;
  bool take(Sentinel& sentinel, View view);
  void lose(Sentinel& sentinel, const std::string& why);
  const View* best_view() const;
  void prefer_who_knows_the_master();
  void tell(const View& best);

  config::Upstream settings() const;

  Calls calls_;
  mutable std::mutex mutex_;  // for what follows, and each view
  config::Upstream settings_;
  std::optional<config::Address> master_;
  std::uint64_t config_epoch_ = 0;  // of `master_`
  const Sentinel* answering_ = nullptr;
  bool is_one_before_up_ = false;
  bool is_silent_ = false;
  std::vector<std::unique_ptr<Sentinel>> sentinels_;
};

}  // namespace cuckooguard::upstream
