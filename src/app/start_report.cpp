#include "app/start_report.h"

#include <algorithm>
#include <string>
#include <utility>

#include "app/commit.h"
#include "app/machine.h"

namespace cuckooguard::app {
namespace {

std::string leads_to(const config::Listen& listen, const config::Upstream& upstream) {
  if (!upstream.cluster.empty()) {
    return "cluster";
  }
  if (upstream.sentinels.empty()) {
    return upstream.address.text();
  }
  return listen.sentinels ? "sentinels"
                          : (listen.nodes ? "nodes of " : "master ") + upstream.master;
}

}  // namespace

void report_namespaces(log::EventLog& log, const Generation& generation) {
  for (const config::Namespace& space : generation.config().namespaces) {
    log.info("namespace",
             {{"namespace", space.name},
              {"mode", config::name_of(space.mode)},
              {"from", space.source.from},
              {"filter", generation.has_kept_filter_of(space.name) ? "kept" : "none_yet"}});
  }
  report_guards_nothing(log, generation.config());
}

std::optional<guard::Complaint> guards_nothing(const config::Config& config) {
  if (!config.namespaces.empty() || config.filters.is_used()) {
    return std::nullopt;
  }
  return guard::Complaint{
      .what = "The guard guards nothing: everything is forwarded",
      .why = "the configuration defines no namespaces and no filters",
      .hint = "check that this is the intended configuration file; `cuckooguard init` writes one"};
}

void report_guards_nothing(log::EventLog& log, const config::Config& config) {
  if (const auto complaint = guards_nothing(config)) {
    log.warning("guards_nothing", {{"why", complaint->why}, {"hint", complaint->hint}});
  }
}

void report_start(log::EventLog& log,
                  const Generation& generation,
                  unsigned workers,
                  std::span<const std::vector<config::Address>> bound) {
  const config::Config& config = generation.config();
  log.info("starting",
           {{"version", CUCKOOGUARD_VERSION},
            {"commit", commit()},
            {"huge_pages", has_huge_pages() ? "on" : "off"}});
  report_namespaces(log, generation);
  const auto tell = [&](const config::Listen& listen, const std::string& address) {
    log.info("listening",
             {{"address", address},
              {"upstream", leads_to(listen, config.upstream)},
              {"workers", workers}});
  };
  bool has_told_nodes = false;
  for (std::size_t i = 0; i < config.listen.size(); ++i) {
    const config::Listen& listen = config.listen[i];
    if (!listen.nodes) {
      for (const config::Address& address : bound[i]) {
        tell(listen, address.text());
      }
    } else if (!std::exchange(has_told_nodes, true)) {
      tell(listen, listen.nodes->text());
    }
  }
}

void report_reach(log::EventLog& log,
                  std::span<const config::Listen> listen,
                  bool is_container_of_its_own) {
  const bool is_inside = std::ranges::all_of(
      listen, [](const config::Listen& each) { return is_loopback(each.address); });
  if (!is_container_of_its_own || !is_inside) {
    return;
  }
  const std::string port = std::to_string(listen.front().address.port);
  log.warning(
      "loopback_in_container",
      {{"why",
        "every address of `listen` is the container's own loopback: clients outside of the "
        "container cannot connect, not even to ports published with -p, unless its network is "
        "shared (a pod, --network host or container:NAME)"},
       {"hint", "listen: 0.0.0.0:" + port + ", published with -p 127.0.0.1:" + port + ":" + port}});
}

}  // namespace cuckooguard::app
