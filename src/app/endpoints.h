// Which listener leads clients where.
//
//   listen: host:port ...        one endpoint for all of them, which leads to Redis:
//                                upstream.address, or the master that the Sentinels name; or to a
//                                whole cluster (upstream/cluster_loop.h), and to a master for facts
//   listen: { nodes: ports }     one for each port: a node of a cluster, or the master or a replica
//                                of it
//   listen: { sentinels: ... }   one, which leads to a Sentinel that answers
//
// Targets other than upstream.address are discovered (follow()); an endpoint may lead nowhere. Each
// has its own control connection and facts about the Redis behind it: its commands, its users'
// rights, whether it serves. An endpoint that leads to a Sentinel has neither, and nothing is
// answered there.
//
// Threads: follow(), publish() and leads_somewhere() on one (the main thread's), open() on one
// (that of the configuration at hand); the rest from any. Lifetimes: process_state, tls and the log
// outlive it; it outlives the guards. Limits: config::kNodePortsMax + 2 endpoints, one thread for
// each that leads somewhere. Nothing here waits for Redis, since the main thread accepts clients;
// follow() waits up to 200 ms for the storage directory.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/map.h"
#include "config/config.h"
#include "config/sources.h"
#include "guard/process.h"
#include "io/blocking_thread.h"
#include "io/clock.h"
#include "io/tls_credentials.h"
#include "log/event_log.h"
#include "proxy/node_addresses.h"
#include "redis/facts.h"
#include "source/storage_directory.h"
#include "upstream/cluster_watch.h"
#include "upstream/control.h"
#include "upstream/redis_client.h"
#include "upstream/sentinel_watch.h"
#include "views/process_state.h"

namespace cuckooguard::app {

// Which endpoint leads to which node of a cluster. A node keeps its endpoint while the cluster
// knows it, and kKeptFor longer unless others run out, since clients remember the port; also over a
// restart of the guard (text() and restore()). Masters come first if there are too few endpoints.
//
// Threads: one. Errors: restore() skips lines that it cannot read.
// Limits: as many nodes as endpoints; unplaced() counts the rest.
class NodeTable {
 public:
  static constexpr std::chrono::minutes kKeptFor{10};

  struct Change {
    std::size_t endpoint;
    std::optional<config::Address> node;  // nullopt: to none

    bool operator==(const Change&) const = default;
  };

  explicit NodeTable(std::size_t endpoints) : places_(endpoints) {}

  // The current map; returns the endpoints that lead elsewhere from now on.
  std::vector<Change> follow(const cluster::Map& map, io::TimePoint now);
  struct Node {
    std::string_view id;  // the table's until the next follow()
    config::Address address;
  };
  // nullopt: the endpoint leads nowhere.
  std::optional<Node> node_at(std::size_t endpoint) const;
  // By id; nullopt: none.
  std::optional<std::size_t> endpoint_of(std::string_view id) const;
  // How many nodes of the last map have no endpoint.
  std::size_t unplaced() const { return unplaced_; }

  // `endpoint id`, a line each.
  std::string text() const;
  void restore(std::string_view text, io::TimePoint now);

 private:
  struct Place {
    std::string id{};  // empty: free
    std::optional<config::Address> node{};
    io::TimePoint seen{};
  };

  std::vector<Place>::iterator place_for(const std::string& id, io::TimePoint now);

  std::vector<Place> places_;
  std::size_t unplaced_ = 0;
};

// The state of the nodes of a Redis with several servers, as it is shown (guard::NodeView), and log
// events for failovers and moved slots.
//
// Failovers are logged at once, moved slots once per kMovesEvery, all together.
//
// Threads: follow() and show() on one, be_heard() and be_silent() on one, nodes() on any; none
// waits for more than the copy of a pointer. Lifetimes: the log and what `heard` uses outlive it.
// Limits: NodeView::kShownMax.
class NodeBoard final : public guard::NodeView {
 public:
  static constexpr std::chrono::seconds kMovesEvery{10};

  // State of an endpoint's control connection.
  struct Heard {
    guard::NodeState state = guard::NodeState::never;
    std::optional<std::chrono::nanoseconds> round_trip{};
    redis::ControlReport control{};
  };
  using HeardOf = std::function<Heard(std::size_t endpoint)>;  // any thread
  // Of the guard.
  struct Port {
    std::size_t endpoint;
    std::uint16_t port;
  };
  // The ports by which nodes can be reached.
  struct Ports {
    std::span<const Port> of_nodes;  // in the order of NodeTable
    std::optional<config::Address> master{};
    std::optional<Port> of_master{};  // whichever node that is
    std::size_t without = 0;          // nodes in clients' topology replies that have no port
  };

  NodeBoard(HeardOf heard, log::EventLog& log);

  // On every new map.
  void follow(const cluster::Map& map, io::TimePoint now);
  // After the ports have changed.
  void show(const cluster::Map& map, const NodeTable& table, const Ports& ports);
  // The nodes have answered; none answers, until the next be_heard().
  void be_heard();
  void be_silent(const std::string& why);

  guard::NodesStatus nodes() const override;

 private:
  struct Place {
    guard::NodeStatus node;
    std::optional<std::size_t> endpoint;
  };

  HeardOf heard_;
  log::EventLog& log_;
  std::optional<cluster::Map> told_;  // to the log
  io::TimePoint moves_told_at_{};
  mutable std::mutex mutex_;  // for what follows
  std::shared_ptr<const std::vector<Place>> places_ = std::make_shared<const std::vector<Place>>();
  std::size_t without_port_ = 0;
  io::TimePoint told_at_ = io::now_since_boot();
  std::string why_silent_;
};

// The current control connection: the source of everything the guard knows about Redis, and of the
// admin pages' up or down. A reload that changes the questions (the namespaces' keys), upstream.acl
// or the login replaces it. Facts stay valid until then, except for restricted users: their rights
// are known by namespace, so their reads pass until the new one has asked (Guard::access_of).
//
// If the control connection finds another server at the address (another run id), or the same one
// in another role, all connections that may lead to the previous one are ended (on_left), and
// nothing is answered until that is done and the new server has been asked. A server that was
// restarted in place has no old connections; those opened since are kept.
//
// Threads: open(), forget() and close() from one at a time, among them the main thread, so they do
// not wait for Redis; servers() from any; redis::Facts is updated from the connection's own.
// Lifetimes: facts, tls, the log and what the calls use outlive it; no call comes after close().
// Errors: as upstream::Control. Limits: a replaced connection ends on a thread of its own, which
// may wait for its last question (upstream::Control::kCallTimeout) or its connect.
class ControlConnection {
 public:
  struct Calls {  // on the control connection's thread
    std::function<void(views::RedisSeen)> on_seen;
    // Connections older than `before` lead to another server; call `done` when they have ended.
    std::function<void(io::TimePoint before, std::function<void()> done)> on_left;
  };

  struct Kind {
    bool is_whole_cluster = false;  // the node stands for all
    bool is_in_cluster = false;     // whose nodes change their roles, and are led to all the same
  };

  ControlConnection(
      redis::Facts& facts, Calls calls, const io::TlsSlot& tls, log::EventLog& log, Kind kind);
  ControlConnection(const ControlConnection&) = delete;
  ControlConnection& operator=(const ControlConnection&) = delete;
  ~ControlConnection() { close(); }

  enum class Purpose : std::uint8_t { facts, log_alone };  // whether Redis answers

  // To this Redis; nullopt: to none. `numbering`: guard::Guard::Parts.
  void open(std::optional<config::Upstream> redis,
            const std::vector<config::Namespace>& namespaces,
            std::uint64_t numbering,
            Purpose purpose = Purpose::facts);
  // Redis is another one from now on: known facts and pending answers are about the previous one,
  // and dropped. open() follows. Not while that runs.
  void forget();
  // For good: waits until all that were opened have ended.
  void close();
  // How many servers there have been: answers of an earlier one are stale.
  std::uint64_t servers() const { return servers_; }

 private:
  void forget_what_is_known();
  void believe_no_more();
  void end_aside(std::unique_ptr<upstream::Control> control);
  std::unique_ptr<upstream::Control> make(const config::Upstream& redis,
                                          const std::vector<config::Namespace>& namespaces);
  void on_facts(std::uint64_t epoch, redis::Reading reading);
  void on_reachable(bool reachable, const std::string& why);
  void log_reachable(bool reachable, const std::string& why);
  void on_allowed(const redis::ControlReport& report);
  void on_server(const upstream::Server& server);
  void on_lost(bool is_up, const std::string& why);
  // Connections opened before this time lead to another server; nothing: none does.
  std::optional<io::TimePoint> left_before(const upstream::Server& server) const;
  void leave(io::TimePoint before, const upstream::Server& server);

  redis::Facts& facts_;
  Calls calls_;
  const io::TlsSlot& tls_;  // what its connects take
  log::EventLog& log_;
  Kind kind_;
  std::optional<config::Upstream> settings_;  // of `control_`; change while its reports are dropped
  std::uint64_t numbering_ = 0;
  Purpose purpose_ = Purpose::facts;
  bool is_forgotten_ = false;  // `control_` is not believed
  std::mutex telling_;         // held while a connection's report is taken; guards
  std::uint64_t opened_ = 0;   // how many: reports of earlier ones are dropped
  // Of the last reading, on the control connection's thread; forgotten by forget_what_is_known().
  struct Met {
    upstream::Server server;
    std::optional<io::TimePoint> closed_at;  // it has closed the connection
  };
  std::mutex meeting_;  // for
  std::optional<Met> met_;
  std::atomic<std::uint64_t> servers_{0};
  std::atomic<std::size_t> leaving_{0};  // on_left() calls that are not done
  std::mutex mutex_;                     // guards the pointer
  std::unique_ptr<upstream::Control> control_;
  std::vector<std::future<void>> ending_;  // replaced ones
};

class Endpoints {
 public:
  using Known = upstream::SentinelWatch::Known;  // of a cluster only its map
  struct Change {
    std::size_t endpoint;
    std::optional<config::Address> node;  // nullopt: to none
    bool keeps_subscribers = false;       // they get the same messages from the previous one
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
  // Null: a single Redis, whose address is in no reply.
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
  // The topology has changed: ask again. Any thread.
  void refresh();
  // The current topology; returns the endpoints that lead elsewhere, whose facts are forgotten.
  // publish() follows, once new clients are led there.
  std::vector<Change> follow(const Known& known, io::TimePoint now);
  // Topology replies show these nodes from now on, and the control connections to changed ones
  // open.
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
  template <typename Call>
  void each_watch(const Call& call) const {
    if (cluster_) {
      call(*cluster_);
    }
    if (sentinels_) {
      call(*sentinels_);
    }
  }
  std::unique_ptr<upstream::ClusterWatch> cluster_;
  std::unique_ptr<upstream::SentinelWatch> sentinels_;
  io::BlockingThread keeping_{
      {.patience = std::chrono::seconds(1), .name = "nodes"}};  // ends first
};

}  // namespace cuckooguard::app
