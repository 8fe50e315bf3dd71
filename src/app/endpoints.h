// Which listener leads clients where.
//
//   listen: host:port ...        one endpoint for all of them, which leads to Redis:
//                                upstream.address, or the master that the Sentinels name; or to a
//                                whole cluster, and to a master for facts
//   listen: { nodes: ports }     one for each port: a node of a cluster, or the master or a replica
//                                of it
//   listen: { sentinels: ... }   one, which leads to a Sentinel that answers
//
// Targets other than upstream.address are found by a Topology (app/guests.h); until then, an
// endpoint leads nowhere. Each has its own control connection and facts about the Redis behind it:
// its commands, its users' rights, whether it serves. An endpoint that leads to a Sentinel has
// neither, and nothing is answered there.
//
// Threads: node(), lead() and reopen() on one (the main thread's), open() on one (that of the
// configuration at hand); the rest from any. Lifetimes: process_state, tls and the log outlive it;
// it outlives the guards. Limits: config::kNodePortsMax + 2 endpoints, one thread for each that
// leads somewhere. Nothing here waits for Redis, since the main thread accepts clients.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "guard/process.h"
#include "io/clock.h"
#include "io/tls_credentials.h"
#include "log/event_log.h"
#include "redis/facts.h"
#include "upstream/answers.h"
#include "upstream/control.h"
#include "upstream/redis_client.h"
#include "views/process_state.h"

namespace cuckooguard::app {

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
    std::function<void(guard::NodeState)> on_seen;
    // Connections older than `before` lead to another server; call `done` when they have ended.
    std::function<void(io::TimePoint before, std::function<void()> done)> on_left;
  };

  struct Kind {
    bool is_whole_cluster = false;  // the node stands for all
    // Null: it is in no cluster, whose nodes change their roles, and are led to all the same.
    upstream::ServedSlots served_slots = nullptr;
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
  struct Change {
    std::size_t endpoint;
    std::optional<config::Address> node;  // nullopt: to none
    bool keeps_subscribers = false;       // they get the same messages from the previous one
  };

  // `served_slots`: of a cluster's nodes (upstream::Questions).
  Endpoints(const config::Config& config,
            views::ProcessState& process_state,
            const io::TlsSlot& tls,
            log::EventLog& log,
            upstream::ServedSlots served_slots);
  Endpoints(const Endpoints&) = delete;
  Endpoints& operator=(const Endpoints&) = delete;
  ~Endpoints() { close(); }

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
  // Nullopt: it leads nowhere.
  const std::optional<config::Address>& node(std::size_t endpoint) const {
    return all_[endpoint]->node;
  }
  // What was connected to this endpoint's server before a time is to be ended, and then `done`
  // called; on the thread of its control connection. Set before open().
  using OnLeft = std::function<void(
      std::size_t endpoint, io::TimePoint before, const std::function<void()>& done)>;
  void set_on_left(OnLeft on_left) { on_left_ = std::move(on_left); }
  // For good: waits until each control connection has ended. on_left() is not called after it.
  void close();
  // What is asked of all of them, from now on.
  void open(const config::Config& config, std::uint64_t numbering);
  // To this node from now on: what is known of the one before is forgotten. reopen() follows, once
  // new clients are led there.
  void lead(std::size_t endpoint, const std::optional<config::Address>& node);
  void reopen(std::size_t endpoint);
  // The Redis at this address, to which one may lead. Nullopt: they are not open. Any thread.
  std::optional<upstream::RedisPlace> redis_at(const config::Address& address) const;
  // Adds what the control connection knows of the node; any thread.
  void look(std::size_t endpoint, guard::NodeStatus& node) const;

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
    std::atomic<guard::NodeState> seen{guard::NodeState::never};
    redis::Facts facts;
    ControlConnection control;
  };

  std::size_t endpoint_for(Leads leads);
  config::Upstream settings_at(const config::Address& address) const;
  void open(std::size_t endpoint);
  void note(std::size_t endpoint, guard::NodeState seen);

  views::ProcessState& process_state_;
  const io::TlsSlot& tls_;
  log::EventLog& log_;
  bool is_cluster_;
  bool has_several_;                    // servers, which Topology finds
  upstream::ServedSlots served_slots_;  // null: it is no cluster
  std::vector<std::size_t> of_listen_;  // as config.listen
  std::vector<std::unique_ptr<Endpoint>> all_;
  mutable std::mutex opening_;                    // for what follows, and all but facts and `seen`
  std::unique_ptr<const config::Config> config_;  // null: not open yet
  std::uint64_t numbering_ = 0;
  OnLeft on_left_;
};

}  // namespace cuckooguard::app
