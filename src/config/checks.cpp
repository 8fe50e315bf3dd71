#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "config/nearest.h"
#include "config/read_config.h"
#include "text/printable.h"

namespace cuckooguard::config {
namespace {

bool is_wildcard_host(std::string_view host) {
  return host == "0.0.0.0" || host == "::";
}

bool is_this_machine(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.") || is_wildcard_host(host);
}

// Whether connections to `upstream` would arrive at `listen`, as far as the two texts tell.
bool is_loop(const Address& listen, const Address& upstream) {
  if (listen.is_unix() || upstream.is_unix()) {
    return listen == upstream;
  }
  if (listen.port != upstream.port || listen.port == 0) {
    return false;
  }
  const bool both_here = is_this_machine(listen.host) && is_this_machine(upstream.host);
  const bool any_interface = is_wildcard_host(listen.host) || is_wildcard_host(upstream.host);
  const bool both_loopback_names = listen.host == "localhost" || upstream.host == "localhost";
  return listen.host == upstream.host || (both_here && (any_interface || both_loopback_names));
}

const Source* source_of(const Config& config, const Namespace& space) {
  const auto found = std::ranges::find(config.sources, space.source.from, &Source::name);
  return found == config.sources.end() ? nullptr : &*found;
}

// Rows of these have no type of the database's own, by which equal values would be printed alike;
// SQLite may have UUIDs in 16 bytes.
void check_types(const Source& source,
                 const Namespace& space,
                 const NamespacePlaces& here,
                 Report& report) {
  const bool has_types = std::holds_alternative<PostgresSource>(source.kind) ||
                         std::holds_alternative<MysqlSource>(source.kind) ||
                         std::holds_alternative<DebeziumSource>(source.kind) ||
                         std::holds_alternative<FleetSource>(source.kind);  // its builder looks
  if (!space.source.types.empty() && !std::holds_alternative<DebeziumSource>(source.kind)) {
    report.add(here.types,
               "types: source {} knows its columns' types; only messages of type debezium may lack "
               "them",
               source.name);
  }
  const bool is_sqlite = std::holds_alternative<SqliteSource>(source.kind);
  const auto is_refused = [is_sqlite](keyspace::ValueType type) {
    return keyspace::is_of_own_type(type) && (!is_sqlite || type != keyspace::ValueType::uuid);
  };
  for (std::size_t i = 0; !has_types && i < space.keys.size(); ++i) {
    const auto placeholders = space.keys[i].placeholders();
    const auto typed = std::ranges::find_if(placeholders, is_refused, &keyspace::Placeholder::type);
    if (typed != placeholders.end()) {
      report.add(here.keys[i],
                 "keys: {} works only with PostgreSQL, MariaDB and MySQL, not with source {}: "
                 "write {{{}}}, which compares bytes",
                 typed->text(),
                 source.name,
                 typed->name);
    }
  }
}

// The filter has the texts that the application put in, and nobody can tell of which spelling.
void check_bloom(const Source& source,
                 const Namespace& space,
                 const NamespacePlaces& here,
                 Report& report) {
  if (space.source.columns.size() != 1 && !space.keys.empty()) {
    report.add(here.name,
               "source {} is a filter of single values, but the keys have {} placeholders: use "
               "exactly one",
               source.name,
               space.source.columns.size());
  }
  for (std::size_t i = 0; i < space.keys.size(); ++i) {
    const auto placeholders = space.keys[i].placeholders();
    const auto folded =
        std::ranges::find(placeholders, keyspace::ValueType::text_ci, &keyspace::Placeholder::type);
    if (folded != placeholders.end()) {
      report.add(here.keys[i],
                 "keys: {}: source {} is a filter, which compares bytes and ignores other "
                 "spellings: write {{{}}}",
                 folded->text(),
                 source.name,
                 folded->name);
    }
  }
  if (!space.source.where.columns().empty()) {
    report.add(here.where, "where: source {} is a filter and has no columns", source.name);
  }
  if (space.fresh_ids.kind == FreshIds::Kind::window) {
    report.add(here.fresh_ids,
               "fresh_ids: source {} is a filter, whose largest id is unknown: use auto or 0",
               source.name);
  }
}

void check_source(const Config& config,
                  const Namespace& space,
                  const Places& places,
                  const NamespacePlaces& here,
                  Report& report) {
  const Source* const source = source_of(config, space);
  if (source == nullptr) {
    const bool was_read = std::ranges::count(places.sources, space.source.from) > 0;
    if (!was_read && !space.source.from.empty()) {
      report.add(here.from,
                 "from: source {} does not exist{}",
                 text::printable(space.source.from),
                 suggestion(space.source.from, places.sources, std::identity()));
    }
    return;
  }
  check_types(*source, space, here, report);
  const auto* const file = std::get_if<FileSource>(&source->kind);
  const bool is_bloom = std::holds_alternative<BloomSource>(source->kind);
  const bool has_tables = file == nullptr && !is_bloom;
  if (is_bloom) {
    check_bloom(*source, space, here, report);
  }
  if (has_tables && here.is_table_left_out) {
    report.add(here.table, "table is missing: set the table whose rows the keys are built from");
  }
  const std::string_view what = is_bloom ? "filter" : "file";
  if (!has_tables && !space.source.tables.empty()) {
    report.add(here.table, "table: source {} is a {} and has no tables", source->name, what);
  }
  if (file != nullptr && file->format == FileFormat::lines &&
      !space.source.where.columns().empty()) {
    report.add(here.where,
               "where: source {} has one value per line and no columns: use format: csv",
               source->name);
  }
  if (!has_tables && space.filter.deletes != Deletes::automatic) {
    report.add(here.deletes,
               "deletes: source {} is a {}, which is read again as a whole when it changes and "
               "does not report deleted rows: use auto",
               source->name,
               what);
  }
  if (file != nullptr && file->format == FileFormat::lines && space.source.columns.size() > 1) {
    report.add(
        here.name,
        "source {} has one value per line, but the keys have {} placeholders: use format: csv",
        source->name,
        space.source.columns.size());
  }
}

bool has_integer_identity(const Namespace& space) {
  using keyspace::ValueType;
  if (space.keys.empty() || space.source.columns.size() != 1) {
    return false;
  }
  return std::ranges::any_of(
      space.keys[0].placeholders(), [](const keyspace::Placeholder& placeholder) {
        return placeholder.type == ValueType::uint64 || placeholder.type == ValueType::int64;
      });
}

void check_templates(const Config& config, const Places& places, Report& report) {
  std::vector<keyspace::NamespaceTemplates> readable;
  std::vector<const NamespacePlaces*> where;
  for (auto here = places.namespaces.begin();
       keyspace::NamespaceTemplates & space : namespace_templates(config)) {
    if (!space.templates.empty()) {  // else it is reported where it was read
      readable.push_back(std::move(space));
      where.push_back(&*here);
    }
    ++here;
  }
  const auto built = keyspace::Keyspace::build(std::move(readable));
  if (built) {
    return;
  }
  for (const keyspace::KeyspaceError& error : built.error()) {
    const NamespacePlaces& here = *where[error.namespace_index];
    report.add(here.keys[error.template_index], "keys: " + error.what);
  }
}

// Of what the guard is told to connect to.
std::vector<Address> redis_addresses(const Upstream& upstream) {
  if (upstream.cluster.empty() && upstream.sentinels.empty()) {
    return {upstream.address};
  }
  std::vector<Address> all = upstream.cluster;
  all.insert(all.end(), upstream.sentinels.begin(), upstream.sentinels.end());
  return all;
}

void check_cluster(const Config& config, const Places& places, Report& report) {
  const bool is_cluster = !config.upstream.cluster.empty();
  const bool has_sentinels = !config.upstream.sentinels.empty();
  const auto first = std::ranges::find_if(config.listen, &Listen::has_nodes);
  const bool has_nodes = first != config.listen.end();
  if (is_cluster && !std::ranges::all_of(config.listen, [&](const Listen& each) {
        return (has_nodes && each.is_for_redis()) || (each.nodes && each.nodes == first->nodes);
      })) {
    report.add(
        places.listen,
        "listen: a cluster needs a port for each node, and optionally one for clients without "
        "cluster support: listen: [ { nodes: 127.0.0.1:7000-7063 }, 127.0.0.1:6380 ]");
  }
  if (!is_cluster && !has_sentinels && std::ranges::any_of(config.listen, &Listen::has_nodes)) {
    report.add(places.listen,
               "listen: nodes needs a cluster: set upstream: { cluster: [ HOST:PORT, HOST:PORT ] } "
               "to some of its nodes");
  }
}

// Clients that ask there get the host on which they ask.
bool is_told_well(const Listen& sentinels, const Listen& leads_on) {
  const std::string& host = leads_on.address.host;
  return !sentinels.announce.empty() || host == sentinels.address.host || host == "0.0.0.0" ||
         host == "::";
}

void check_sentinels_listen(const Config& config,
                            const Places& places,
                            const Listen& asked,
                            Report& report) {
  if (config.upstream.sentinels.empty()) {
    report.add(places.listen,
               "listen: sentinels needs upstream: { sentinels: [ HOST:PORT ], master: NAME }");
    return;
  }
  bool leads_on = false;
  for (const Listen& listen : config.listen) {
    if (listen.sentinels || listen.address.is_unix()) {
      continue;
    }
    leads_on = true;
    if (!is_told_well(asked, listen)) {
      report.add(places.listen,
                 "listen: clients that ask {} are sent to the same host, on which {} does not "
                 "listen: set announce next to sentinels to the right host",
                 asked.address.text(),
                 listen.address.text());
      return;
    }
  }
  if (!leads_on) {
    report.add(places.listen,
               "listen: sentinels also needs a port for the master to which clients are sent: "
               "listen: [ 127.0.0.1:6380, { sentinels: 127.0.0.1:26380 } ]");
  }
}

void check_sentinels(const Config& config, const Places& places, Report& report) {
  const Listen* asked = nullptr;
  std::optional<NodePorts> nodes;
  for (const Listen& listen : config.listen) {
    const bool is_second =
        (listen.sentinels && asked != nullptr) || (listen.nodes && nodes && listen.nodes != nodes);
    if (is_second && config.upstream.cluster.empty()) {
      report.add(places.listen, "listen: nodes and sentinels can each be set only once");
      return;
    }
    asked = listen.sentinels ? &listen : asked;
    nodes = listen.nodes ? listen.nodes : nodes;
  }
  if (asked != nullptr) {
    check_sentinels_listen(config, places, *asked, report);
  }
}

void check_addresses(const Config& config, const Places& places, Report& report) {
  for (auto listen = config.listen.begin(); listen != config.listen.end(); ++listen) {
    const Address& address = listen->address;
    const bool is_upstream =
        std::ranges::any_of(redis_addresses(config.upstream),
                            [&](const Address& redis) { return is_loop(address, redis); });
    if (is_upstream) {
      report.add(places.listen,
                 "listen: {} is also the upstream: the guard would connect to itself",
                 address.text());
    }
    if (config.admin.address && is_loop(address, *config.admin.address)) {
      report.add(places.admin,
                 "admin.address: {} is already used by listen; set a different address",
                 config.admin.address->text());
    }
    const auto same = std::find_if(config.listen.begin(), listen, [&](const Listen& before) {
      return is_loop(address, before.address);
    });
    if (same != listen) {
      report.add(places.listen,
                 "listen: {} and {} are the same port or socket",
                 same->address.text(),
                 address.text());
    }
  }
}

// One key is one filter.
void check_filter_keys(const Config& config, const Places& places, Report& report) {
  auto here = places.namespaces.begin();
  for (auto space = config.namespaces.begin(); space != config.namespaces.end(); ++space, ++here) {
    const std::string& key = space->commands.key;
    const auto same = std::find_if(config.namespaces.begin(), space, [&](const Namespace& before) {
      return !key.empty() && before.commands.key == key;
    });
    if (same != space) {
      report.add(here->commands,
                 "commands: {} is already the filter of namespace {}",
                 text::printable(key),
                 same->name);
    }
    const bool is_filled = std::ranges::any_of(
        config.filters.named,
        [&](const FilledFilter& filter) { return !key.empty() && filter.redis_key() == key; });
    if (is_filled) {
      report.add(here->commands,
                 "commands: {} is already an application filter in filters.named",
                 text::printable(key));
    }
  }
}

}  // namespace

void check(const Config& config, const Places& places, Report& report) {
  check_cluster(config, places, report);
  check_sentinels(config, places, report);
  check_addresses(config, places, report);
  for (std::size_t i = 0; i < config.namespaces.size(); ++i) {
    const Namespace& space = config.namespaces[i];
    check_source(config, space, places, places.namespaces[i], report);
    if (space.fresh_ids.kind == FreshIds::Kind::window && !space.keys.empty() &&
        !has_integer_identity(space)) {
      report.add(places.namespaces[i].fresh_ids,
                 "fresh_ids: a number requires keys with exactly one integer placeholder, such as "
                 "{id:uint64}");
    }
  }
  check_filter_keys(config, places, report);
  check_templates(config, places, report);
}

}  // namespace cuckooguard::config
