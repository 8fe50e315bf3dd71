#include "upstream/cluster_watch.h"

#include <algorithm>
#include <utility>

#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {

ClusterWatch::ClusterWatch(config::Upstream settings, Calls calls, const io::TlsSlot* tls)
    : settings_(std::move(settings)), calls_(std::move(calls)), worker_({}, tls) {}

config::Upstream ClusterWatch::settings_of(config::Upstream cluster, const config::Address& node) {
  cluster.address = node;
  cluster.connect_timeout =
      std::min<std::chrono::milliseconds>(cluster.connect_timeout, kConnectTimeout);
  return cluster;
}

config::Address ClusterWatch::address_of(const cluster::Node& node) {
  return {.host = node.host, .port = node.port, .unix_path = {}, .tls_name = node.hostname};
}

ClusterWatch::~ClusterWatch() {
  stop();  // before what it works with
}

void ClusterWatch::start() {
  worker_.start([this] { run(); });
}

void ClusterWatch::refresh() {
  if (!is_due_.exchange(true)) {
    worker_.loop().post([] {});
  }
}

void ClusterWatch::adopt(const config::Upstream& settings) {
  const std::lock_guard lock(mutex_);
  next_settings_ = settings;
}

// A changed login needs new connections.
void ClusterWatch::take_settings() {
  const std::lock_guard lock(mutex_);
  if (next_settings_ && *next_settings_ != settings_) {
    settings_ = *std::move(next_settings_);
    connections_.clear();
  }
  next_settings_.reset();
}

void ClusterWatch::run() {
  while (!worker_.loop().is_stopped()) {
    ask_all();
    rest();
  }
}

void ClusterWatch::rest() {
  io::AsioLoop& loop = worker_.loop();
  const io::TimePoint began = loop.now();
  std::uniform_int_distribution<std::int64_t> jitter(-kJitter.count(), kJitter.count());
  const io::TimePoint due = began + kEvery + std::chrono::milliseconds(jitter(random_));
  loop.run_until(began + kSoon);
  while (!is_due_ && !loop.is_stopped() && loop.now() < due) {
    loop.run_one(due);
  }
  is_due_ = false;
}

void ClusterWatch::ask_all() {
  take_settings();
  std::vector<cluster::View> views;
  std::string why;
  std::map<std::string, std::unique_ptr<RedisClient>> before = std::exchange(connections_, {});
  const auto ask_one = [&](const config::Address& address) {
    if (worker_.loop().is_stopped() || connections_.contains(address.text())) {
      return;  // two nodes may have it, of which one is gone
    }
    std::unique_ptr<RedisClient>& redis = connections_[address.text()];
    redis = std::move(before[address.text()]);
    View view = ask(address, redis);
    if (view) {
      views.push_back(*std::move(view));
    } else {
      redis = nullptr;
      why = address.text() + ": " + view.error();
    }
  };
  for (const cluster::Node& node : map_.nodes()) {
    if (node.is_reachable && !node.is_failing) {  // it is heard of again by the others
      ask_one(address_of(node));
    }
  }
  for (const config::Address& seed : settings_.cluster) {
    if (std::ranges::none_of(views, &cluster::View::is_ok)) {
      ask_one(seed);
    }
  }
  if (worker_.loop().is_stopped()) {
    return;
  }
  if (std::exchange(is_silent_, views.empty()) != views.empty() && views.empty()) {
    calls_.on_silence(why);
  }
  if (views.empty()) {
    return;
  }
  map_ = cluster::merge(cluster::without_strangers(std::move(views)));
  calls_.on_map(map_);
}

ClusterWatch::View ClusterWatch::ask(const config::Address& address,
                                     std::unique_ptr<RedisClient>& redis) {
  if (!redis) {
    auto opened = RedisClient::open(worker_.loop(), settings_of(settings_, address), kCallTimeout);
    if (!opened) {
      return std::unexpected(std::move(opened.error().why));
    }
    redis = *std::move(opened);
  }
  const Reply nodes = redis->call({"CLUSTER", "NODES"});
  const Reply info = redis->call({"CLUSTER", "INFO"});
  if (!info) {
    return std::unexpected(redis->why_lost());
  }
  for (const redisReply* const reply : {nodes.get(), info.get()}) {
    if (is_error(*reply)) {
      return std::unexpected(std::string(text_of(*reply)));
    }
  }
  View view = cluster::parse_nodes(text_of(*nodes), address.host);
  if (view) {
    view->is_ok = cluster::is_state_ok(text_of(*info));
  }
  return view;
}

}  // namespace cuckooguard::upstream
