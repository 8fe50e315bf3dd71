// What clients reach, and by which listener.
//
//   listen: host:port ...        one endpoint for all of them, which leads to Redis:
//                                upstream.address, or the master that the Sentinels name; or to a
//                                whole cluster (routing/routed_loop.h), and to a master for facts
//   listen: { nodes: ports }     one for each port: a node of a cluster, or the master or a replica
//                                of it
//   listen: { sentinels: ... }   one, which leads to a Sentinel that answers
//
// Where they lead, if not to upstream.address, is found out (follow()), and may be nowhere.
// Each has its own control connection, and its own facts of the Redis behind it: which commands it
// has, what its users may do, whether it serves. What leads to a Sentinel has none: of that
// nothing is known, and nothing is answered for it.
//
// Threads: follow(), publish() and leads_somewhere() on one (the main thread's), open() on one
// (that of the configuration at hand); the rest from any. Lifetimes: process_state, tls and the log
// outlive it; it outlives the guards. Limits: config::kNodePortsMax endpoints and two, a thread for
// each that leads somewhere. Nothing here waits for Redis, since the main thread accepts clients;
// follow() gives the storage directory 200 ms.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/control_connection.h"
#include "app/node_board.h"
#include "app/node_table.h"
#include "cluster/map.h"
#include "config/config.h"
#include "io/blocking_thread.h"
#include "io/tls_credentials.h"
#include "log/event_log.h"
#include "proxy/node_addresses.h"
#include "redis/facts.h"
#include "source/storage_directory.h"
#include "upstream/cluster_watch.h"
#include "upstream/redis_connector.h"
#include "upstream/sentinel_watch.h"
#include "views/process_state.h"

namespace cuckooguard::app {

class Endpoints {
 public:
  using Known = upstream::SentinelWatch::Known;  // of a cluster only its map
  struct Change {
    std::size_t endpoint;
    std::optional<config::Address> node;  // nullopt: to none
    bool keeps_subscribers = false;       // they hear the same from the one before
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
  // Of the first that leads to Redis.
  redis::Facts& facts() { return all_.front()->facts; }
  bool leads_to_sentinel(std::size_t endpoint) const {
    return all_[endpoint]->leads == Leads::to_sentinel;
  }
  // Its clients reach all nodes by it, and know nothing of them.
  bool leads_to_cluster(std::size_t endpoint) const {
    return is_cluster_ && all_[endpoint]->leads == Leads::to_redis;
  }
  // Null: there is one Redis, whose address nobody tells.
  const proxy::NodeAddresses* nodes(std::size_t endpoint) const {
    return all_[endpoint]->nodes.get();
  }
  // Where they lead is found out.
  bool has_watch() const { return cluster_ != nullptr || sentinels_ != nullptr; }
  // Null: Redis is one server.
  const guard::NodeView* node_view() const { return has_watch() ? &board_ : nullptr; }
  // What was connected to this endpoint's server before a time is to be ended, and then `done`
  // called; on the thread of its control connection. Set before open().
  using OnLeft = std::function<void(
      std::size_t endpoint, io::TimePoint before, const std::function<void()>& done)>;
  void set_on_left(OnLeft on_left) { on_left_ = std::move(on_left); }
  // What is asked of all of them, from now on.
  void open(const config::Config& config, std::uint64_t numbering);
  // Nodes keep their endpoints over a restart, too. Before watch(). Outlives this.
  void keep_in(const source::StorageDirectory& storage);
  // Begins to find out where they lead, if it is to be found out. `on_known` is called on other
  // threads, one at a time.
  void watch(std::function<void(Known)> on_known);
  void stop_watching();
  // It is not as it was told any more. Any thread.
  void refresh();
  // It is like this now: which endpoints lead elsewhere. Of these nothing is known any more.
  // publish() follows, when whoever connects to them is led there.
  std::vector<Change> follow(const Known& known, io::TimePoint now);
  // Clients are told of the nodes as they are there, and the nodes are asked what they are.
  void publish(const Known& known, std::span<const Change> changes);
  // The Redis that has this key: the one there is, the master that the Sentinels name, or of a
  // cluster the node that has its slot. Nothing: that is not known. Any thread.
  std::optional<upstream::RedisPlace> redis_of(std::string_view key) const;
  bool leads_somewhere(std::size_t endpoint) const { return all_[endpoint]->node.has_value(); }

 private:
  // The last come last.
  enum class Leads : std::uint8_t { to_redis, to_node, to_sentinel };
  struct Endpoint {
    Endpoint(Leads where,
             ControlConnection::Calls calls,
             const io::TlsSlot& tls,
             log::EventLog& log,
             ControlConnection::Kind kind)
        : leads(where), control(facts, std::move(calls), tls, log, kind) {}

    Leads leads;
    std::optional<config::Address> node;
    std::unique_ptr<proxy::NodeAddresses> nodes;  // null: there is one Redis
    std::atomic<views::RedisSeen> seen{views::RedisSeen::never};
    redis::Facts facts;
    ControlConnection control;
  };

  void make_all(const config::Config& config);
  std::size_t endpoint_for(const config::Listen& listen, Leads leads);
  void make_watch(const config::Config& config);
  void be_told(Known known);
  void be_silent(log::EventName event, const std::string& why);
  std::optional<std::size_t> one_that(Leads leads) const;
  void lead(std::vector<Change>& changes,
            std::size_t endpoint,
            const std::optional<config::Address>& node,
            bool keeps_subscribers = false);
  std::optional<config::Address> master_of(const Known& known) const;
  void leave_demoted(std::vector<Change>& changes,
                     const std::optional<config::Address>& before,
                     const config::Address& master);
  void warn_of_unplaced(const Known& known);
  void tell(const Known& known) const;
  void show(const Known& known);
  void open(std::size_t endpoint);
  void keep();
  void note(std::size_t endpoint, views::RedisSeen seen);
  NodeBoard::Heard heard(std::size_t endpoint) const;
  std::uint64_t servers_at(const config::Address& address) const;

  views::ProcessState& process_state_;
  const io::TlsSlot& tls_;
  log::EventLog& log_;
  bool is_cluster_;
  bool has_nodes_;                      // clients may be told of them
  std::vector<std::size_t> of_listen_;  // as config.listen
  std::vector<NodeBoard::Port> nodes_;  // in the order of NodeTable
  NodeTable table_;
  NodeBoard board_;
  std::size_t unplaced_ = 0;         // as told
  std::uint16_t master_port_ = 0;    // of a listener for the master; 0: there is none
  std::uint16_t sentinel_port_ = 0;  // the same
  std::optional<config::Address> followed_master_;
  std::optional<Known> published_;                     // changed under opening_, too
  const source::StorageDirectory* storage_ = nullptr;  // null: none
  std::string kept_;                                   // of `table_`, or about to be
  std::atomic<bool> must_keep_{false};                 // it was not
  std::vector<std::unique_ptr<Endpoint>> all_;
  mutable std::mutex opening_;                    // for what follows, and all but facts and `seen`
  std::unique_ptr<const config::Config> config_;  // null: not open yet
  std::uint64_t numbering_ = 0;
  std::function<void(Known)> on_known_;
  OnLeft on_left_;
  // What watches, if anything does.
  std::unique_ptr<upstream::ClusterWatch> cluster_;
  std::unique_ptr<upstream::SentinelWatch> sentinels_;
  io::BlockingThread keeping_{
      {.patience = std::chrono::seconds(1), .name = "nodes"}};  // ends first
};

}  // namespace cuckooguard::app
