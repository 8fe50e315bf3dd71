// The topology of a cluster, asked of all of its nodes by CLUSTER NODES and CLUSTER INFO: once per
// kEvery (with kJitter, so that many guards do not ask at the same moment), and soon after
// refresh(), at most once per kSoon. The nodes to ask are learned from the answers, without those
// that the others agree have failed; while no node says cluster_state:ok, the seeds of the
// configuration are asked, too. A node that no other node lists is ignored.
//
// The map is reported each time. If no node answers, nothing is reported, and the last map stands.
//
// Threads: construct, start and destroy from the owner's thread; the calls run on its own.
// Lifetimes: `tls` outlives it. Errors: reported once as long as they last (on_silence).
// Limits: cluster::kNodesMax nodes, a connection to each; each call waits at most kCallTimeout,
//   each connect kConnectTimeout.
#pragma once

#include <atomic>
#include <chrono>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>

#include "cluster/map.h"
#include "config/config.h"
#include "io/tls_credentials.h"
#include "io/worker.h"
#include "upstream/redis_client.h"

namespace cuckooguard::upstream {

class ClusterWatch {
 public:
  static constexpr std::chrono::seconds kEvery{1};
  static constexpr std::chrono::milliseconds kJitter{200};
  static constexpr std::chrono::milliseconds kSoon{250};
  static constexpr std::chrono::milliseconds kConnectTimeout{500};
  static constexpr std::chrono::milliseconds kCallTimeout{500};

  struct Calls {
    std::function<void(cluster::Map)> on_map;                // each time
    std::function<void(const std::string& why)> on_silence;  // no node answers; on change
  };

  // The settings for one node of a cluster, with short time-outs for a node that is gone.
  static config::Upstream settings_of(config::Upstream cluster, const config::Address& node);

  // Where it says that it is, and for whom its certificate must be.
  static config::Address address_of(const cluster::Node& node);

  ClusterWatch(config::Upstream settings, Calls calls, const io::TlsSlot* tls);
  ~ClusterWatch();
  ClusterWatch(const ClusterWatch&) = delete;
  ClusterWatch& operator=(const ClusterWatch&) = delete;

  void start();
  // No more is told. The owner's thread; harmless when repeated.
  void stop() { worker_.stop_and_join(); }
  // Something has been heard of that is not in the map. Any thread.
  void refresh();
  // From now on these, whose seeds are the same. Any thread.
  void adopt(const config::Upstream& settings);

 private:
  using View = std::expected<cluster::View, std::string>;

  void run();
  void take_settings();
  void ask_all();
  View ask(const config::Address& address, std::unique_ptr<RedisClient>& redis);
  void rest();

  config::Upstream settings_;  // the thread's own, as of the last asking
  Calls calls_;
  io::Worker worker_;
  cluster::Map map_;  // as told
  std::map<std::string, std::unique_ptr<RedisClient>>
      connections_;  // by address, of the last asking
  bool is_silent_ = false;
  std::minstd_rand random_{std::random_device{}()};
  std::atomic<bool> is_due_{false};
  std::mutex mutex_;                               // for next_settings_
  std::optional<config::Upstream> next_settings_;  // nullopt: as they are
};

}  // namespace cuckooguard::upstream
