// What clients reach, and by which listener: Redis, or each node of a cluster by a port of its own.
//
//   listen: host:port ...        one endpoint for all of them, which leads to upstream.address
//   listen: { nodes: ports }     one for each port; where it leads is found out (follow()), and
//                                may be nowhere
//
// Each has its own control connection, and its own facts of the Redis behind it: which commands it
// has, what its users may do, whether it serves.
//
// Threads: follow(), publish() and leads_somewhere() on one (the main thread's), open() on one
// (that of the configuration at hand); the rest from any. Lifetimes: process_state, tls and the log
// outlive it; it outlives the guards. Limits: config::kNodePortsMax endpoints, a thread for each
// that leads somewhere. open() and follow() wait as ControlConnection::open does.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/control_connection.h"
#include "app/node_table.h"
#include "cluster/map.h"
#include "config/config.h"
#include "io/tls_credentials.h"
#include "log/event_log.h"
#include "proxy/node_addresses.h"
#include "redis/facts.h"
#include "source/storage_directory.h"
#include "upstream/cluster_watch.h"
#include "views/process_state.h"

namespace cuckooguard::app {

class Endpoints {
 public:
  struct Change {
    std::size_t endpoint;
    std::optional<config::Address> node;  // nullopt: to none
  };

  Endpoints(const config::Config& config,
            views::ProcessState& process_state,
            const io::TlsSlot& tls,
            log::EventLog& log);
  Endpoints(const Endpoints&) = delete;
  Endpoints& operator=(const Endpoints&) = delete;
  ~Endpoints();

  std::size_t size() const { return all_.size(); }
  // Of `listen`'s entry of this number.
  std::size_t of_listen(std::size_t listen) const { return of_listen_[listen]; }
  redis::Facts& facts(std::size_t endpoint) { return all_[endpoint]->facts; }
  // Null: Redis is in no cluster.
  const proxy::NodeAddresses* nodes(std::size_t endpoint) const {
    return all_[endpoint]->nodes.get();
  }
  // Where they lead is found out.
  bool is_cluster() const { return watch_ != nullptr; }
  // What is asked of all of them, from now on.
  void open(const config::Config& config, std::uint64_t numbering);
  // Of a cluster: nodes keep their endpoints over a restart, too. Before watch(). Outlives this.
  void keep_in(const source::StorageDirectory& storage);
  // Of a cluster: begins to find out where they lead. `on_map` is called on another thread.
  void watch(std::function<void(cluster::Map)> on_map);
  void stop_watching() { watch_->stop(); }
  // The cluster is like this now: which endpoints lead elsewhere. Of these nothing is known any
  // more. publish() follows, when whoever connects to them is led there.
  std::vector<Change> follow(const cluster::Map& map, io::TimePoint now);
  // Clients are told of the nodes as they are in `map`, and the nodes are asked what they are.
  void publish(const cluster::Map& map, std::span<const Change> changes);
  bool leads_somewhere(std::size_t endpoint) const { return all_[endpoint]->node.has_value(); }

 private:
  enum class Leads : std::uint8_t { to_redis, to_node };
  struct Endpoint {
    Endpoint(Leads where,
             ControlConnection::OnSeen on_seen,
             const io::TlsSlot& tls,
             log::EventLog& log)
        : leads(where), control(facts, std::move(on_seen), tls, log) {}

    Leads leads;
    std::optional<config::Address> node;
    std::unique_ptr<proxy::NodeAddresses> nodes;  // null: no cluster
    std::atomic<views::RedisSeen> seen{views::RedisSeen::never};
    redis::Facts facts;
    ControlConnection control;
  };

  // One of those that are for a node of a cluster, in the order of NodeTable.
  struct NodeEndpoint {
    std::size_t endpoint;
    std::uint16_t port;
  };

  std::size_t endpoint_for(const config::Listen& listen);
  void lead(std::vector<Change>& changes,
            std::size_t endpoint,
            const std::optional<config::Address>& node);
  void open(std::size_t endpoint);
  void keep();
  void note(std::size_t endpoint, views::RedisSeen seen);

  views::ProcessState& process_state_;
  const io::TlsSlot& tls_;
  log::EventLog& log_;
  std::vector<std::size_t> of_listen_;  // as config.listen
  std::vector<NodeEndpoint> nodes_;
  NodeTable table_;
  std::size_t unplaced_ = 0;  // as told
  cluster::Map published_;
  const source::StorageDirectory* storage_ = nullptr;  // null: none
  std::string kept_;                                   // of `table_`
  std::vector<std::unique_ptr<Endpoint>> all_;
  std::mutex opening_;                            // for what follows, and all but facts and `seen`
  std::unique_ptr<const config::Config> config_;  // null: not open yet
  std::uint64_t numbering_ = 0;
  std::function<void(cluster::Map)> on_map_;
  std::unique_ptr<upstream::ClusterWatch> watch_;  // null: no cluster
};

}  // namespace cuckooguard::app
