#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

#include "text/number.h"
#include "topology/watch.h"
#include "upstream/redis_client.h"

namespace cuckooguard::topology {
namespace {

using std::chrono::milliseconds;

std::string_view field(const redisReply& instance, std::string_view name) {
  const redisReply* const value = upstream::value_of(instance, name);
  return value != nullptr ? upstream::text_of(*value) : std::string_view{};
}

config::Address address_of(std::string_view host, std::string_view port) {
  return {.host = std::string(host),
          .port = text::take_number<std::uint16_t>(port).value_or(0),
          .unix_path = {}};
}

config::Address address_of(const redisReply& instance) {
  return address_of(field(instance, "ip"), field(instance, "port"));
}

cluster::Node node_of(const redisReply& instance, const config::Address& master) {
  config::Address address = address_of(instance);
  cluster::Node node;
  node.id = address.text();
  node.is_master = address == master;
  node.is_failing = field(instance, "flags").contains("down");  // s_down, o_down
  node.is_reachable = !address.host.empty() && address.port != 0;
  node.host = std::move(address.host);
  node.port = address.port;
  return node;
}

// Of the first `most` instances in a list.
auto instances_in(const redisReply& list, std::size_t most) {
  return upstream::elements_of(list) | std::views::take(most) |
         std::views::transform(
             [](const redisReply* instance) -> const redisReply& { return *instance; });
}

}  // namespace

void Watch::AskingThread::refresh() {
  if (!is_due.exchange(true)) {
    worker.loop().post([] {});
  }
}

void Watch::AskingThread::rest(milliseconds pause, const std::function<bool()>& is_over) {
  io::AsioLoop& loop = worker.loop();
  const io::TimePoint asked_at = loop.now();
  io::TimePoint due = asked_at + pause;
  while (!is_over() && !loop.is_stopped() && loop.now() < due) {
    if (is_due.exchange(false)) {
      due = std::min(due, asked_at + kSoon);
    }
    loop.run_one(due);
  }
}

SentinelWatch::SentinelWatch(config::Upstream settings, Calls calls, const io::TlsSlot* tls)
    : calls_(std::move(calls)), settings_(std::move(settings)) {
  for (const config::Address& address : settings_.sentinels) {
    sentinels_.push_back(std::make_unique<Sentinel>(address, tls));
  }
}

void SentinelWatch::start() {
  for (const auto& sentinel : sentinels_) {
    sentinel->thread.worker.start([this, &sentinel = *sentinel] { run(sentinel); });
  }
}

void SentinelWatch::stop() {
  for (const auto& sentinel : sentinels_) {
    sentinel->thread.worker.loop().stop();
  }
  for (const auto& sentinel : sentinels_) {
    sentinel->thread.worker.stop_and_join();
  }
}

void SentinelWatch::refresh() {
  for (const auto& sentinel : sentinels_) {
    sentinel->thread.refresh();
  }
}

void SentinelWatch::adopt(const config::Upstream& settings) {
  const std::lock_guard lock(mutex_);
  settings_ = settings;
}

config::Upstream SentinelWatch::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}

void SentinelWatch::run(Sentinel& sentinel) {
  const io::AsioLoop& loop = sentinel.thread.worker.loop();
  while (!loop.is_stopped()) {
    const std::string why = keep_asking(sentinel);
    if (loop.is_stopped()) {
      return;
    }
    lose(sentinel, sentinel.address.text() + ": " + why);
    sentinel.thread.rest(kEvery, [] { return false; });
  }
}

// As long as it answers; why it does not any more.
std::string SentinelWatch::keep_asking(Sentinel& sentinel) {
  io::AsioLoop& loop = sentinel.thread.worker.loop();
  config::Upstream own = upstream::settings_at(settings(), sentinel.address);
  own.control = own.sentinel_control;
  const auto subscribed = upstream::RedisClient::open(loop, own, kCallTimeout);
  if (!subscribed) {
    return subscribed.error().why;
  }
  const auto asked = upstream::RedisClient::open(loop, own, kCallTimeout);
  if (!asked) {
    return asked.error().why;
  }
  upstream::RedisClient& messages = **subscribed;
  bool has_published = false;
  messages.on_message([&] { has_published = true; });
  // The second comes from who leads a failover, and tells of the new master from then on; the first
  // does from it when the other replicas have been told.
  const upstream::Reply confirmed =
      messages.call({"SUBSCRIBE", "+switch-master", "+failover-state-reconf-slaves"});
  if (!confirmed || upstream::is_error(*confirmed)) {
    return confirmed ? std::string(upstream::text_of(*confirmed)) : messages.why_lost();
  }
  while (!loop.is_stopped()) {
    auto view = ask(**asked);
    if (!view) {
      return std::move(view.error());
    }
    const milliseconds pause = take(sentinel, *std::move(view)) ? milliseconds(kEvery) : kAgain;
    sentinel.thread.rest(pause, [&] { return has_published || messages.is_lost(); });
    has_published = false;
    if (messages.is_lost()) {
      return "the Sentinel has closed the connection";
    }
  }
  return {};
}

std::expected<SentinelWatch::View, std::string> SentinelWatch::ask(
    upstream::RedisClient& redis) const {
  const std::string name = settings().master;
  // What it says to clients: during a failover that is the new one, before MASTER has it.
  const upstream::Reply told = redis.call({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name});
  const upstream::Reply master = redis.call({"SENTINEL", "MASTER", name});
  const upstream::Reply replicas = redis.call({"SENTINEL", "REPLICAS", name});
  const upstream::Reply others = redis.call({"SENTINEL", "SENTINELS", name});
  if (!others) {
    return std::unexpected(redis.why_lost());
  }
  for (const redisReply* const reply : {told.get(), master.get(), replicas.get(), others.get()}) {
    if (upstream::is_error(*reply)) {
      return std::unexpected(std::string(upstream::text_of(*reply)));
    }
  }
  const std::span<redisReply* const> address = upstream::elements_of(*told);
  if (address.size() != 2) {
    return std::unexpected("does not report the master's address");
  }
  View view{
      .master = address_of(upstream::text_of(*address[0]), upstream::text_of(*address[1])),
      .config_epoch = text::number_of<std::uint64_t>(field(*master, "config-epoch")).value_or(0),
      .nodes = {},
      .others = {}};
  view.nodes.push_back(node_of(*master, view.master));
  for (const redisReply& replica : instances_in(*replicas, kReplicasMax)) {
    view.nodes.push_back(node_of(replica, view.master));
  }
  for (const redisReply& other : instances_in(*others, kOthersMax)) {
    view.others.push_back(address_of(other));
  }
  return view;
}

// True, too, if it may not be asked.
bool SentinelWatch::is_master(io::AsioLoop& loop, const config::Address& node) const {
  const auto redis =
      upstream::RedisClient::open(loop, upstream::settings_at(settings(), node), kCallTimeout);
  if (!redis) {
    return redis.error().is_from_redis;
  }
  const upstream::Reply role = (*redis)->call({"ROLE"});
  return role && (upstream::is_error(*role) ||
                  (!upstream::elements_of(*role).empty() &&
                   upstream::text_of(*upstream::elements_of(*role).front()) == "master"));
}

// False: the master of whom the Sentinels speak is not believed yet.
bool SentinelWatch::take(Sentinel& sentinel, View view) {
  std::unique_lock lock(mutex_);
  sentinel.view = std::move(view);
  answering_ = answering_ != nullptr ? answering_ : &sentinel;
  is_silent_ = false;
  const View* best = best_view();
  if (best == nullptr) {
    return true;
  }
  if (best->master != master_) {
    const config::Address said = best->master;
    lock.unlock();
    const bool is_one = is_master(sentinel.thread.worker.loop(), said);
    lock.lock();
    best = best_view();
    if (best == nullptr) {
      return true;
    }
    if (is_one && best->master == said) {
      master_ = said;
      prefer_who_knows_the_master();
    }
  }
  if (best->master == master_) {
    config_epoch_ = best->config_epoch;
  }
  tell(*best);
  return master_ == best->master;
}

// A Sentinel that has not heard of the new master yet would send clients to the one before.
void SentinelWatch::prefer_who_knows_the_master() {
  const auto knows = [this](const Sentinel& each) {
    return each.view && each.view->master == master_;
  };
  const auto other =
      std::ranges::find_if(sentinels_, [&](const auto& each) { return knows(*each); });
  if (other != sentinels_.end() && !knows(*answering_)) {
    answering_ = other->get();
    is_one_before_up_ = true;
  }
}

void SentinelWatch::lose(Sentinel& sentinel, const std::string& why) {
  const std::lock_guard lock(mutex_);
  sentinel.view.reset();
  const auto answers = [](const auto& each) { return each->view.has_value(); };
  const auto other = std::ranges::find_if(sentinels_, answers);
  if (other == sentinels_.end()) {
    answering_ = nullptr;
    if (!std::exchange(is_silent_, true)) {
      calls_.on_silence(why);
    }
    return;
  }
  if (answering_ == &sentinel) {
    answering_ = other->get();
    is_one_before_up_ = false;
    if (const View* const best = best_view()) {
      tell(*best);
    }
  }
}

// Null: none answers, or too few of those who would have to know better.
const SentinelWatch::View* SentinelWatch::best_view() const {
  const View* best = nullptr;
  std::size_t answering = 0;
  for (const auto& sentinel : sentinels_) {
    if (const std::optional<View>& view = sentinel->view) {
      ++answering;
      best = best == nullptr || view->config_epoch > best->config_epoch ? &*view : best;
    }
  }
  const bool is_of_yesterday = best != nullptr && best->config_epoch < config_epoch_;
  return is_of_yesterday && answering * 2 <= sentinels_.size() ? nullptr : best;
}

void SentinelWatch::tell(const View& best) {
  Known known{.map = {},
              .master = master_,
              .sentinels = settings_.sentinels,
              .answering = answering_->address,
              .is_one_before_up = is_one_before_up_};
  for (const auto& sentinel : sentinels_) {
    if (const std::optional<View>& other = sentinel->view) {
      std::ranges::copy(other->others, std::back_inserter(known.sentinels));
    }
  }
  const cluster::View view{.nodes = best.nodes, .myself = std::nullopt, .is_ok = true};
  known.map = cluster::merge(std::span(&view, 1));
  calls_.on_known(std::move(known));
}

}  // namespace cuckooguard::topology
