#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "topology/watch.h"
#include "upstream/redis_reply.h"

namespace cuckooguard::topology {
namespace {

// The nodes whose views these are, by id.
std::set<std::string> ids_of(const std::vector<cluster::View>& views) {
  std::set<std::string> ids;
  for (const cluster::View& view : views) {
    ids.insert(view.myself ? view.nodes[*view.myself].id : std::string());
  }
  return ids;
}

bool has_all_masters(const std::set<std::string>& heard, const cluster::Map& map) {
  return std::ranges::all_of(map.nodes(), [&](const cluster::Node& node) {
    return node.slots.empty() || heard.contains(node.id);
  });
}

}  // namespace

ClusterWatch::ClusterWatch(config::Upstream settings, Calls calls, const io::TlsSlot* tls)
    : settings_(std::move(settings)), calls_(std::move(calls)), thread_(tls) {}

void ClusterWatch::start() {
  thread_.worker.start([this] { run(); });
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
  std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<std::int64_t> jitter(-kJitter.count(), kJitter.count());
  while (!thread_.worker.loop().is_stopped()) {
    ask_all();
    thread_.rest(kEvery + std::chrono::milliseconds(jitter(random)), [] { return false; });
  }
}

void ClusterWatch::ask_all() {
  take_settings();
  const io::TimePoint asked_at = io::now_since_boot();
  std::vector<cluster::View> views;
  std::string why;
  std::map<std::string, std::unique_ptr<upstream::RedisClient>> before =
      std::exchange(connections_, {});
  const auto ask_one = [&](const config::Address& address) {
    if (thread_.worker.loop().is_stopped() || connections_.contains(address.text())) {
      return;  // two nodes may have it, of which one is gone
    }
    std::unique_ptr<upstream::RedisClient>& redis = connections_[address.text()];
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
      ask_one(cluster::address_of(node));
    }
  }
  for (const config::Address& seed : settings_.cluster) {
    if (std::ranges::none_of(views, &cluster::View::is_ok)) {
      ask_one(seed);
    }
  }
  if (thread_.worker.loop().is_stopped()) {
    return;
  }
  if (std::exchange(is_silent_, views.empty()) != views.empty() && views.empty()) {
    calls_.on_silence(why);
  }
  if (views.empty()) {
    return;
  }
  const std::set<std::string> heard = ids_of(views);
  map_ = cluster::merge(cluster::without_strangers(std::move(views)));
  calls_.on_known(
      {.map = map_, .asked_at = has_all_masters(heard, map_) ? asked_at : io::TimePoint{}});
}

ClusterWatch::View ClusterWatch::ask(const config::Address& address,
                                     std::unique_ptr<upstream::RedisClient>& redis) {
  if (!redis) {
    auto opened = upstream::RedisClient::open(
        thread_.worker.loop(), upstream::settings_at(settings_, address), kCallTimeout);
    if (!opened) {
      return std::unexpected(std::move(opened.error().why));
    }
    redis = *std::move(opened);
  }
  const upstream::Reply nodes = redis->call({"CLUSTER", "NODES"});
  const upstream::Reply info = redis->call({"CLUSTER", "INFO"});
  if (!info) {
    return std::unexpected(redis->why_lost());
  }
  for (const redisReply* const reply : {nodes.get(), info.get()}) {
    if (upstream::is_error(*reply)) {
      return std::unexpected(std::string(upstream::text_of(*reply)));
    }
  }
  View view = cluster::parse_nodes(upstream::text_of(*nodes), address.host);
  if (view) {
    view->is_ok = cluster::is_state_ok(upstream::text_of(*info));
  }
  return view;
}

}  // namespace cuckooguard::topology
