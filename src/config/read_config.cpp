#include "config/read_config.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "config/nearest.h"
#include "config/section_table.h"
#include "keyspace/keyspace.h"
#include "text/printable.h"

namespace cuckooguard::config {
namespace {

// `filters` -> FilledFilters.

constexpr auto kKinds = choices_of<FilledKind>(kFilledKindNames);
constexpr auto kDeletes = choices_of<FilledDeletes>(kFilledDeletesNames);
constexpr auto kDurabilities = choices_of<Durability>(kDurabilityNames);
constexpr double kRateMin = 0.000'001;
constexpr double kRateMax = 0.5;
constexpr std::uint64_t kItemsMax = 1'000'000'000;
constexpr std::uint32_t kFiltersMax = 10'000;
constexpr std::uint64_t kMiB = std::uint64_t{1024} * 1024;

constexpr auto parse_items =
    bounded<std::uint64_t>(parse_count, 1, kItemsMax, "must be from 1 to 1G items");
constexpr auto parse_rate =
    bounded(parse_fraction, kRateMin, kRateMax, "must be from 0.0001% to 50%");

void read_templates(const Section& section,
                    std::string_view key,
                    std::vector<keyspace::KeyTemplate>& out) {
  read_key_templates(section, key, Section::EmptyList::is_right, out);
}

constexpr auto kNamed =
    section<FilledFilter>(
        "filters.named.*",
        text("key", &FilledFilter::key),
        choice("kind", &FilledFilter::kind, kKinds),
        value("capacity", &FilledFilter::capacity, parse_items),
        value("false_positive_rate", &FilledFilter::false_positive_rate, parse_rate),
        choice("deletes", &FilledFilter::deletes, kDeletes))
        .checked_by([](const Section& section, FilledFilter& result) {
          if (result.kind == FilledKind::bloom && result.deletes == FilledDeletes::exact) {
            section.report(
                section.place_of("deletes"),
                "deletes: a bloom filter does not support deletes; use kind: cuckoo (CF.DEL)");
          }
        });

constexpr auto kDedupe = section<Dedupe>(
    "filters.dedupe",
    ReadBy<Dedupe>{
        "keys",
        [](const Section& section, Dedupe& out) { read_templates(section, "keys", out.keys); }},
    value("capacity", &Dedupe::capacity, parse_items),
    value("false_positive_rate", &Dedupe::false_positive_rate, parse_rate));

void read_named(const Section& section, FilledFilters& out) {
  const Reading inside = section.reading_inside("named");
  for (const Entry& entry : section.named_entries("named")) {
    FilledFilter filter{.name = entry.key};
    const Section each(inside, entry, kNamed.keys());
    kNamed.read(each, filter);
    const bool is_twice = std::ranges::any_of(out.named, [&](const FilledFilter& before) {
      return before.redis_key() == filter.redis_key();
    });
    if (is_twice) {
      each.report(entry.place,
                  fmt::format("named: {} is already the key of another filter",
                              text::printable(filter.redis_key())));
    }
    out.named.push_back(std::move(filter));
  }
}

// One key is one thing.
void check_templates(const Section& section, const FilledFilters& filters) {
  std::vector<keyspace::NamespaceTemplates> all;
  for (const auto& [name, templates] :
       {std::pair{"allow_reserve", &filters.allow_reserve}, {"dedupe", &filters.dedupe.keys}}) {
    if (!templates->empty()) {
      all.push_back({.name = name, .templates = *templates});
    }
  }
  if (const auto built = keyspace::Keyspace::build(std::move(all)); !built) {
    section.report(section.place_of("allow_reserve"), "filters: " + built.error().front().what);
  }
}

constexpr auto kFilters =
    section<FilledFilters>(
        "filters",
        ReadBy<FilledFilters>{"named", read_named, sections_of<kNamed>},
        ReadBy<FilledFilters>{"allow_reserve",
                              [](const Section& section, FilledFilters& out) {
                                read_templates(section, "allow_reserve", out.allow_reserve);
                              }},
        Inside{"dedupe", &FilledFilters::dedupe, kDedupe},
        list("users", &FilledFilters::users, parse_any_text),
        choice("durability", &FilledFilters::durability, kDurabilities),
        value("log", &FilledFilters::log, parse_text),
        text("secret_file", &FilledFilters::secret_file),
        value("max_filters",
              &FilledFilters::max_filters,
              bounded<std::uint32_t>(parse_count, 1, kFiltersMax, "must be from 1 to 10k")),
        value("max_memory",
              &FilledFilters::max_memory,
              bounded<std::uint64_t>(
                  parse_bytes, kMiB, 1024 * 1024 * kMiB, "must be from 1MiB to 1024GiB"),
              text_of_bytes))
        .checked_by([](const Section& section, FilledFilters& result) {
          if (result.durability == Durability::redis && result.secret_file.empty()) {
            section.report(
                section.place_of("durability"),
                "durability: redis needs secret_file, with the same content for all guards of one "
                "Redis; create it with: head -c 32 /dev/urandom | base64 > FILE");
          }
          check_templates(section, result);
          if (result.log.find_first_of("{}") != std::string::npos) {
            section.report(section.place_of("log"),
                           "log: write the name without braces; they are added");
          }
        });

using namespace std::chrono_literals;

constexpr auto kUpstreamModes = choices_of<UpstreamMode>({"pinned", "shared"});
constexpr auto kAcls = choices_of<Acl>({"ask", "trust"});
constexpr auto kLogLevels = choices_of<LogLevel>(kLogLevelNames);
constexpr auto kLogFormats = choices_of<LogFormat>({"text", "json"});
constexpr auto kLogKeyForms = choices_of<LogKeys>({"hashed", "plain"});
constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kGiB = kKiB * kKiB * kKiB;
constexpr std::uint32_t kMillion = 1'000'000;

Parsed<Address> parse_upstream_address(std::string_view text) {
  auto address = parse_address(text);
  if (address && !address->is_unix() && address->port == 0) {
    return std::unexpected("has no port from 1 to 65535 after its last ':'");
  }
  return address;
}

Parsed<std::optional<NodePorts>> parse_nodes(std::string_view text) {
  if (text.empty()) {
    return std::nullopt;
  }
  return parse_node_ports(text);
}

Parsed<std::string> parse_announced_host(std::string_view text) {
  return text.empty() ? Parsed<std::string>(std::string()) : parse_host(text);
}

Parsed<std::optional<Address>> parse_optional_address(std::string_view text) {
  if (text.empty()) {
    return std::nullopt;
  }
  return parse_address(text);
}

Parsed<unsigned> parse_workers(std::string_view text) {
  if (text == "auto") {
    return 0U;
  }
  return bounded<unsigned>(parse_count, 1, 1024, "must be auto, or from 1 to 1024")(text);
}

std::string text_of_workers(unsigned workers) {
  return workers == 0 ? std::string("auto") : text_of(workers);
}

void read_sources(const Section& top, Config& config) {
  const Reading inside = top.reading_inside("sources");
  for (const Entry& entry : top.named_entries("sources")) {
    inside.places->sources.push_back(entry.key);
    if (auto source = read_source(inside, entry)) {
      config.sources.push_back(std::move(*source));
    }
  }
}

void read_namespaces(const Section& top, Config& config) {
  const Reading inside = top.reading_inside("namespaces");
  for (const Entry& entry : top.named_entries("namespaces")) {
    config.namespaces.push_back(
        read_namespace(inside, entry, inside.places->namespaces.emplace_back()));
  }
}

constexpr auto up_to_a_day = [](milliseconds low, std::string_view words) {
  return bounded<milliseconds>(parse_duration, low, 24h, words);
};

constexpr auto output_bytes = [](std::uint64_t high, std::string_view words) {
  return bounded<std::uint64_t>(parse_bytes, 16 * kKiB, high, words);
};

std::string text_of_mode(const std::optional<std::uint32_t>& mode) {
  return mode ? fmt::format("{:04o}", *mode) : std::string();
}

// `listen.tls` and `upstream.tls`: true, false, or a section. What stands in the files is looked at
// when they are used (io/tls_credentials.h).

constexpr auto kListenTls =
    section<ListenTls>("listen.tls",
                       value("cert", &ListenTls::cert, parse_text).required(),
                       value("key", &ListenTls::key, parse_text).required(),
                       text("client_ca", &ListenTls::client_ca));

constexpr auto kUpstreamTls =
    section<UpstreamTls>("upstream.tls",
                         text("ca", &UpstreamTls::ca),
                         text("cert", &UpstreamTls::cert),
                         text("key", &UpstreamTls::key),
                         text("server_name", &UpstreamTls::server_name),
                         value("verify", &UpstreamTls::verify, parse_bool))
        .checked_by([](const Section& section, UpstreamTls& tls) {
          if (tls.cert.empty() != tls.key.empty()) {
            section.report(section.place_of(tls.cert.empty() ? "key" : "cert"),
                           "cert and key must be set together");
          }
        });

// What the section has, or the defaults where TLS is only switched on.
template <typename Table, typename Struct>
bool read_tls(const Section& outer, const Table& table, Struct& out) {
  const Entry* const entry = outer.find("tls");
  if (entry != nullptr && entry->value.kind != TreeNode::Kind::scalar) {
    table.read(outer.inside("tls", table.keys()), out);
    return true;
  }
  bool is_on = false;
  outer.read("tls", is_on, parse_bool);
  return is_on;
}

void read_listen_tls(const Section& section, Listen& out) {
  ListenTls tls;
  if (!read_tls(section, kListenTls, tls)) {
    return;
  }
  if (const Entry* const entry = section.find("tls"); entry->value.kind == TreeNode::Kind::scalar) {
    section.report(entry->value.place,
                   "tls: accepting TLS requires a certificate: tls: { cert: FILE, key: FILE }");
    return;
  }
  out.tls = std::move(tls);
}

void read_upstream_tls(const Section& upstream, Upstream& out) {
  UpstreamTls tls;
  if (!read_tls(upstream, kUpstreamTls, tls)) {
    return;
  }
  if (tls.verify && tls.server_name.empty() && out.address.is_unix()) {
    upstream.report(upstream.place_of("tls"),
                    "tls: a Unix socket has no host name to verify: set server_name to the name in "
                    "the certificate, or verify: false");
  }
  out.tls = std::move(tls);
}

// `listen: host:port`, or a mapping with more, or a list of those.
constexpr auto kListen =
    section<Listen>("listen",
                    value("address", &Listen::address, parse_address).at_start(),
                    value("nodes", &Listen::nodes, parse_nodes).at_start(),
                    value("sentinels", &Listen::sentinels, parse_optional_address).at_start(),
                    value("announce", &Listen::announce, parse_announced_host).at_start(),
                    value("mode", &Listen::mode, parse_file_mode, text_of_mode).at_start(),
                    text("group", &Listen::group).at_start(),
                    ReadBy<Listen>{"tls", read_listen_tls, sections_of<kListenTls>})
        .or_only("address")
        .checked_by([](const Section& section, Listen& listen) {
          if (listen.nodes && listen.address != Listen{}.address) {
            section.report(section.place_of("nodes"),
                           "nodes and address are both set: each node of a cluster has its own "
                           "port; remove address");
          }
          if (listen.sentinels && (listen.nodes || listen.address != Listen{}.address)) {
            section.report(section.place_of("sentinels"),
                           "sentinels is set together with nodes or address: make listen a list "
                           "with one entry for each");
          }
          if (!listen.address.is_unix() && (listen.mode || !listen.group.empty())) {
            section.report(
                section.place_of(listen.mode ? "mode" : "group"),
                "mode and group apply only to a Unix socket: address: unix:/absolute/path");
          }
          if (listen.is_for_redis() && !listen.announce.empty()) {
            section.report(section.place_of("announce"),
                           "announce is the host that clients of a cluster or Sentinel are sent "
                           "to: it needs nodes or sentinels");
          }
        });

constexpr auto control_section(std::string_view name) {
  return section<Control>(name,
                          text("username", &Control::username),
                          secret("password", &Control::password),
                          text("password_file", &Control::password_file))
      .checked_by([](const Section& section, Control& control) {
        check_password(section, control);
        if (!control.username.empty() && control.password.empty() &&
            control.password_file.empty()) {
          section.report(section.place_of("username"),
                         "username needs a password or a password_file");
        }
      });
}

constexpr auto kControl = control_section("upstream.control");
constexpr auto kSentinelControl = control_section("upstream.sentinel_control");

void check_sentinels(const Section& section, const Upstream& upstream) {
  const bool has_sentinels = !upstream.sentinels.empty();
  if (has_sentinels != !upstream.master.empty()) {
    section.report(section.place_of(has_sentinels ? "sentinels" : "master"),
                   "sentinels and master must be set together: master is the name of the master in "
                   "the Sentinels' configuration");
  }
  if (has_sentinels && (!upstream.cluster.empty() || upstream.address != Upstream{}.address)) {
    section.report(section.place_of("sentinels"),
                   "sentinels is set together with cluster or address: the Sentinels provide the "
                   "address of Redis; remove the other");
  }
  if (upstream.sentinels.size() > kSentinelsMax) {
    section.report(section.place_of("sentinels"),
                   fmt::format("sentinels: the list can have at most {} entries", kSentinelsMax));
  }
  if (upstream.sentinel_control != Control{} && !has_sentinels) {
    section.report(section.place_of("sentinel_control"), "sentinel_control needs sentinels");
  }
}

// `upstream: host:port`, or a mapping with everything else.
constexpr auto kUpstream =
    section<Upstream>(
        "upstream",
        value("address", &Upstream::address, parse_upstream_address).at_start(),
        choice("mode", &Upstream::mode, kUpstreamModes).at_start(),
        value("connect_timeout",
              &Upstream::connect_timeout,
              bounded<milliseconds>(parse_duration, 1ms, 10min, "must be from 1ms to 10m")),
        value("silence",
              &Upstream::silence,
              bounded<milliseconds>(parse_duration, 500ms, 1h, "must be from 500ms to 1h")),
        choice("acl", &Upstream::acl, kAcls),
        Inside{"control", &Upstream::control, kControl},
        ReadBy<Upstream>{"tls", read_upstream_tls, sections_of<kUpstreamTls>},
        list("cluster", &Upstream::cluster, parse_upstream_address).at_start(),
        value("split_mset", &Upstream::split_mset, parse_bool),
        list("sentinels", &Upstream::sentinels, parse_upstream_address).at_start(),
        text("master", &Upstream::master).at_start(),
        Inside{"sentinel_control", &Upstream::sentinel_control, kSentinelControl},
        list("node_addresses", &Upstream::node_addresses, parse_node_address).at_start())
        .or_only("address")
        .checked_by([](const Section& section, Upstream& upstream) {
          check_sentinels(section, upstream);
          if (!upstream.cluster.empty() && upstream.address != Upstream{}.address) {
            section.report(section.place_of("cluster"),
                           "cluster and address are both set: address is for a Redis without "
                           "cluster mode; remove one of them");
          }
          if (upstream.node_addresses.size() > kNodeAddressesMax) {
            section.report(section.place_of("node_addresses"),
                           fmt::format("node_addresses: the list can have at most {} entries",
                                       kNodeAddressesMax));
          }
        });

constexpr auto kStorage = section<Storage>(
    "storage",
    text("directory", &Storage::directory).at_start(),
    text("secret_file", &Storage::secret_file).at_start(),
    value("checkpoint_every", &Storage::checkpoint_every, up_to_a_day(1s, "must be from 1s to 1d"))
        .at_start());

constexpr auto kSnapshots = choices_of<Snapshots>({"redis", "http"});

constexpr auto kFleet =
    section<Fleet>("fleet",
                   value("prefix", &Fleet::prefix, parse_text),
                   text("signing_key_file", &Fleet::signing_key_file),
                   list("public_key_files", &Fleet::public_key_files, parse_text),
                   choice("snapshots", &Fleet::snapshots, kSnapshots),
                   value("canary", &Fleet::canary, up_to_a_day(0s, "must be from 0s to 1d")))
        .checked_by([](const Section& section, Fleet& fleet) {
          if (fleet.prefix.find_first_of("{}") != std::string::npos) {
            section.report(section.place_of("prefix"),
                           "prefix: write it without braces; they are added");
          }
          if (fleet.public_key_files.size() > kFleetKeysMax) {
            section.report(section.place_of("public_key_files"),
                           "public_key_files: the list can have at most 2 entries (two only while "
                           "a key is replaced)");
          }
        });

// Of each source that is published, or follows one that is.
void join_fleet(const Section& top, Config& config) {
  for (Source& source : config.sources) {
    auto* const followed = std::get_if<FleetSource>(&source.kind);
    const bool is_published = source.publish == Publish::redis;
    if (followed == nullptr && !is_published) {
      continue;
    }
    (followed != nullptr ? followed->fleet : source.fleet) = config.fleet;
    const auto need =
        [&](bool is_there, std::string_view section, std::string_view key, std::string_view how) {
          if (!is_there) {
            top.report(top.place_of(section, key),
                       fmt::format("sources.{} needs {}.{}{}", source.name, section, key, how));
          }
        };
    need(!config.fleet.public_key_files.empty(),
         "fleet",
         "public_key_files",
         "; create it with: openssl pkey -in KEY -pubout -out FILE");
    need(!config.storage.secret_file.empty(),
         "storage",
         "secret_file",
         ", with the same content for all guards of a fleet; create it with: head -c 192 "
         "/dev/urandom > FILE");
    need(!is_published || !config.fleet.signing_key_file.empty(),
         "fleet",
         "signing_key_file",
         "; create it with: openssl genpkey -algorithm ed25519 -out FILE");
    need(!is_published || !config.storage.directory.empty(), "storage", "directory", "");
    need(!is_published || config.fleet.snapshots == Snapshots::redis || config.admin.address,
         "admin",
         "address",
         ": followers fetch snapshots there (fleet.snapshots: http)");
  }
}

constexpr auto kLimits = section<Limits>(
    "limits",
    value("max_clients",
          &Limits::max_clients,
          bounded<std::uint32_t>(parse_count, 1, kMillion, "must be from 1 to 1M")),
    value("client_output_soft",
          &Limits::client_output_soft,
          output_bytes(kGiB, "must be from 16KiB to 1GiB"),
          text_of_bytes),
    value("client_output_hard",
          &Limits::client_output_hard,
          output_bytes(1024 * kGiB, "must be from 16KiB to 1024GiB"),
          text_of_bytes),
    value("output_total",
          &Limits::output_total,
          output_bytes(1024 * kGiB, "must be from 16KiB to 1024GiB"),
          text_of_bytes),
    value("inflight_per_client",
          &Limits::inflight_per_client,
          bounded<std::uint32_t>(parse_count, 1, kMillion, "must be from 1 to 1M")),
    value("idle_timeout", &Limits::idle_timeout, up_to_a_day(0s, "must be from 0s to 1d")));

constexpr auto kAdmin =
    section<Admin>("admin",
                   value("address", &Admin::address, parse_optional_address).at_start(),
                   text("token_file", &Admin::token_file),
                   list("hosts", &Admin::hosts, parse_host),
                   list("operators", &Admin::operators, parse_any_text));

constexpr auto kLog = section<Log>("log",
                                   choice("level", &Log::level, kLogLevels),
                                   choice("format", &Log::format, kLogFormats),
                                   choice("keys", &Log::keys, kLogKeyForms));

constexpr auto kTop =
    section<Config>(
        "",
        OneOrMore{"listen", &Config::listen, kListenMax, kListen},
        Inside{"upstream", &Config::upstream, kUpstream},
        ReadBy<Config>{"sources", read_sources, source_sections},
        ReadBy<Config>{"namespaces", read_namespaces, namespace_sections},
        Inside{"filters", &Config::filters, kFilters},
        Inside{"fleet", &Config::fleet, kFleet},
        Inside{"storage", &Config::storage, kStorage},
        Inside{"limits", &Config::limits, kLimits},
        Inside{"admin", &Config::admin, kAdmin},
        Inside{"log", &Config::log, kLog},
        value("workers", &Config::workers, parse_workers, text_of_workers).at_start(),
        value("drain_timeout", &Config::drain_timeout, up_to_a_day(0s, "must be from 0s to 1d"))
            .at_start())
        .checked_by([](const Section& top, Config& config) {
          const auto refused = top.built().refusal("filters");
          if (refused && config.filters.is_used()) {
            top.report(top.place_of("filters"), "filters: " + *refused);
          }
          join_fleet(top, config);
        });

void give_each_node_its_port(std::vector<Listen>& all) {
  std::vector<Listen> each;
  for (Listen& listen : all) {
    if (!listen.nodes) {
      listen.address = listen.sentinels.value_or(listen.address);
      each.push_back(std::move(listen));
      continue;
    }
    for (std::size_t i = 0; i < listen.nodes->count(); ++i) {
      each.push_back(listen);
      each.back().address = {.host = listen.nodes->host,
                             .port = static_cast<std::uint16_t>(listen.nodes->first + i),
                             .unix_path = {}};
    }
  }
  all = std::move(each);
}

}  // namespace

Config read_config(const TreeNode& root,
                   const EnvironmentLookup& environment,
                   const Built& built,
                   Setting& settings,
                   Report& report) {
  const Entry whole_file{.key = {}, .place = root.place, .value = root};
  Places places;
  const Section top({report, environment, built, &settings, &places}, whole_file, kTop.keys());
  places.listen = top.place_of("listen", "address");
  places.admin = top.place_of("admin", "address");
  Config config;
  kTop.read(top, config);
  give_each_node_its_port(config.listen);
  for (const auto& [servers, key] : {std::pair(&config.upstream.cluster, "cluster"),
                                     std::pair(&config.upstream.sentinels, "sentinels")}) {
    if (const auto refused = built.refusal("cluster"); refused && !servers->empty()) {
      report.add(top.place_of("upstream", key), std::string(key) + ": " + *refused);
    }
  }
  check(config, places, report);
  return config;
}

std::vector<std::string> keep_what_needs_a_restart(const Config& running, Config& next) {
  std::vector<std::string> changed;
  kTop.keep("", running, next, changed);
  if (running.filters != next.filters) {
    changed.emplace_back("filters");
    next.filters = running.filters;
  }
  return changed;
}

std::span<const KeyList> all_sections() {
  static const std::vector<KeyList> kAll = [] {
    std::vector<KeyList> all;
    kTop.collect(all);
    return all;
  }();
  return kAll;
}

}  // namespace cuckooguard::config
