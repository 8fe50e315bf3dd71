#include "config/config.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "config/table_pattern.h"

namespace cuckooguard::config {

bool SourceTable::is_one_table() const {
  return tables.size() <= 1 && (tables.empty() || !is_table_pattern(tables.front()));
}

const std::string& SourceTable::column_of(const std::string& placeholder) const {
  const auto column = columns.find(placeholder);
  return column == columns.end() ? placeholder : column->second;
}

std::string Address::text() const {
  if (is_unix()) {
    return "unix:" + unix_path;
  }
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string NodePorts::text() const {
  return fmt::format("{}-{}", Address{.host = host, .port = first, .unix_path = {}}.text(), last);
}

Address Upstream::reached() const {
  const auto node = std::ranges::find_if(node_addresses, [this](const NodeAddress& each) {
    return each.told.host == address.host && each.told.port == address.port;
  });
  if (node == node_addresses.end()) {
    return address;
  }
  Address reached = node->reached;
  reached.tls_name = address.certified_name();
  return reached;
}

std::vector<keyspace::NamespaceTemplates> namespace_templates(const Config& config) {
  std::vector<keyspace::NamespaceTemplates> result;
  result.reserve(config.namespaces.size());
  for (const Namespace& space : config.namespaces) {
    result.push_back({space.name, space.keys, space.canonical_keys});
  }
  return result;
}

keyspace::Keyspace keyspace_of(const Config& config) {
  auto built = keyspace::Keyspace::build(namespace_templates(config));
  if (!built) {
    throw std::logic_error("a checked configuration has no ambiguous templates");
  }
  return std::move(*built);
}

}  // namespace cuckooguard::config
