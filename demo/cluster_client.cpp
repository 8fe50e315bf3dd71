#include "cluster_client.h"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cluster/topology_reply.h"
#include "harness/deadline.h"
#include "harness/interrupt.h"
#include "harness/redis_command.h"
#include "redis/slot.h"
#include "redis_client.h"

namespace cuckooguard::demo {
namespace {

// "-MOVED 3999 127.0.0.1:6381\r\n"
Endpoint named_in(std::string_view redirect) {
  const std::size_t begin = redirect.rfind(' ') + 1;
  return Endpoint::parse(redirect.substr(begin, redirect.size() - begin - 2));
}

// While the cluster changes.
bool passes_by(std::string_view reply) {
  constexpr std::array<std::string_view, 4> kErrors{
      "-CLUSTERDOWN", "-TRYAGAIN", "-LOADING", "-MASTERDOWN"};
  return reply.empty() ||
         std::ranges::any_of(kErrors, [&](auto e) { return reply.starts_with(e); });
}

Endpoint endpoint_of(const cluster::Node& node) {
  return {.host = node.host, .port = node.port, .is_of_cluster = true};
}

}  // namespace

ClusterClient::ClusterClient(Endpoint seed) : seed_(std::move(seed)) {
  if (!harness::eventually(
          [this] {
            learn_map();
            return map_.owner_of(0) != nullptr;
          },
          kPatience)) {
    throw std::runtime_error("no cluster at " + seed_.text());
  }
}

std::optional<std::string> ClusterClient::get(std::string_view key) {
  return text_of(ask(key, {"GET", key}));
}

void ClusterClient::set(std::string_view key, std::string_view value, int ttl_seconds) {
  ask(key, {"SET", key, value, "EX", std::to_string(ttl_seconds)});
}

std::string ClusterClient::ask(std::string_view key,
                               std::initializer_list<std::string_view> arguments) {
  const std::uint16_t slot = redis::slot_of(key);
  const std::string request = harness::command(arguments);
  const harness::Deadline deadline(kPatience);
  std::optional<Endpoint> node = owner_of(slot);
  bool is_asking = false;
  while (!deadline.has_passed()) {
    const std::string reply = !node       ? ""
                              : is_asking ? try_at(*node, harness::command({"ASKING"}) + request, 2)
                                          : try_at(*node, request);
    const cluster::Redirect redirect = cluster::redirect_in(reply);
    if (redirect != cluster::Redirect::none) {
      is_asking = redirect == cluster::Redirect::ask;
      node = named_in(reply);
      if (!is_asking) {
        learn_map();
      }
    } else if (passes_by(reply)) {
      harness::Interrupt::require_until(harness::SteadyClock::now() + kPause);
      learn_map();
      is_asking = false;
      node = owner_of(slot);
    } else if (reply.starts_with('-')) {
      throw std::runtime_error("Redis says: " + reply.substr(1, reply.size() - 3));
    } else {
      return reply;
    }
  }
  throw Unavailable("the cluster does not answer");
}

std::string ClusterClient::try_at(const Endpoint& node,
                                  std::string_view request,
                                  std::size_t replies) {
  const std::string address = node.text();
  try {
    auto connection = connections_.find(address);
    if (connection == connections_.end()) {
      connection =
          connections_.emplace(address, harness::RawClient::to_host(node.host, node.port)).first;
    }
    for (std::string reply = connection->second.exchange(request, 1); true;
         reply = connection->second.read_reply()) {
      if (--replies == 0) {
        return reply;
      }
    }
  } catch (const harness::Interrupted&) {
    throw;
  } catch (const std::runtime_error&) {
    connections_.erase(address);
    return {};
  }
}

std::optional<Endpoint> ClusterClient::owner_of(std::uint16_t slot) const {
  const cluster::Node* const owner = map_.owner_of(slot);
  return owner == nullptr ? std::nullopt : std::optional(endpoint_of(*owner));
}

// Of the first node that tells.
void ClusterClient::learn_map() {
  std::vector<Endpoint> nodes;
  for (const cluster::Node& node : map_.nodes()) {
    if (!node.is_failing) {
      nodes.push_back(endpoint_of(node));
    }
  }
  nodes.push_back(seed_);
  for (const Endpoint& node : nodes) {
    const std::string reply = try_at(node, harness::command({"CLUSTER", "NODES"}));
    if (!reply.starts_with('$')) {
      continue;
    }
    if (auto view = cluster::parse_nodes(*text_of(reply), node.host)) {
      view->is_ok = true;
      map_ = cluster::merge({&*view, 1});
      return;
    }
  }
}

std::uint64_t ClusterClient::keys() {
  learn_map();
  std::uint64_t all = 0;
  for (const cluster::Node& node : map_.nodes()) {
    all += node.is_master
               ? keys_in(try_at(endpoint_of(node), harness::command({"INFO", "keyspace"})))
               : 0;
  }
  return all;
}

void ClusterClient::start_over() {
  learn_map();
  for (const cluster::Node& node : map_.nodes()) {
    if (node.is_master) {
      try_at(endpoint_of(node), harness::command({"FLUSHALL"}));
    }
    try_at(endpoint_of(node), harness::command({"CONFIG", "RESETSTAT"}));
  }
  counted_.clear();
}

std::uint64_t ClusterClient::gets() {
  std::uint64_t all = 0;
  for (const cluster::Node& node : map_.nodes()) {
    const std::string info = try_at(endpoint_of(node), harness::command({"INFO", "commandstats"}));
    Counted& counted = counted_[node.id];
    if (!info.empty()) {
      const std::uint64_t now = harness::calls_in(info, "get");
      counted.before += now < counted.last ? counted.last : 0;
      counted.last = now;
    }
    all += counted.before + counted.last;
  }
  return all;
}

std::unique_ptr<Cache> open_cache(const Endpoint& endpoint) {
  if (endpoint.is_of_cluster) {
    return std::make_unique<ClusterClient>(endpoint);
  }
  return std::make_unique<RedisClient>(endpoint);
}

}  // namespace cuckooguard::demo
