#include "upstream/cluster_watch.h"

#include <algorithm>
#include <utility>

#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {

ClusterWatch::ClusterWatch(config::Upstream settings, Calls calls, const io::TlsSlot* tls)
    : settings_(std::move(settings)), calls_(std::move(calls)), tls_(tls) {}

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
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void ClusterWatch::refresh() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(is_due_, true)) {
    wake_.notify_all();
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

void ClusterWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    ask_all(stop);
    rest(stop);
  }
}

void ClusterWatch::rest(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, stop, kSoon, [] { return false; });
  std::uniform_int_distribution<std::int64_t> jitter(-kJitter.count(), kJitter.count());
  const auto pause = kEvery - kSoon + std::chrono::milliseconds(jitter(random_));
  wake_.wait_for(lock, stop, pause, [this] { return is_due_; });
  is_due_ = false;
}

void ClusterWatch::ask_all(const std::stop_token& stop) {
  take_settings();
  std::vector<cluster::View> views;
  std::string why;
  std::map<std::string, RedisConnector::Redis> before = std::exchange(connections_, {});
  const auto ask_one = [&](const config::Address& address) {
    if (stop.stop_requested() || connections_.contains(address.text())) {
      return;  // two nodes may have it, of which one is gone
    }
    RedisConnector::Redis& redis = connections_[address.text()];
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
  if (stop.stop_requested()) {
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
                                     RedisConnector::Redis& redis) const {
  if (!redis) {
    const RedisConnector connector(settings_of(settings_, address), tls_, kCallTimeout);
    std::string why;
    redis = connector.open(why);
    if (!redis) {
      return std::unexpected(why);
    }
    if (auto refusal = connector.log_in(*redis)) {
      return std::unexpected(std::move(refusal->why));
    }
  }
  const auto ask_for = [&](const char* what) {
    return Reply(static_cast<redisReply*>(redisCommand(redis.get(), what)));
  };
  const Reply nodes = ask_for("CLUSTER NODES");
  const Reply info = nodes ? ask_for("CLUSTER INFO") : nullptr;
  if (!info) {
    return std::unexpected(why_failed(*redis, kCallTimeout));
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
