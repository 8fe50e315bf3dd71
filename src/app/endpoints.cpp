#include "app/endpoints.h"

#include <algorithm>
#include <fstream>
#include <ranges>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cluster/slot.h"
#include "filter/filter_file.h"
#include "text/number.h"

namespace cuckooguard::app {
namespace {

upstream::Questions questions_for(const config::Upstream& redis,
                                  const std::vector<config::Namespace>& namespaces,
                                  std::uint64_t numbering,
                                  bool of_whole_cluster) {
  upstream::Questions questions{.numbering = numbering,
                                .of_cluster = !redis.cluster.empty(),
                                .of_whole_cluster = of_whole_cluster};
  for (const config::Namespace& space : namespaces) {
    std::vector<std::string>& prefixes = questions.keys.emplace_back();
    for (const keyspace::KeyTemplate& key : space.keys) {
      prefixes.emplace_back(key.literal_prefix());
    }
  }
  return questions;
}

constexpr std::size_t kKeptBytesMax = std::size_t{64} * 1024;
constexpr std::chrono::milliseconds kKeptWithin{200};

}  // namespace

std::vector<NodeTable::Change> NodeTable::follow(const cluster::Map& map, io::TimePoint now) {
  std::vector<Change> changes;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    if (place.id.empty() || map.find(place.id) != nullptr) {
      place.seen = now;
    } else if (now - place.seen > kKeptFor) {
      if (place.node) {
        changes.push_back({.endpoint = i, .node = std::nullopt});
      }
      place = {.seen = now};
    }
  }
  std::vector<const cluster::Node*> nodes;
  for (const cluster::Node& node : map.nodes()) {
    if (node.is_reachable) {
      nodes.push_back(&node);
    }
  }
  std::ranges::stable_partition(nodes, &cluster::Node::is_master);
  unplaced_ = 0;
  for (const cluster::Node* const node : nodes) {
    const auto place = place_for(node->id, now);
    if (place == places_.end()) {
      ++unplaced_;
      continue;
    }
    const config::Address address = upstream::ClusterWatch::address_of(*node);
    place->id = node->id;
    place->seen = now;
    if (place->node != address) {
      place->node = address;
      changes.push_back(
          {.endpoint = static_cast<std::size_t>(place - places_.begin()), .node = address});
    }
  }
  return changes;
}

// Its own, or a free one, or that of a node which is not there any more.
std::vector<NodeTable::Place>::iterator NodeTable::place_for(const std::string& id,
                                                             io::TimePoint now) {
  for (const std::string& wanted : {id, std::string()}) {
    const auto place = std::ranges::find(places_, wanted, &Place::id);
    if (place != places_.end()) {
      return place;
    }
  }
  const auto oldest = std::ranges::min_element(places_, {}, &Place::seen);
  return oldest == places_.end() || oldest->seen == now ? places_.end() : oldest;
}

std::optional<NodeTable::Node> NodeTable::node_at(std::size_t endpoint) const {
  const Place& place = places_.at(endpoint);
  return place.node ? std::optional(Node{.id = place.id, .address = *place.node}) : std::nullopt;
}

std::optional<std::size_t> NodeTable::endpoint_of(std::string_view id) const {
  const auto place = std::ranges::find(places_, id, &Place::id);
  return place == places_.end() || id.empty()
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(place - places_.begin()));
}

std::string NodeTable::text() const {
  std::string text;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!places_[i].id.empty()) {
      text += fmt::format("{} {}\n", i, places_[i].id);
    }
  }
  return text;
}

void NodeTable::restore(std::string_view text, io::TimePoint now) {
  for (const auto part : std::views::split(text, '\n')) {
    std::string_view id(part);
    const auto endpoint = text::take_number<std::size_t>(id);
    if (endpoint && *endpoint < places_.size() && id.size() > 1 && id.front() == ' ' &&
        places_[*endpoint].id.empty() && !endpoint_of(id.substr(1))) {
      places_[*endpoint] = {.id = std::string(id.substr(1)), .seen = now};
    }
  }
}

ControlConnection::ControlConnection(
    redis::Facts& facts, Calls calls, const io::TlsSlot& tls, log::EventLog& log, Kind kind)
    : facts_(facts), calls_(std::move(calls)), tls_(tls), log_(log), kind_(kind) {
  facts_.set_on_doubt([this](redis::Facts::Urgency urgency) {
    const std::lock_guard lock(mutex_);
    if (!control_) {
      return;
    }
    if (urgency == redis::Facts::Urgency::at_once) {
      control_->refresh();
    } else {
      control_->refresh_soon();
    }
  });
}

void ControlConnection::open(std::optional<config::Upstream> redis,
                             const std::vector<config::Namespace>& namespaces,
                             std::uint64_t numbering,
                             Purpose purpose) {
  const bool is_forgotten = std::exchange(is_forgotten_, false);
  const bool asks_the_same = numbering_ == numbering && purpose_ == purpose;
  if (!is_forgotten && settings_ == redis && (!redis || asks_the_same)) {
    return;
  }
  const bool was_asked = settings_ && purpose_ == Purpose::facts;
  const bool is_asked = redis && purpose == Purpose::facts;
  if (was_asked && (!is_asked || settings_->address != redis->address)) {
    forget_what_is_known();
  } else {
    believe_no_more();
  }
  settings_ = std::move(redis);
  numbering_ = numbering;
  purpose_ = purpose;
  std::unique_ptr<upstream::Control> next = settings_ ? make(*settings_, namespaces) : nullptr;
  if (next) {
    next->start();
  }
  std::unique_lock lock(mutex_);
  std::swap(control_, next);
  lock.unlock();
  end_aside(std::move(next));
  if (!settings_ || purpose_ == Purpose::log_alone) {
    facts_.report({});
  }
}

void ControlConnection::forget() {
  forget_what_is_known();
  if (control_) {
    control_->end_soon();
  }
  is_forgotten_ = true;
}

void ControlConnection::close() {
  open(std::nullopt, {}, 0);
  ending_.clear();  // which waits
}

// What one before is just telling counts, and is forgotten behind this.
void ControlConnection::believe_no_more() {
  const std::lock_guard lock(telling_);
  ++opened_;
}

void ControlConnection::end_aside(std::unique_ptr<upstream::Control> control) {
  std::erase_if(ending_, [](const std::future<void>& end) {
    return end.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
  if (!control) {
    return;
  }
  control->end_soon();
  auto end = [ended = std::move(control)]() mutable { ended.reset(); };
  try {
    ending_.push_back(std::async(std::launch::async, std::move(end)));
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): no thread, so it ends here
  }
}

void ControlConnection::forget_what_is_known() {
  believe_no_more();
  ++servers_;
  facts_.lost({.why = "it leads to another node", .is_up = true});
  const std::lock_guard lock(meeting_);
  met_.reset();
}

std::unique_ptr<upstream::Control> ControlConnection::make(
    const config::Upstream& redis, const std::vector<config::Namespace>& namespaces) {
  const auto believed = [this, mine = opened_](auto call) {
    return [this, mine, call](auto&&... told) {
      const std::lock_guard lock(telling_);
      if (opened_ == mine) {
        std::invoke(call, this, std::forward<decltype(told)>(told)...);
      }
    };
  };
  if (purpose_ == Purpose::log_alone) {
    return std::make_unique<upstream::Control>(
        redis,
        upstream::Questions{.of_presence_alone = true},
        upstream::Control::Calls{.on_reachable = believed(&ControlConnection::log_reachable),
                                 .on_lost = [](bool, const std::string&) {}},
        &tls_);
  }
  return std::make_unique<upstream::Control>(
      redis,
      questions_for(redis, namespaces, numbering_, kind_.is_whole_cluster),
      upstream::Control::Calls{.epoch = [this] { return facts_.epoch(); },
                               .users = [this] { return facts_.users_to_ask(); },
                               .on_facts = believed(&ControlConnection::on_facts),
                               .on_server = believed(&ControlConnection::on_server),
                               .on_reachable = believed(&ControlConnection::on_reachable),
                               .on_lost = believed(&ControlConnection::on_lost),
                               .on_allowed = believed(&ControlConnection::on_allowed)},
      &tls_);
}

void ControlConnection::on_facts(std::uint64_t epoch, redis::Reading reading) {
  if (leaving_ == 0) {
    facts_.publish(epoch, std::move(reading));
  }
}

void ControlConnection::on_reachable(bool reachable, const std::string& why) {
  calls_.on_seen(reachable ? views::RedisSeen::up : views::RedisSeen::down);
  log_reachable(reachable, why);
}

void ControlConnection::log_reachable(bool reachable, const std::string& why) {
  const std::string address = settings_ ? settings_->address.text() : std::string();
  if (reachable) {
    log_.info("upstream_up", {{"address", address}});
  } else {
    log_.warning("upstream_down", {{"why", why}, {"address", address}});
  }
}

// The first one is compared with nothing: what is connected by then was led there, too.
std::optional<io::TimePoint> ControlConnection::left_before(const upstream::Server& server) const {
  if (!met_) {
    return std::nullopt;
  }
  const upstream::Server& before = met_->server;
  if (server.is_led_to_anew && server.connected_at != before.connected_at) {
    return server.connected_at;
  }
  if (!server.run_id.empty() && !before.run_id.empty() && server.run_id != before.run_id) {
    const bool is_started_since = met_->closed_at && server.uptime &&
                                  *server.uptime <= std::chrono::ceil<std::chrono::seconds>(
                                                        io::now_since_boot() - *met_->closed_at);
    return is_started_since ? *met_->closed_at : server.connected_at;
  }
  const bool has_other_role =
      server.is_master && before.is_master && *server.is_master != *before.is_master;
  return has_other_role && !kind_.is_in_cluster ? std::optional(io::now_since_boot())
                                                : std::nullopt;
}

void ControlConnection::on_server(const upstream::Server& server) {
  std::unique_lock lock(meeting_);
  const std::optional<io::TimePoint> before = left_before(server);
  const std::optional<bool> was_master = met_ ? met_->server.is_master : std::nullopt;
  met_ = {.server = server, .closed_at = std::nullopt};
  met_->server.is_master = server.is_master ? server.is_master : was_master;
  lock.unlock();
  if (before) {
    leave(*before, server);
  }
}

// Nothing is answered before all workers have ended what leads to the one before.
void ControlConnection::leave(io::TimePoint before, const upstream::Server& server) {
  facts_.lost({.why = "another server is behind its address", .is_up = true});
  ++servers_;
  ++leaving_;
  const bool is_master = server.is_master.value_or(false);
  log_.warning("upstream_changed",
               {{"run_id", server.run_id}, {"role", is_master ? "master" : "replica"}});
  calls_.on_left(before, [this] {
    --leaving_;
    const std::lock_guard lock(mutex_);
    if (control_) {
      control_->refresh();
    }
  });
}

void ControlConnection::on_lost(bool is_up, const std::string& why) {
  facts_.lost({.why = why, .is_up = is_up});
  const std::lock_guard lock(meeting_);
  if (met_ && !is_up && !met_->closed_at) {
    met_->closed_at = io::now_since_boot();
  }
}

// Once per change, also over a reload that asks by another connection.
void ControlConnection::on_allowed(const redis::ControlReport& report) {
  using State = redis::ControlReport::State;
  const redis::ControlReport before = facts_.snapshot()->control;
  if (report == before) {
    return;
  }
  facts_.report(report);
  const std::initializer_list<log::Field> fields{{"why", report.why}, {"hint", report.hint}};
  if (report.state == State::unsupported) {
    log_.write(config::LogLevel::error, "upstream_refused", fields);
  } else if (report.state == State::not_allowed) {
    log_.write(config::LogLevel::error, "control_not_allowed", fields);
  } else if (report.state == State::limited) {
    log_.write(config::LogLevel::warning, "control_not_allowed", fields);
  } else if (before.state != State::unknown) {
    log_.info("control_allowed");
  }
}

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
  each_watch([](auto& watch) { watch.refresh(); });
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
  each_watch([](auto& watch) { watch.start(); });
}

void Endpoints::stop_watching() {
  each_watch([](auto& watch) { watch.stop(); });
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
  each_watch([&config](auto& watch) { watch.adopt(config.upstream); });
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
