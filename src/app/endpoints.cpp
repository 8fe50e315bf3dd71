#include "app/endpoints.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "filter/filter_file.h"

namespace cuckooguard::app {
namespace {

constexpr std::size_t kKeptBytesMax = std::size_t{64} * 1024;

}  // namespace

Endpoints::Endpoints(const config::Config& config,
                     views::ProcessState& process_state,
                     const io::TlsSlot& tls,
                     log::EventLog& log)
    : process_state_(process_state),
      tls_(tls),
      log_(log),
      table_(static_cast<std::size_t>(
          std::ranges::count_if(config.listen, &config::Listen::has_nodes))) {
  for (const config::Listen& listen : config.listen) {
    of_listen_.push_back(endpoint_for(listen));
  }
  if (config.upstream.cluster.empty()) {
    all_.front()->node = config.upstream.address;
    return;
  }
  watch_ = std::make_unique<upstream::ClusterWatch>(
      config.upstream,
      upstream::ClusterWatch::Calls{
          .on_map = [this](cluster::Map map) { on_map_(std::move(map)); },
          .on_silence =
              [this](const std::string& why) { log_.warning("cluster_silent", {{"why", why}}); }},
      &tls);
}

// A node's port has one of its own.
std::size_t Endpoints::endpoint_for(const config::Listen& listen) {
  const Leads leads = listen.nodes ? Leads::to_node : Leads::to_redis;
  const auto known = std::ranges::find(all_, leads, [](const auto& each) { return each->leads; });
  if (leads != Leads::to_node && known != all_.end()) {
    return static_cast<std::size_t>(known - all_.begin());
  }
  const std::size_t number = all_.size();
  Endpoint& added = *all_.emplace_back(std::make_unique<Endpoint>(
      leads, [this, number](views::RedisSeen seen) { note(number, seen); }, tls_, log_));
  if (leads == Leads::to_node) {
    nodes_.push_back({.endpoint = number, .port = listen.address.port});
    added.nodes = std::make_unique<proxy::NodeAddresses>(
        proxy::NodeAddresses::Endpoint{.has_tls = listen.tls.has_value()},
        [this] { watch_->refresh(); });
  }
  return number;
}

void Endpoints::keep_in(const source::StorageDirectory& storage) {
  storage_ = &storage;
  std::ifstream file(storage.nodes_path(), std::ios::binary);
  kept_.resize(kKeptBytesMax);
  file.read(kept_.data(), static_cast<std::streamsize>(kept_.size()));
  kept_.resize(static_cast<std::size_t>(file.gcount()));
  table_.restore(kept_, io::now_since_boot());
}

// Before anybody is told of them.
void Endpoints::keep() {
  std::string text = table_.text();
  if (storage_ == nullptr || text == kept_) {
    return;
  }
  auto written = filter::WrittenFilterFile::write(storage_->nodes_path(), text);
  const auto done = written ? written->put_in_place() : std::unexpected(written.error());
  if (done) {
    kept_ = std::move(text);
  } else {
    log_.warning("cluster_nodes_not_kept", {{"why", done.error().what}});
  }
}

void Endpoints::watch(std::function<void(cluster::Map)> on_map) {
  on_map_ = std::move(on_map);
  watch_->start();
}

// All of them are silent before the first is gone: note() looks at each.
Endpoints::~Endpoints() {
  for (const auto& each : all_) {
    each->control.open(std::nullopt, {}, 0);
  }
}

std::vector<Endpoints::Change> Endpoints::follow(const cluster::Map& map, io::TimePoint now) {
  std::vector<Change> changes;
  const std::vector<NodeTable::Change> of_nodes = table_.follow(map, now);
  keep();
  const std::lock_guard lock(opening_);
  for (const NodeTable::Change& change : of_nodes) {
    const auto [endpoint, port] = nodes_[change.endpoint];
    lead(changes, endpoint, change.node);
    log_.info(
        "cluster_node",
        {{"port", port}, {"leads_to", change.node ? change.node->text() : std::string("none")}});
  }
  if (std::exchange(unplaced_, table_.unplaced()) != table_.unplaced() && unplaced_ > 0) {
    log_.warning("cluster_nodes_without_port",
                 {{"nodes", unplaced_},
                  {"why", "clients are sent to them directly: give listen.nodes more ports"}});
  }
  return changes;
}

// Nothing that is known of the Redis before counts from here on.
void Endpoints::lead(std::vector<Change>& changes,
                     std::size_t endpoint,
                     const std::optional<config::Address>& node) {
  if (all_[endpoint]->node == node) {
    return;
  }
  all_[endpoint]->node = node;
  all_[endpoint]->control.forget();
  changes.push_back({.endpoint = endpoint, .node = node});
}

void Endpoints::publish(const cluster::Map& map, std::span<const Change> changes) {
  if (changes.empty() && map == published_) {
    return;
  }
  published_ = map;
  cluster::Addresses addresses;
  for (const cluster::Node& node : map.nodes()) {
    const auto number = table_.endpoint_of(node.id);
    addresses.add(node, number ? nodes_[*number].port : std::uint16_t{0});
  }
  for (const auto& each : all_) {
    if (each->nodes) {
      each->nodes->set({.addresses = addresses,
                        .host_of_this_node = each->node.value_or(config::Address{}).host});
    }
  }
  const std::lock_guard lock(opening_);
  for (const Change& change : changes) {
    if (config_) {
      open(change.endpoint);
    }
  }
}

void Endpoints::open(const config::Config& config, std::uint64_t numbering) {
  const std::lock_guard lock(opening_);
  config_ = std::make_unique<const config::Config>(config);
  numbering_ = numbering;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    open(i);
  }
}

void Endpoints::open(std::size_t endpoint) {
  const std::optional<config::Address>& node = all_[endpoint]->node;
  if (!node || config_->namespaces.empty()) {
    all_[endpoint]->control.open(std::nullopt, {}, 0);
    note(endpoint, views::RedisSeen::never);
    return;
  }
  config::Upstream redis = is_cluster()
                               ? upstream::ClusterWatch::settings_of(config_->upstream, *node)
                               : config_->upstream;
  all_[endpoint]->control.open(std::move(redis), config_->namespaces, numbering_);
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
