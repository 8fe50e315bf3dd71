#include "harness/redis_cluster.h"

#include <stdexcept>
#include <utility>

#include "harness/certificates.h"
#include "harness/ports.h"
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

RedisCluster::RedisCluster(const RedisClusterOptions& options)
    : arguments_(options.arguments),
      of_the_first_(options.of_the_first),
      tls_folder_(options.tls_folder) {
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
  std::vector<std::string> arguments = arguments_;
  if (number == 0) {
    arguments.insert(arguments.end(), of_the_first_.begin(), of_the_first_.end());
  }
  const std::uint16_t tls_port = tls_folder_.empty() ? std::uint16_t{0} : free_port();
  const std::uint16_t bus_port = tls_folder_.empty() ? std::uint16_t{0} : free_port();
  if (tls_port != 0) {
    const auto tls = redis_tls_arguments(tls_folder_, tls_port, "no");
    arguments.insert(arguments.end(), tls.begin(), tls.end());
    arguments.insert(arguments.end(),
                     {"--tls-cluster",
                      "yes",
                      "--tls-replication",
                      "yes",
                      "--cluster-port",
                      std::to_string(bus_port)});
  }
  Node& node = nodes_.emplace_back(std::move(arguments));
  node.tls_port = tls_port;
  const std::string reply = node.server.call({"CLUSTER", "MYID"});
  node.id = reply.substr(reply.find('\n') + 1, 40);
  require_ok(call(number, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(number + 1)}));
  for (std::size_t i = 0; i < number; ++i) {
    if (nodes_[i].runs) {
      const std::string met = std::to_string(tls_port != 0 ? tls_port : port(number));
      require_ok(tls_port != 0
                     ? call(i, {"CLUSTER", "MEET", "127.0.0.1", met, std::to_string(bus_port)})
                     : call(i, {"CLUSTER", "MEET", "127.0.0.1", met}));
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

void RedisCluster::remove(std::size_t i) {
  for (std::size_t other = 0; other < size(); ++other) {
    if (other != i && nodes_[other].runs) {
      require_ok(call(other, {"CLUSTER", "FORGET", id(i)}));
    }
  }
  kill(i);
}

void RedisCluster::move_slot(std::uint16_t slot,
                             std::size_t from,
                             std::size_t to,
                             const std::function<void()>& on_its_way) const {
  const std::string number = std::to_string(slot);
  const std::string target = std::to_string(tls_port(to) != 0 ? tls_port(to) : port(to));
  require_ok(call(to, {"CLUSTER", "SETSLOT", number, "IMPORTING", id(from)}));
  require_ok(call(from, {"CLUSTER", "SETSLOT", number, "MIGRATING", id(to)}));
  for (;;) {
    const std::string keys = call(from, {"CLUSTER", "GETKEYSINSLOT", number, "1"});
    if (keys == "*0\r\n") {
      break;
    }
    const std::size_t begin = keys.find("\r\n", 4) + 2;
    const std::string key = keys.substr(begin, keys.size() - begin - 2);
    const std::string moved = call(from, {"MIGRATE", "127.0.0.1", target, key, "0", "5000"});
    if (moved != "+NOKEY\r\n") {  // it may have expired meanwhile
      require_ok(moved);
    }
  }
  on_its_way();
  require_ok(call(to, {"CLUSTER", "SETSLOT", number, "NODE", id(to)}));
  // Who loses its last slot may have heard of it by now, and be a replica.
  const std::string heard = call(from, {"CLUSTER", "SETSLOT", number, "NODE", id(to)});
  if (!heard.contains("only with masters")) {
    require_ok(heard);
  }
}

void RedisCluster::fail_over_to(std::size_t replica) const {
  require_ok(call(replica, {"CLUSTER", "FAILOVER"}));
  if (!eventually([&] { return is_master(replica); })) {
    throw std::runtime_error("the cluster's replica does not become the master: " +
                             text(replica, "NODES"));
  }
}

bool RedisCluster::is_master(std::size_t i) const {
  return node(i).info("replication", "role") == "master";
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
           (is_master(i) || node(i).info("replication", "master_link_status") == "up");
  });
}

}  // namespace cuckooguard::harness
