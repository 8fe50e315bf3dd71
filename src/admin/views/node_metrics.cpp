#include "views/node_metrics.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cuckooguard::views {
namespace {

using Type = prometheus::MetricType;

void put_node(MetricFamilies& families, const guard::NodeStatus& node) {
  const std::string port = node.port == 0 ? std::string("none") : std::to_string(node.port);
  const Labels labels{{"node", node.address}, {"port", port}};
  if (node.state != guard::NodeState::never) {
    families.put(
        {"cuckooguard_node_up", "1 while the node's control connection reaches it.", Type::Gauge},
        node.state == guard::NodeState::up ? 1.0 : 0.0,
        labels);
  }
  for (const std::string_view role : guard::kNodeRoleNames) {
    Labels of_role = labels;
    of_role.push_back({"role", std::string(role)});
    families.put({"cuckooguard_node_role", "1 for the node's current role.", Type::Gauge},
                 name_of(node.role) == role ? 1.0 : 0.0,
                 std::move(of_role));
  }
  families.put({"cuckooguard_node_slots", "Slots that the node owns.", Type::Gauge},
               static_cast<std::uint64_t>(node.slots),
               labels);
  if (node.round_trip) {
    families.put({"cuckooguard_node_round_trip_seconds",
                  "Time in which the node last replied to its control connection.",
                  Type::Gauge},
                 seconds_of(*node.round_trip),
                 labels);
  }
}

}  // namespace

void put_nodes(MetricFamilies& families, const Model& model) {
  if (model.process.nodes == nullptr) {
    return;
  }
  const guard::NodesStatus status = model.process.nodes->nodes();
  for (const guard::NodeStatus& node : status.shown) {
    put_node(families, node);
  }
  families.put({"cuckooguard_nodes_without_port",
                "Nodes for which listen.nodes has no port, so that clients are sent to them "
                "directly.",
                Type::Gauge},
               static_cast<std::uint64_t>(status.without_port));
  families.put({"cuckooguard_nodes_told_age_seconds",
                "Time since a node last told what the cluster consists of.",
                Type::Gauge},
               std::max(0.0, seconds_of(model.now - status.told_at)));
}

}  // namespace cuckooguard::views
