#include "harness/redis_cluster.h"

#include <stdexcept>
#include <utility>

#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

constexpr std::size_t kSlots = 16384;

void require_ok(const std::string& reply) {
  if (reply != kOk) {
    throw std::runtime_error("the cluster: " + shown(reply));
  }
}

}  // namespace

RedisCluster::RedisCluster(const RedisClusterOptions& options) : arguments_(options.arguments) {
  arguments_.insert(arguments_.begin(),
                    {"--cluster-enabled",
                     "yes",
                     "--cluster-node-timeout",
                     std::to_string(options.node_timeout.count()),
                     "--repl-diskless-sync-delay",
                     "0"});
  for (std::size_t i = 0; i < options.masters + options.replicas; ++i) {
    start();
  }
  for (std::size_t i = 0; i < options.masters; ++i) {
    const std::size_t first = kSlots * i / options.masters;
    const std::size_t last = kSlots * (i + 1) / options.masters - 1;
    require_ok(call(i, {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(last)}));
  }
  wait_until("know each other", [this](std::size_t i) {
    return count_in(text(i, "NODES"), " connected") == size() &&
           count_in(text(i, "NODES"), "handshake") == 0;
  });
  for (std::size_t i = options.masters; i < size(); ++i) {
    const std::string& master = id((i - options.masters) % options.masters);
    require_ok(call(i, {"CLUSTER", "REPLICATE", master}));
  }
  wait_until("know who is a replica", [this, &options](std::size_t i) {
    return count_in(text(i, "NODES"), "slave") == options.replicas;
  });
  wait_until_ok();
}

void RedisCluster::start() {
  const std::size_t number = nodes_.size();
  Node& node = nodes_.emplace_back(arguments_);
  const std::string reply = node.server.call({"CLUSTER", "MYID"});
  node.id = reply.substr(reply.find('\n') + 1, 40);
  require_ok(call(number, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(number + 1)}));
  for (std::size_t i = 0; i < number; ++i) {
    if (nodes_[i].runs) {
      require_ok(call(i, {"CLUSTER", "MEET", "127.0.0.1", std::to_string(port(number))}));
    }
  }
}

std::size_t RedisCluster::add() {
  start();
  const std::string& id = nodes_.back().id;
  wait_until("know who is new",
             [this, &id](std::size_t i) { return text(i, "NODES").contains(id); });
  wait_until_ok();
  return size() - 1;
}

void RedisCluster::kill(std::size_t i) {
  node(i).kill();
  nodes_[i].runs = false;
}

void RedisCluster::start_again(std::size_t i) {
  node(i).start_again();
  nodes_[i].runs = true;
}

std::string RedisCluster::text(std::size_t i, std::string_view subcommand) const {
  const std::string reply = call(i, {"CLUSTER", subcommand});
  const std::size_t begin = reply.find('\n') + 1;
  return reply.starts_with('$') ? reply.substr(begin, reply.size() - begin - 2) : "";
}

void RedisCluster::wait_until(std::string_view what,
                              const std::function<bool(std::size_t)>& holds) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (nodes_[i].runs && !eventually([&] { return holds(i); })) {
      throw std::runtime_error("the cluster's nodes do not " + std::string(what) + ": " +
                               text(i, "NODES"));
    }
  }
}

void RedisCluster::wait_until_ok() const {
  wait_until("get ready", [this](std::size_t i) {
    return info_field(call(i, {"CLUSTER", "INFO"}), "cluster_state") == "ok" &&
           (node(i).info("replication", "role") == "master" ||
            node(i).info("replication", "master_link_status") == "up");
  });
}

}  // namespace cuckooguard::harness
