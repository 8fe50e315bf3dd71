#include "app/endpoints.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "cluster/slot.h"
#include "filter/filter_file.h"

namespace cuckooguard::app {
namespace {

constexpr std::size_t kKeptBytesMax = std::size_t{64} * 1024;
constexpr std::chrono::milliseconds kKeptWithin{200};

}  // namespace

Endpoints::Endpoints(const config::Config& config,
                     views::ProcessState& process_state,
                     const io::TlsSlot& tls,
                     log::EventLog& log)
    : process_state_(process_state),
      tls_(tls),
      log_(log),
      is_cluster_(!config.upstream.cluster.empty()),
      has_nodes_(!config.upstream.cluster.empty() || !config.upstream.sentinels.empty()),
      table_(static_cast<std::size_t>(
          std::ranges::count_if(config.listen, &config::Listen::has_nodes))),
      board_([this](std::size_t endpoint) { return heard(endpoint); }, log) {
  make_all(config);
  make_watch(config);
}

void Endpoints::make_all(const config::Config& config) {
  of_listen_.resize(config.listen.size());
  for (const Leads leads : {Leads::to_redis, Leads::to_node, Leads::to_sentinel}) {
    for (std::size_t i = 0; i < config.listen.size(); ++i) {
      const config::Listen& listen = config.listen[i];
      const Leads its = listen.nodes       ? Leads::to_node
                        : listen.sentinels ? Leads::to_sentinel
                                           : Leads::to_redis;
      if (its == leads) {
        of_listen_[i] = endpoint_for(listen, leads);
      }
    }
  }
}

// A node's port has one of its own.
std::size_t Endpoints::endpoint_for(const config::Listen& listen, Leads leads) {
  if (leads == Leads::to_redis && master_port_ == 0) {
    master_port_ = listen.address.port;  // 0 of a Unix socket
  }
  if (const auto known = one_that(leads); known && leads != Leads::to_node) {
    return *known;
  }
  const std::size_t number = all_.size();
  const bool is_whole_cluster = is_cluster_ && leads == Leads::to_redis;
  all_.push_back(std::make_unique<Endpoint>(
      leads,
      ControlConnection::Calls{
          .on_seen = [this, number](auto seen) { note(number, seen); },
          .on_left = [this, number](io::TimePoint before,
                                    auto done) { on_left_(number, before, std::move(done)); }},
      tls_,
      log_,
      ControlConnection::Kind{.is_whole_cluster = is_whole_cluster, .is_in_cluster = is_cluster_}));
  if (leads == Leads::to_node) {
    nodes_.push_back({.endpoint = number, .port = listen.address.port});
  } else if (leads == Leads::to_sentinel) {
    sentinel_port_ = listen.address.port;
  }
  if (has_nodes_ && !is_whole_cluster) {
    all_.back()->nodes = std::make_unique<proxy::NodeAddresses>(
        proxy::NodeAddresses::Endpoint{.has_tls = listen.tls.has_value(),
                                       .is_sentinel = leads == Leads::to_sentinel},
        [this] { refresh(); });
  }
  return number;
}

std::optional<std::size_t> Endpoints::one_that(Leads leads) const {
  const auto found = std::ranges::find(all_, leads, [](const auto& each) { return each->leads; });
  return found == all_.end() ? std::nullopt
                             : std::optional(static_cast<std::size_t>(found - all_.begin()));
}

void Endpoints::make_watch(const config::Config& config) {
  if (!config.upstream.cluster.empty()) {
    cluster_ = std::make_unique<upstream::ClusterWatch>(
        config.upstream,
        upstream::ClusterWatch::Calls{
            .on_map = [this](cluster::Map map) { be_told({.map = std::move(map)}); },
            .on_silence = [this](const std::string& why) { be_silent("cluster_silent", why); }},
        &tls_);
  } else if (!config.upstream.sentinels.empty()) {
    sentinels_ = std::make_unique<upstream::SentinelWatch>(
        config.upstream,
        upstream::SentinelWatch::Calls{
            .on_known = [this](Known known) { be_told(std::move(known)); },
            .on_silence = [this](const std::string& why) { be_silent("sentinels_silent", why); }},
        &tls_);
  } else {
    all_.front()->node = config.upstream.address;
  }
}

void Endpoints::be_told(Known known) {
  board_.be_heard();
  on_known_(std::move(known));
}

void Endpoints::be_silent(log::EventName event, const std::string& why) {
  board_.be_silent(why);
  log_.warning(event, {{"why", why}});
}

void Endpoints::refresh() {
  if (cluster_) {
    cluster_->refresh();
  }
  if (sentinels_) {
    sentinels_->refresh();
  }
}

void Endpoints::keep_in(const source::StorageDirectory& storage) {
  if (nodes_.empty()) {
    return;
  }
  storage_ = &storage;
  std::ifstream file(storage.nodes_path(), std::ios::binary);
  kept_.resize(kKeptBytesMax);
  file.read(kept_.data(), static_cast<std::streamsize>(kept_.size()));
  kept_.resize(static_cast<std::size_t>(file.gcount()));
  table_.restore(kept_, io::now_since_boot());
}

// Before anybody is told of them, unless the disk takes too long: clients are accepted by the same
// thread.
void Endpoints::keep() {
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
          log_.warning("cluster_nodes_not_kept", {{"why", *trouble}});
        }
      });
  if (!is_posted) {
    must_keep_ = true;
  }
  kept_ = std::move(text);
  keeping_.finish(kKeptWithin);
}

void Endpoints::watch(std::function<void(Known)> on_known) {
  on_known_ = std::move(on_known);
  if (cluster_) {
    cluster_->start();
  }
  if (sentinels_) {
    sentinels_->start();
  }
}

void Endpoints::stop_watching() {
  if (cluster_) {
    cluster_->stop();
  }
  if (sentinels_) {
    sentinels_->stop();
  }
}

// All of them are silent before the first is gone: note() looks at each.
Endpoints::~Endpoints() {
  for (const auto& each : all_) {
    each->control.close();
  }
}

std::vector<Endpoints::Change> Endpoints::follow(const Known& known, io::TimePoint now) {
  board_.follow(known.map, now);
  std::vector<Change> changes;
  const std::vector<NodeTable::Change> of_nodes = table_.follow(known.map, now);
  keep();
  const std::lock_guard lock(opening_);
  for (const NodeTable::Change& change : of_nodes) {
    const auto [endpoint, port] = nodes_[change.endpoint];
    lead(changes, endpoint, change.node);
    log_.info(
        "cluster_node",
        {{"port", port}, {"leads_to", change.node ? change.node->text() : std::string("none")}});
  }
  const std::optional<config::Address> master = master_of(known);
  for (const auto& [leads, address] :
       {std::pair{Leads::to_redis, &master}, std::pair{Leads::to_sentinel, &known.answering}}) {
    const auto endpoint = one_that(leads);
    if (endpoint && *address) {
      const bool keeps_subscribers = leads == Leads::to_sentinel && known.is_one_before_up;
      lead(changes, *endpoint, *address, keeps_subscribers);
    }
  }
  if (!is_cluster_ && master) {
    leave_demoted(changes, std::exchange(followed_master_, master), *master);
  }
  warn_of_unplaced(known);
  return changes;
}

// Who was master is none any more, also before the Sentinels have told it so: those who came there
// for a master go on at the next one.
void Endpoints::leave_demoted(std::vector<Change>& changes,
                              const std::optional<config::Address>& before,
                              const config::Address& master) {
  if (!before || *before == master) {
    return;
  }
  for (const auto& [endpoint, port] : nodes_) {
    if (all_[endpoint]->node == before) {
      all_[endpoint]->control.forget();
      changes.push_back({.endpoint = endpoint, .node = before});
    }
  }
}

// Of a cluster any that has slots: the same as long as it is one.
std::optional<config::Address> Endpoints::master_of(const Known& known) const {
  if (!is_cluster_) {
    return known.master;
  }
  const auto endpoint = one_that(Leads::to_redis);
  std::optional<config::Address> master;
  for (const cluster::Node& node : known.map.nodes()) {
    const config::Address address = upstream::ClusterWatch::address_of(node);
    const bool serves =
        node.is_master && node.is_reachable && !node.is_failing && !node.slots.empty();
    if (serves && (!master || (endpoint && all_[*endpoint]->node == address))) {
      master = address;
    }
  }
  return master;
}

// Where clients are told of the nodes.
void Endpoints::warn_of_unplaced(const Known& known) {
  const bool tells_replicas = sentinel_port_ != 0 || !nodes_.empty();
  const std::size_t replicas = known.map.nodes().empty() ? 0 : known.map.nodes().size() - 1;
  const std::size_t unplaced = !nodes_.empty() ? table_.unplaced() : tells_replicas ? replicas : 0;
  if (std::exchange(unplaced_, unplaced) != unplaced && unplaced > 0) {
    log_.warning(
        "cluster_nodes_without_port",
        {{"nodes", unplaced},
         {"why",
          nodes_.empty() ? "clients are sent to replicas directly: give each a port by listen.nodes"
                         : "clients are sent to them directly: give listen.nodes more ports"}});
  }
}

// Nothing that is known of the Redis before counts from here on.
void Endpoints::lead(std::vector<Change>& changes,
                     std::size_t endpoint,
                     const std::optional<config::Address>& node,
                     bool keeps_subscribers) {
  if (all_[endpoint]->node == node) {
    return;
  }
  all_[endpoint]->node = node;
  all_[endpoint]->control.forget();
  changes.push_back({.endpoint = endpoint, .node = node, .keeps_subscribers = keeps_subscribers});
}

void Endpoints::publish(const Known& known, std::span<const Change> changes) {
  if (changes.empty() && known == published_) {
    return;
  }
  if (known.master && (!published_ || known.master != published_->master)) {
    log_.info(
        "redis_master",
        {{"address", known.master->text()},
         {"before",
          published_ && published_->master ? published_->master->text() : std::string("none")}});
  }
  tell(known);
  show(known);
  const std::lock_guard lock(opening_);
  published_ = known;
  for (const Change& change : changes) {
    if (config_) {
      open(change.endpoint);
    }
  }
}

// What clients are told. A node has the port that leads to it, if there is one; who is master, that
// of the listener for any master else; Sentinels all have that of the listener for their clients.
void Endpoints::tell(const Known& known) const {
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
    addresses.add(node, sentinel_port_);
  }
  const std::uint16_t master = sentinels_ ? master_port_ : std::uint16_t{0};
  for (const auto& each : all_) {
    if (each->nodes) {
      each->nodes->set({.addresses = addresses,
                        .host_of_this_node = each->node.value_or(config::Address{}).host,
                        .master = master});
    }
  }
}

void Endpoints::show(const Known& known) {
  NodeBoard::Ports ports{.of_nodes = nodes_, .master = known.master, .without = unplaced_};
  if (const auto endpoint = one_that(Leads::to_redis)) {
    ports.of_master = {.endpoint = *endpoint, .port = master_port_};
  }
  board_.show(known.map, table_, ports);
}

void Endpoints::open(const config::Config& config, std::uint64_t numbering) {
  const std::lock_guard lock(opening_);
  config_ = std::make_unique<const config::Config>(config);
  numbering_ = numbering;
  if (cluster_) {
    cluster_->adopt(config.upstream);
  }
  if (sentinels_) {
    sentinels_->adopt(config.upstream);
  }
  for (std::size_t i = 0; i < all_.size(); ++i) {
    open(i);
  }
}

void Endpoints::open(std::size_t endpoint) {
  const std::optional<config::Address>& node = all_[endpoint]->node;
  const bool is_redis = all_[endpoint]->leads != Leads::to_sentinel;
  const bool must_know = !config_->namespaces.empty() || config_->filters.is_used();
  if (!node || !is_redis) {
    all_[endpoint]->control.open(std::nullopt, {}, 0);
    note(endpoint, views::RedisSeen::never);
    return;
  }
  config::Upstream redis = has_watch()
                               ? upstream::ClusterWatch::settings_of(config_->upstream, *node)
                               : config_->upstream;
  if (must_know) {
    all_[endpoint]->control.open(std::move(redis), config_->namespaces, numbering_);
    return;
  }
  all_[endpoint]->control.open(
      std::move(redis), {}, numbering_, ControlConnection::Purpose::log_alone);
  note(endpoint, views::RedisSeen::never);
}

std::optional<upstream::RedisPlace> Endpoints::redis_of(std::string_view key) const {
  const std::lock_guard lock(opening_);
  if (!config_) {
    return std::nullopt;
  }
  if (!has_watch()) {
    return upstream::RedisPlace(config_->upstream, servers_at(config_->upstream.address));
  }
  if (!published_) {
    return std::nullopt;
  }
  std::optional<config::Address> node = published_->master;
  if (is_cluster_) {
    const cluster::Node* const owner = published_->map.owner_of(cluster::slot_of(key));
    node =
        owner == nullptr ? std::nullopt : std::optional(upstream::ClusterWatch::address_of(*owner));
  }
  if (!node) {
    return std::nullopt;
  }
  return upstream::RedisPlace(upstream::ClusterWatch::settings_of(config_->upstream, *node),
                              servers_at(*node));
}

// Of one to which no port leads nobody asks: it is known by its address alone.
std::uint64_t Endpoints::servers_at(const config::Address& address) const {
  const auto found = std::ranges::find_if(all_, [&address](const auto& each) {
    return each->leads != Leads::to_sentinel && each->node == address;
  });
  return found == all_.end() ? 0 : (*found)->control.servers();
}

NodeBoard::Heard Endpoints::heard(std::size_t endpoint) const {
  using enum views::RedisSeen;
  const Endpoint& one = *all_[endpoint];
  const views::RedisSeen seen = one.seen;
  const std::shared_ptr<const redis::Snapshot> redis = one.facts.snapshot();
  return {.state = seen == up     ? guard::NodeState::up
                   : seen == down ? guard::NodeState::down
                                  : guard::NodeState::never,
          .round_trip = seen == up && !redis->is_lost ? redis->round_trip : std::nullopt,
          .control = redis->control};
}

// Of several nodes one is enough: what becomes of the others is their cluster's business.
void Endpoints::note(std::size_t endpoint, views::RedisSeen seen) {
  all_[endpoint]->seen = seen;
  const auto any = [this](views::RedisSeen wanted) {
    return std::ranges::any_of(all_, [wanted](const auto& each) { return each->seen == wanted; });
  };
  using enum views::RedisSeen;
  process_state_.redis = any(up) ? up : any(down) ? down : never;
}

}  // namespace cuckooguard::app
