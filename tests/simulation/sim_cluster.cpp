#include "simulation/sim_cluster.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "redis/slot.h"
#include "simulation/redis_requests.h"
#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
namespace {

constexpr std::uint16_t kFirstPort = 7000;
constexpr std::chrono::milliseconds kRestsFor{200};

std::string id_of(std::size_t node) {
  return std::string(40, static_cast<char>('a' + node));
}

std::string values_of(const Values& values, const Words& keys) {
  std::string reply = header('*', keys.size());
  for (const std::string& key : keys) {
    const auto value = values.find(key);
    reply += value == values.end() ? nil(2) : bulk(value->second);
  }
  return reply;
}

std::string address_text(std::size_t node) {
  return "10.0.0." + std::to_string(node + 1) + ":" + std::to_string(kFirstPort + node);
}

}  // namespace

std::vector<std::string> keys_in(const Words& words) {
  const std::string& name = words.front();
  if (name == "PING" || name == "ASKING" || name == "SCRIPT") {
    return {};
  }
  const bool has_many = name == "DEL" || name == "EXISTS" || name == "MGET";
  return {words.begin() + 1, has_many ? words.end() : words.begin() + 2};
}

std::string run_in(Values& values, const Words& words) {
  const std::string& name = words.front();
  const auto found = words.size() > 1 ? values.find(words[1]) : values.end();
  if (name == "SET") {
    values[words[1]] = words[2];
    return simple("OK");
  }
  if (name == "GET") {
    return found == values.end() ? nil(2) : bulk(found->second);
  }
  if (name == "APPEND") {
    return integer(static_cast<long long>((values[words[1]] += words[2]).size()));
  }
  if (name == "MGET") {
    return values_of(values, keys_in(words));
  }
  if (name == "DEL" || name == "EXISTS") {
    long long count = 0;
    for (std::size_t i = 1; i < words.size(); ++i) {
      count += name == "DEL" ? static_cast<long long>(values.erase(words[i]))
                             : static_cast<long long>(values.count(words[i]));
    }
    return integer(count);
  }
  return name == "PING" ? simple("PONG") : name == "SCRIPT" ? bulk("sha") : simple("OK");
}

SimCluster::SimCluster(SimLoop& loop) : loop_(loop), values_(kNodes) {}

config::Address SimCluster::address(std::size_t node) {
  return {.host = "10.0.0." + std::to_string(node + 1),
          .port = static_cast<std::uint16_t>(kFirstPort + node),
          .unix_path = {}};
}

std::size_t SimCluster::owner_of(std::uint16_t slot) const {
  const auto owner = owners_.find(slot);
  return owner == owners_.end() ? slot * kNodes / redis::kSlots : owner->second;
}

// As ranges.
std::string SimCluster::slots_of(std::size_t node) const {
  std::string text;
  for (std::uint16_t slot = 0; slot < redis::kSlots; ++slot) {
    const std::uint16_t first = slot;
    while (slot < redis::kSlots && owner_of(slot) == node) {
      ++slot;
    }
    if (slot > first) {
      text += " " + std::to_string(first) + "-" + std::to_string(slot - 1);
    }
  }
  return text;
}

std::shared_ptr<const cluster::Map> SimCluster::map() const {
  std::vector<cluster::View> views;
  std::vector<std::string> slots;
  for (std::size_t node = 0; node < kNodes; ++node) {
    slots.push_back(slots_of(node));
  }
  for (std::size_t me = 0; me < kNodes; ++me) {
    std::string text;
    for (std::size_t node = 0; node < kNodes; ++node) {
      text += id_of(node) + " " + address_text(node) + "@1" + std::to_string(kFirstPort + node) +
              (node == me ? " myself,master" : " master") + " - 0 0 " + std::to_string(node + 1) +
              " connected";
      text += slots[node];
      for (const auto& [slot, to] : moving_) {
        if (node == me && owner_of(slot) == me) {
          text += " [" + std::to_string(slot) + "->-" + id_of(to) + "]";
        }
      }
      text += "\n";
    }
    auto view = cluster::parse_nodes(text, "10.0.0.1");
    if (!view) {
      throw std::runtime_error(view.error());
    }
    view->is_ok = true;
    views.push_back(*std::move(view));
  }
  return std::make_shared<const cluster::Map>(cluster::merge(views));
}

void SimCluster::connect(SimTransport& transport, const config::Address& address) {
  const std::size_t node = address.port - kFirstPort;
  const auto most = static_cast<std::uint64_t>(loop_.weather().latency_max.count());
  loop_.at(std::chrono::microseconds(loop_.random().below(most + 1)),
           [this, node, waiting = transport.weak_self()] {
             const auto then = waiting.lock();
             if (!then || !(*then)->is_open()) {
               return;
             }
             const auto link = links_.emplace_back(std::make_shared<Link>(loop_, node));
             link->peer.listen({.on_arrival = [this, weak = std::weak_ptr(link)] { serve(weak); }});
             (*then)->establish(link->peer);
           });
}

void SimCluster::serve(const std::weak_ptr<Link>& waiting) {
  const auto link = waiting.lock();
  if (!link || link->peer.is_reset()) {
    return;
  }
  link->input += link->peer.read();
  if (link->peer.at_end()) {
    link->peer.close();
    return;
  }
  if (link->is_running || hangs_.at(link->node) ||
      next_request(link->input).parsed != Parsed::command) {
    return;
  }
  link->is_running = true;
  const std::uint64_t nanoseconds =
      loop_.weather().rough ? loop_.random().below(200'000) : std::uint64_t{0};
  loop_.at(std::chrono::nanoseconds(nanoseconds), [this, waiting] {
    if (const auto then = waiting.lock()) {
      then->is_running = false;
      run_one(*then);
      serve(waiting);
    }
  });
}

void SimCluster::run_one(Link& link) {
  const Request request = next_request(link.input);
  link.input.erase(0, request.consumed);
  link.peer.send(reply_to(link, request.words));
}

std::string SimCluster::reply_to(Link& link, const Words& words) {
  if (words.front() == "ASKING") {
    link.is_asking = true;
    return simple("OK");
  }
  const bool asking = std::exchange(link.is_asking, false);
  if (auto refused = redirect(link.node, asking, words)) {
    return *refused;
  }
  ++counts_.run;
  return run_in(values_[link.node], words);
}

std::optional<std::string> SimCluster::redirect(std::size_t node, bool asking, const Words& words) {
  const std::vector<std::string> keys = keys_in(words);
  if (keys.empty()) {
    return std::nullopt;
  }
  const std::uint16_t slot = redis::slot_of(keys.front());
  std::size_t missing = 0;
  for (const std::string& key : keys) {
    if (redis::slot_of(key) != slot) {
      return error("CROSSSLOT Keys in request don't hash to the same slot");
    }
    missing += values_[node].contains(key) ? 0 : 1;
  }
  if (is_down_) {
    ++counts_.down;
    return error("CLUSTERDOWN The cluster is down");
  }
  const auto moving = moving_.find(slot);
  const bool is_mine = owner_of(slot) == node;
  const bool is_importing = moving != moving_.end() && moving->second == node;
  const std::string again = error("TRYAGAIN Multiple keys request during rehashing of slot");
  if (is_mine && moving != moving_.end() && missing > 0) {
    if (missing < keys.size()) {
      ++counts_.try_again;
      return again;
    }
    ++counts_.asked;
    return error("ASK " + std::to_string(slot) + " " + address_text(moving->second));
  }
  if (is_importing && asking) {
    if (keys.size() > 1 && missing > 0) {
      ++counts_.try_again;
      return again;
    }
    return std::nullopt;
  }
  if (!is_mine) {
    ++counts_.moved;
    return error("MOVED " + std::to_string(slot) + " " + address_text(owner_of(slot)));
  }
  return std::nullopt;
}

void SimCluster::begin_move(std::uint16_t slot, std::size_t to) {
  // Of a move that was cancelled and begun again at once, an ASK may lead to where the key was:
  // Redis cannot tell either.
  const auto cancelled = cancelled_.find({slot, to});
  const bool is_too_soon =
      cancelled != cancelled_.end() &&
      (any_hangs() || loop_.now() - std::max(cancelled->second, hung_until_) < kRestsFor);
  if (!is_moving(slot) && owner_of(slot) != to && !is_too_soon) {
    moving_[slot] = to;
  }
}

void SimCluster::give(std::size_t from, std::size_t to, const std::string& key) {
  auto value = values_[from].extract(key);
  values_[to].insert(std::move(value));
}

void SimCluster::move_a_key(std::uint16_t slot) {
  const std::size_t from = owner_of(slot);
  const auto key = std::ranges::find_if(
      values_[from], [slot](const auto& value) { return redis::slot_of(value.first) == slot; });
  if (is_moving(slot) && key != values_[from].end()) {
    give(from, moving_[slot], std::string(key->first));
  }
}

void SimCluster::end_move(std::uint16_t slot) {
  if (!is_moving(slot)) {
    return;
  }
  const std::size_t to = moving_[slot];
  const std::size_t from = owner_of(slot);
  for (const auto& [key, value] : Values(values_[from])) {
    if (redis::slot_of(key) == slot) {
      give(from, to, key);
    }
  }
  owners_[slot] = to;
  moving_.erase(slot);
}

void SimCluster::cancel_move(std::uint16_t slot) {
  if (!is_moving(slot) || any_hangs()) {  // what was sent before the move would come behind it
    return;
  }
  const std::size_t to = moving_[slot];
  cancelled_[{slot, to}] = loop_.now();
  for (const auto& [key, value] : Values(values_[to])) {
    if (redis::slot_of(key) == slot) {
      give(to, owner_of(slot), key);
    }
  }
  moving_.erase(slot);
}

void SimCluster::fail_over(std::size_t node, std::size_t to) {
  if (any_hangs()) {
    return;
  }
  for (const auto& [slot, target] : std::map(moving_)) {
    cancel_move(slot);
  }
  for (std::uint16_t slot = 0; slot < redis::kSlots; ++slot) {
    if (owner_of(slot) == node) {
      owners_[slot] = to;
    }
  }
  for (const auto& [key, value] : Values(values_[node])) {
    give(node, to, key);
  }
}

bool SimCluster::any_hangs() const {
  return std::ranges::any_of(hangs_, [](bool hangs) { return hangs; });
}

void SimCluster::hang(std::size_t node, bool hangs) {
  hung_until_ = hangs_.at(node) && !hangs ? loop_.now() : hung_until_;
  hangs_.at(node) = hangs;
  for (const auto& link : std::vector(links_)) {
    serve(link);
  }
}

void SimCluster::cut_a_connection() {
  if (!links_.empty()) {
    const auto link = links_[loop_.random().below(links_.size())];
    link->peer.reset();
    link->input.clear();
    std::erase(links_, link);
    ++counts_.lost;
  }
}

void SimCluster::close_all() {
  for (const auto& link : links_) {
    link->peer.reset();
  }
  links_.clear();
}

Values SimCluster::values() const {
  Values all;
  for (const Values& each : values_) {
    all.insert(each.begin(), each.end());
  }
  return all;
}

}  // namespace cuckooguard::simulation
