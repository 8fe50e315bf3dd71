// What finds out where the servers of a Redis with several are, and goes on looking: once per
// kEvery, and soon after refresh(), at most once per kSoon.
//
// Threads: construct, start and destroy from the owner's thread; the calls run on others, one at a
// time. Lifetimes: `tls` outlives it. Errors: reported once as long as they last (on_silence).
// Limits: each call waits at most kCallTimeout, each connect as upstream::settings_at() says.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "cluster/map.h"
#include "config/config.h"
#include "io/asio_loop.h"
#include "io/clock.h"
#include "io/tls_credentials.h"
#include "io/worker.h"
#include "upstream/redis_client.h"

namespace cuckooguard::topology {

// What is known of them. Of a cluster only its map.
struct Known {
  cluster::Map map;                         // of Sentinels: nodes without slots; an id is host:port
  std::optional<config::Address> master{};  // of these; nullopt: none is believed yet
  std::vector<config::Address> sentinels{};  // all that are known
  // A Sentinel that answers and knows the master; the same one as long as it does.
  std::optional<config::Address> answering{};
  bool is_one_before_up = false;  // who answered before has only not known the new master
  // Of a cluster: all masters that have slots have been asked since, and have replied; the epoch:
  // one has not.
  io::TimePoint asked_at{};

  // But for `asked_at`.
  bool is_as(const Known& other) const {
    return map == other.map && master == other.master && sentinels == other.sentinels &&
           answering == other.answering && is_one_before_up == other.is_one_before_up;
  }
};

class Watch : boost::noncopyable {
 public:
  struct Calls {
    std::function<void(Known)> on_known;                     // each time
    std::function<void(const std::string& why)> on_silence;  // nobody answers; on change
  };

  static constexpr std::chrono::seconds kEvery{1};
  static constexpr std::chrono::milliseconds kSoon{250};
  static constexpr std::chrono::milliseconds kCallTimeout{500};

  virtual ~Watch() = default;

  virtual void start() = 0;
  // No more is reported. The owner's thread; harmless when repeated.
  virtual void stop() = 0;
  // Something has been heard of that is not known. Any thread.
  virtual void refresh() = 0;
  // From now on these, with the same seeds, or Sentinels and master. Any thread.
  virtual void adopt(const config::Upstream& settings) = 0;

 protected:
  // One that asks, rests, and asks again.
  struct AskingThread {
    explicit AskingThread(const io::TlsSlot* tls) : worker({}, tls) {}

    void refresh();  // any thread
    // For this long, or until kSoon after it has begun if it was refreshed, or until it is over.
    void rest(std::chrono::milliseconds pause, const std::function<bool()>& is_over);

    io::Worker worker;
    std::atomic<bool> is_due{false};
  };
};

// The topology of a cluster, asked of all of its nodes by CLUSTER NODES and CLUSTER INFO: once per
// kEvery (with kJitter, so that many guards do not ask at the same moment), and soon after
// refresh(), at most once per kSoon. The nodes to ask are learned from the answers, without those
// that the others agree have failed; while no node says cluster_state:ok, the seeds of the
// configuration are asked, too. A node that no other node lists is ignored.
//
// The map is reported each time. If no node answers, nothing is reported, and the last map stands.
//
// Limits: cluster::kNodesMax nodes, a connection to each.
class ClusterWatch final : public Watch {
 public:
  static constexpr std::chrono::milliseconds kJitter{200};

  ClusterWatch(config::Upstream settings, Calls calls, const io::TlsSlot* tls);
  ClusterWatch(const ClusterWatch&) = delete;
  ClusterWatch& operator=(const ClusterWatch&) = delete;
  ~ClusterWatch() override { ClusterWatch::stop(); }  // before what it works with

  void start() override;
  void stop() override { thread_.worker.stop_and_join(); }
  void refresh() override { thread_.refresh(); }
  void adopt(const config::Upstream& settings) override;

 private:
  using View = std::expected<cluster::View, std::string>;

  void run();
  void take_settings();
  void ask_all();
  View ask(const config::Address& address, std::unique_ptr<upstream::RedisClient>& redis);

  config::Upstream settings_;  // the thread's own, as of the last asking
  Calls calls_;
  AskingThread thread_;
  cluster::Map map_;  // as told
  std::map<std::string, std::unique_ptr<upstream::RedisClient>>
      connections_;  // by address, of the last asking
  bool is_silent_ = false;
  std::mutex mutex_;                               // for next_settings_
  std::optional<config::Upstream> next_settings_;  // nullopt: as they are
};

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
// Limits: config::kSentinelsMax Sentinels, a thread and two connections to each, and one to each
//   new master. The first kReplicasMax replicas and kOthersMax other Sentinels of each.
// Source: https://redis.io/docs/latest/develop/reference/sentinel-clients; Redis 7.0.15 sentinel.c.
class SentinelWatch final : public Watch {
 public:
  static constexpr std::chrono::milliseconds kAgain{50};  // while a new master is not one yet
  static constexpr std::size_t kReplicasMax = 256;
  static constexpr std::size_t kOthersMax = 64;

  SentinelWatch(config::Upstream settings, Calls calls, const io::TlsSlot* tls);
  SentinelWatch(const SentinelWatch&) = delete;
  SentinelWatch& operator=(const SentinelWatch&) = delete;
  ~SentinelWatch() override { SentinelWatch::stop(); }  // before what they work with

  void start() override;
  void stop() override;
  void refresh() override;
  void adopt(const config::Upstream& settings) override;

 private:
  // The answer of one Sentinel.
  struct View {
    config::Address master;
    std::uint64_t config_epoch = 0;
    std::vector<cluster::Node> nodes;
    std::vector<config::Address> others;
  };
  struct Sentinel {
    Sentinel(config::Address at, const io::TlsSlot* tls) : address(std::move(at)), thread(tls) {}

    config::Address address;
    std::optional<View> view;  // nullopt: it does not answer
    AskingThread thread;
  };

  void run(Sentinel& sentinel);
  std::string keep_asking(Sentinel& sentinel);
  std::expected<View, std::string> ask(upstream::RedisClient& redis) const;
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

}  // namespace cuckooguard::topology
