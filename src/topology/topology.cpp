#include "topology/topology.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/addresses.h"
#include "filter/filter_file.h"
#include "io/blocking_thread.h"
#include "io/clock.h"
#include "redis/slot.h"
#include "routing/routed_loop.h"
#include "source/storage_directory.h"
#include "topology/nodes.h"
#include "topology/topology_replies.h"
#include "topology/watch.h"

namespace cuckooguard::topology {
namespace {

constexpr std::size_t kKeptBytesMax = std::size_t{64} * 1024;
constexpr std::chrono::milliseconds kKeptWithin{200};

using Change = app::Endpoints::Change;

class FollowedTopology final : public app::Topology {
 public:
  explicit FollowedTopology(const Environment& environment);

  void start(const source::StorageDirectory* storage) override;
  void stop() override { watch_->stop(); }
  void adopt(const config::Upstream& settings) override { watch_->adopt(settings); }
  void refresh() override { watch_->refresh(); }
  std::optional<config::Address> server_of(std::string_view key) const override;
  const guard::NodeView& nodes() const override { return board_; }
  std::unique_ptr<proxy::RewrittenReplies> replies(std::size_t endpoint,
                                                   std::string host) const override {
    const auto& addresses = addresses_[endpoint];
    return addresses ? std::make_unique<TopologyReplies>(*addresses, std::move(host)) : nullptr;
  }
  std::unique_ptr<io::Loop> loop(Worker worker) override;

 private:
  using Port = NodeBoard::Port;

  void add(const config::Listen& listen, std::size_t endpoint);
  void make_watch();
  void keep();
  void be_told(Known known);
  void follow(const Known& known);
  void lead(std::vector<Change>& changes, const Change& change);
  void leave_demoted(std::vector<Change>& changes,
                     const std::optional<config::Address>& before,
                     const config::Address& master);
  std::optional<config::Address> master_of(const Known& known) const;
  void warn_of_unplaced(const Known& known);
  void publish(const Known& known, const std::vector<Change>& changes);
  void tell_clients(const Known& known) const;

  const Environment process_;
  const bool is_cluster_;
  std::vector<Port> nodes_;       // in the order of NodeTable
  std::optional<Port> master_;    // of the listener for any master, or a whole cluster
  std::optional<Port> sentinel_;  // the same
  std::vector<std::unique_ptr<NodeAddresses>> addresses_;  // by endpoint; null: a whole cluster's
  std::vector<routing::RoutedLoop*> loops_;                // the workers'
  NodeTable table_;
  NodeBoard board_;
  std::size_t unplaced_ = 0;  // as told
  std::optional<config::Address> followed_master_;
  mutable std::mutex mutex_;  // for
  std::optional<Known> published_;
  const source::StorageDirectory* storage_ = nullptr;  // null: none
  std::string kept_;                                   // of `table_`, or about to be
  std::atomic<bool> must_keep_{false};                 // it was not
  std::unique_ptr<Watch> watch_;
  io::BlockingThread keeping_{
      {.patience = std::chrono::seconds(1), .name = "nodes"}};  // ends first
};

FollowedTopology::FollowedTopology(const Environment& environment)
    : process_(environment),
      is_cluster_(!environment.config.upstream.cluster.empty()),
      addresses_(environment.endpoints.size()),
      table_(static_cast<std::size_t>(
          std::ranges::count_if(environment.config.listen, &config::Listen::has_nodes))),
      board_([this](std::size_t endpoint,
                    guard::NodeStatus& node) { process_.endpoints.look(endpoint, node); },
             environment.log) {
  for (std::size_t i = 0; i < process_.config.listen.size(); ++i) {
    add(process_.config.listen[i], process_.endpoints.of_listen(i));
  }
  make_watch();
}

void FollowedTopology::add(const config::Listen& listen, std::size_t endpoint) {
  const Port port{.endpoint = endpoint, .port = listen.address.port};  // 0 of a Unix socket
  if (listen.nodes) {
    nodes_.push_back(port);
  } else if (std::optional<Port>& one = listen.sentinels ? sentinel_ : master_; !one) {
    one = port;
  } else if (!listen.sentinels && one->port == 0) {
    one->port = port.port;
  }
  if (!addresses_[endpoint] && !process_.endpoints.leads_to_cluster(endpoint)) {
    addresses_[endpoint] = std::make_unique<NodeAddresses>(
        NodeAddresses::Endpoint{.has_tls = listen.tls.has_value(),
                                .is_sentinel = listen.sentinels.has_value()},
        [this] { refresh(); });
  }
}

void FollowedTopology::make_watch() {
  const config::Upstream& redis = process_.config.upstream;
  const auto silent =
      is_cluster_ ? log::EventName("cluster_silent") : log::EventName("sentinels_silent");
  Watch::Calls calls{.on_known = [this](Known known) { be_told(std::move(known)); },
                     .on_silence =
                         [this, silent](const std::string& why) {
                           board_.be_silent(why);
                           process_.log.warning(silent, {{"why", why}});
                         }};
  if (is_cluster_) {
    watch_ = std::make_unique<ClusterWatch>(redis, std::move(calls), &process_.tls);
  } else {
    watch_ = std::make_unique<SentinelWatch>(redis, std::move(calls), &process_.tls);
  }
}

std::unique_ptr<io::Loop> FollowedTopology::loop(Worker worker) {
  auto routed = std::make_unique<routing::RoutedLoop>(
      worker.loop,
      worker.settings,
      process_.config.upstream.mode,
      [this] { refresh(); },
      routing::NodeUsers{.on_loss = std::move(worker.on_loss),
                         .version = std::move(worker.version)});
  loops_.push_back(routed.get());
  return routed;
}

void FollowedTopology::start(const source::StorageDirectory* storage) {
  if (storage != nullptr && !nodes_.empty()) {
    storage_ = storage;
    std::ifstream file(storage->nodes_path(), std::ios::binary);
    kept_.resize(kKeptBytesMax);
    file.read(kept_.data(), static_cast<std::streamsize>(kept_.size()));
    kept_.resize(static_cast<std::size_t>(file.gcount()));
    table_.restore(kept_, io::now_since_boot());
  }
  watch_->start();
}

// Before anybody is told of them, unless the disk takes too long: clients are accepted by the same
// thread.
void FollowedTopology::keep() {
  std::string text = table_.text();
  if (storage_ == nullptr || (text == kept_ && !must_keep_)) {
    return;
  }
  const auto trouble = std::make_shared<std::string>();
  must_keep_ = false;
  const bool is_posted = keeping_.post(
      [trouble, text, path = storage_->nodes_path()] {
        auto written = filter::WrittenFilterFile::write(path, text);
        const auto done = written ? written->put_in_place() : std::unexpected(written.error());
        *trouble = done ? "" : done.error().what;
      },
      [this, trouble] {
        if (!trouble->empty()) {
          must_keep_ = true;
          process_.log.warning("cluster_nodes_not_kept", {{"why", *trouble}});
        }
      });
  if (!is_posted) {
    must_keep_ = true;
  }
  kept_ = std::move(text);
  keeping_.finish(kKeptWithin);
}

void FollowedTopology::be_told(Known known) {
  board_.be_heard();
  process_.post([this, known = std::move(known)] { follow(known); });
}

// Clients are led to where an endpoint leads before they can be told of it, and before anything of
// that Redis is known. Every worker is told each time, so that what is published is what all of
// them have heard last.
void FollowedTopology::follow(const Known& known) {
  const io::TimePoint now = io::now_since_boot();
  board_.follow(known.map, now);
  std::vector<Change> changes;
  const std::vector<NodeTable::Change> of_nodes = table_.follow(known.map, now);
  keep();
  for (const NodeTable::Change& change : of_nodes) {
    const auto [endpoint, port] = nodes_[change.endpoint];
    lead(changes, {.endpoint = endpoint, .node = change.node});
    process_.log.info(
        "cluster_node",
        {{"port", port}, {"leads_to", change.node ? change.node->text() : std::string("none")}});
  }
  const std::optional<config::Address> master = master_of(known);
  if (master_ && master) {
    lead(changes, {.endpoint = master_->endpoint, .node = master});
  }
  if (sentinel_ && known.answering) {
    lead(changes,
         {.endpoint = sentinel_->endpoint,
          .node = known.answering,
          .keeps_subscribers = known.is_one_before_up});
  }
  if (!is_cluster_ && master) {
    leave_demoted(changes, std::exchange(followed_master_, master), *master);
  }
  warn_of_unplaced(known);
  const auto next = std::make_shared<const Known>(known);
  for (routing::RoutedLoop* const loop : loops_) {
    loop->post([loop, next] { loop->set({next, &next->map}, next->asked_at); });
  }
  process_.lead(changes, [this, next, changes] { publish(*next, changes); });
}

// Nothing that is known of the Redis before counts from here on.
void FollowedTopology::lead(std::vector<Change>& changes, const Change& change) {
  if (process_.endpoints.node(change.endpoint) != change.node) {
    process_.endpoints.lead(change.endpoint, change.node);
    changes.push_back(change);
  }
}

// Who was master is none any more, also before the Sentinels have told it so: those who came there
// for a master go on at the next one.
void FollowedTopology::leave_demoted(std::vector<Change>& changes,
                                     const std::optional<config::Address>& before,
                                     const config::Address& master) {
  if (!before || *before == master) {
    return;
  }
  for (const auto& [endpoint, port] : nodes_) {
    if (process_.endpoints.node(endpoint) == before) {
      process_.endpoints.lead(endpoint, before);
      changes.push_back({.endpoint = endpoint, .node = before});
    }
  }
}

// Of a cluster any that has slots: the same as long as it is one.
std::optional<config::Address> FollowedTopology::master_of(const Known& known) const {
  if (!is_cluster_) {
    return known.master;
  }
  std::optional<config::Address> master;
  for (const cluster::Node& node : known.map.nodes()) {
    const config::Address address = cluster::address_of(node);
    const bool serves =
        node.is_master && node.is_reachable && !node.is_failing && !node.slots.empty();
    if (serves && (!master || (master_ && process_.endpoints.node(master_->endpoint) == address))) {
      master = address;
    }
  }
  return master;
}

// Where clients are told of the nodes.
void FollowedTopology::warn_of_unplaced(const Known& known) {
  const bool tells_replicas = (sentinel_ && sentinel_->port != 0) || !nodes_.empty();
  const std::size_t replicas = known.map.nodes().empty() ? 0 : known.map.nodes().size() - 1;
  const std::size_t unplaced = !nodes_.empty() ? table_.unplaced() : tells_replicas ? replicas : 0;
  if (std::exchange(unplaced_, unplaced) != unplaced && unplaced > 0) {
    process_.log.warning(
        "cluster_nodes_without_port",
        {{"nodes", unplaced},
         {"why",
          nodes_.empty()
              ? "clients are sent to replicas directly: add a port for each to listen.nodes"
              : "clients are sent to them directly: add ports to listen.nodes"}});
  }
}

void FollowedTopology::publish(const Known& known, const std::vector<Change>& changes) {
  if (changes.empty() && published_ && known.is_as(*published_)) {
    return;
  }
  if (known.master && (!published_ || known.master != published_->master)) {
    process_.log.info(
        "redis_master",
        {{"address", known.master->text()},
         {"before",
          published_ && published_->master ? published_->master->text() : std::string("none")}});
  }
  tell_clients(known);
  board_.show(
      known.map,
      table_,
      {.of_nodes = nodes_, .master = known.master, .of_master = master_, .without = unplaced_});
  {
    const std::lock_guard lock(mutex_);
    published_ = known;
  }
  for (const Change& change : changes) {
    process_.endpoints.reopen(change.endpoint);
  }
}

// A node has the port that leads to it, if there is one; who is master, that of the listener for
// any master else; Sentinels all have that of the listener for their clients.
void FollowedTopology::tell_clients(const Known& known) const {
  cluster::Addresses addresses;
  for (const cluster::Node& node : known.map.nodes()) {
    const auto number = table_.endpoint_of(node.id);
    addresses.add(node, number ? nodes_[*number].port : std::uint16_t{0});
  }
  for (const config::Address& sentinel : known.sentinels) {
    cluster::Node node;
    node.id = sentinel.text();
    node.host = sentinel.host;
    node.port = sentinel.port;
    addresses.add(node, sentinel_ ? sentinel_->port : std::uint16_t{0});
  }
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    if (addresses_[i]) {
      addresses_[i]->set(
          {.addresses = addresses,
           .host_of_this_node = process_.endpoints.node(i).value_or(config::Address{}).host,
           .master = master_ && !is_cluster_ ? master_->port : std::uint16_t{0}});
    }
  }
}

std::optional<config::Address> FollowedTopology::server_of(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  if (!published_ || !is_cluster_) {
    return published_ ? published_->master : std::nullopt;
  }
  const cluster::Node* const owner = published_->map.owner_of(redis::slot_of(key));
  return owner == nullptr ? std::nullopt : std::optional(cluster::address_of(*owner));
}

}  // namespace

std::unique_ptr<app::Topology> make_topology(const app::Topology::Environment& environment) {
  return std::make_unique<FollowedTopology>(environment);
}

}  // namespace cuckooguard::topology
