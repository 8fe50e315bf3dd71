#include "config/config_file.h"

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "config/checks.h"
#include "config/nearest.h"
#include "config/places.h"
#include "config/read_namespace.h"
#include "config/read_source.h"
#include "config/section.h"
#include "config/yaml_tree.h"

namespace cuckooguard::config {
namespace {

using namespace std::chrono_literals;

constexpr std::array kUpstreamModes = {Choice<UpstreamMode>{"pinned", UpstreamMode::pinned},
                                       Choice<UpstreamMode>{"shared", UpstreamMode::shared}};
constexpr std::array kAcls = {Choice<Acl>{"ask", Acl::ask}, Choice<Acl>{"trust", Acl::trust}};
constexpr std::array kLogLevels = {Choice<LogLevel>{"debug", LogLevel::debug},
                                   Choice<LogLevel>{"info", LogLevel::info},
                                   Choice<LogLevel>{"warning", LogLevel::warning},
                                   Choice<LogLevel>{"error", LogLevel::error}};
constexpr std::array kLogFormats = {Choice<LogFormat>{"text", LogFormat::text},
                                    Choice<LogFormat>{"json", LogFormat::json}};
constexpr std::array kLogKeyForms = {Choice<LogKeys>{"hashed", LogKeys::hashed},
                                     Choice<LogKeys>{"plain", LogKeys::plain}};
constexpr unsigned kWorkersMax = 1024;
constexpr std::uint32_t kClientsMax = 1'000'000;
constexpr std::uint32_t kInflightMax = 1'000'000;
constexpr std::uint64_t kOutputMin = 16 * 1024;
constexpr std::uint64_t kOutputMax = 1024 * 1024 * 1024;
constexpr std::uint64_t kOutputHardMax = 1024 * kOutputMax;

Parsed<Address> parse_upstream_address(std::string_view text) {
  auto address = parse_address(text);
  if (address && !address->is_unix() && address->port == 0) {
    return std::unexpected("has no port from 1 to 65535 behind its last ':'");
  }
  return address;
}

void read_control(const Reading& reading, const Section& section, Control& control) {
  section.read_text("username", control.username);
  section.read_secret("password", control.password);
  section.read_text("password_file", control.password_file);
  if (!control.password.empty() && !control.password_file.empty()) {
    reading.report.add(section.place_of("password_file"),
                       "password_file and password are both here; one of them is enough");
  }
  if (!control.username.empty() && control.password.empty() && control.password_file.empty()) {
    reading.report.add(section.place_of("username"),
                       "username needs a password or a password_file");
  }
}

// `upstream: host:port`, or a mapping with everything else.
void read_upstream(const Reading& reading, const Section& top, Upstream& upstream) {
  const Section section = top.inside("upstream", schema::kUpstream);
  section.read("address", upstream.address, parse_upstream_address);
  section.read_choice("mode", upstream.mode, kUpstreamModes);
  section.read("connect_timeout",
               upstream.connect_timeout,
               bounded<milliseconds>(parse_duration, 1ms, 10min, "must be from 1ms to 10m"));
  section.read_choice("acl", upstream.acl, kAcls);
  read_control(reading, section.inside("control", schema::kControl), upstream.control);
}

void read_storage(const Section& storage, Storage& out) {
  storage.read_text("directory", out.directory);
  storage.read("checkpoint_every",
               out.checkpoint_every,
               bounded<milliseconds>(parse_duration, 1s, 24h, "must be from 1s to 1d"));
}

void read_limits(const Section& section, Limits& limits) {
  section.read("max_clients",
               limits.max_clients,
               bounded<std::uint32_t>(parse_count, 1, kClientsMax, "must be from 1 to 1M"));
  section.read(
      "client_output_soft",
      limits.client_output_soft,
      bounded<std::uint64_t>(parse_bytes, kOutputMin, kOutputMax, "must be from 16KiB to 1GiB"),
      text_of_bytes);
  const auto hard_limit = bounded<std::uint64_t>(
      parse_bytes, kOutputMin, kOutputHardMax, "must be from 16KiB to 1024GiB");
  section.read("client_output_hard", limits.client_output_hard, hard_limit, text_of_bytes);
  section.read("output_total", limits.output_total, hard_limit, text_of_bytes);
  section.read("inflight_per_client",
               limits.inflight_per_client,
               bounded<std::uint32_t>(parse_count, 1, kInflightMax, "must be from 1 to 1M"));
  section.read("idle_timeout",
               limits.idle_timeout,
               bounded<milliseconds>(parse_duration, 0ms, 24h, "must be from 0s to 1d"));
}

Parsed<std::optional<Address>> parse_admin_address(std::string_view text) {
  if (text.empty()) {
    return std::nullopt;
  }
  return parse_address(text);
}

void read_admin(const Section& section, Places& places, Admin& admin) {
  places.admin = section.place_of("address");
  section.read("address", admin.address, parse_admin_address);
  section.read_text("token_file", admin.token_file);
  for (ListItem& user : section.read_list("operators", Section::EmptyList::is_right)) {
    admin.operators.push_back(std::move(user.text));
  }
}

void read_log(const Section& section, Log& log) {
  section.read_choice("level", log.level, kLogLevels);
  section.read_choice("format", log.format, kLogFormats);
  section.read_choice("keys", log.keys, kLogKeyForms);
}

Parsed<unsigned> parse_workers(std::string_view text) {
  if (text == "auto") {
    return 0U;
  }
  return bounded<unsigned>(parse_count, 1, kWorkersMax, "must be auto, or from 1 to 1024")(text);
}

// Entries of `sources` or `namespaces`, whose keys are names that the operator chooses.
std::span<const Entry> named_entries(const Reading& reading,
                                     const Section& top,
                                     std::string_view key) {
  const Entry* const entry = top.find(key);
  if (entry == nullptr || entry->value.kind == TreeNode::Kind::null) {
    return {};
  }
  if (entry->value.kind != TreeNode::Kind::mapping) {
    reading.report.add(entry->value.place,
                       fmt::format("{} must hold names with their settings", key));
    return {};
  }
  for (const Entry& named : entry->value.entries) {
    if (!looks_like_a_name(named.key)) {
      reading.report.add(named.place,
                         fmt::format("a name in {} is 1 to 64 letters, digits, '_' and '-'", key));
    }
  }
  return entry->value.entries;
}

Config read_config(const Reading& reading, const TreeNode& root) {
  const Entry whole_file{.key = {}, .place = root.place, .value = root};
  const Section top(reading, whole_file, schema::kTop);
  Config config;
  Places places;
  places.listen = top.place_of("listen");
  top.read("listen", config.listen, parse_address);
  read_upstream(reading, top, config.upstream);
  const Reading in_sources = top.reading_inside("sources");
  for (const Entry& entry : named_entries(reading, top, "sources")) {
    places.sources.push_back(entry.key);
    if (auto source = read_source(in_sources, entry)) {
      config.sources.push_back(std::move(*source));
    }
  }
  const Reading in_namespaces = top.reading_inside("namespaces");
  for (const Entry& entry : named_entries(reading, top, "namespaces")) {
    config.namespaces.push_back(
        read_namespace(in_namespaces, entry, places.namespaces.emplace_back()));
  }
  read_storage(top.inside("storage", schema::kStorage), config.storage);
  read_limits(top.inside("limits", schema::kLimits), config.limits);
  read_admin(top.inside("admin", schema::kAdmin), places, config.admin);
  read_log(top.inside("log", schema::kLog), config.log);
  top.read("workers", config.workers, parse_workers, [](unsigned workers) {
    return workers == 0 ? std::string("auto") : text_of(workers);
  });
  top.read("drain_timeout",
           config.drain_timeout,
           bounded<milliseconds>(parse_duration, 0ms, 24h, "must be from 0s to 1d"));
  check(config, places, reading.report);
  return config;
}

std::vector<Diagnostic> cannot_read(const std::string& path, int error_number) {
  return {
      {.file = path,
       .what = fmt::format("cannot be read: {}", std::generic_category().message(error_number))}};
}

}  // namespace

std::expected<EffectiveConfig, std::vector<Diagnostic>> parse_effective(
    std::string_view yaml,
    std::string file_name,
    const EnvironmentLookup& environment,
    std::span<const Override> overrides) {
  Report report(std::move(file_name));
  EffectiveConfig effective;
  if (std::optional<TreeNode> root = parse_tree(yaml, report)) {
    apply(overrides, *root, report);
    effective.config = read_config({report, environment, &effective.settings}, *root);
  }
  if (!report.empty()) {
    return std::unexpected(std::move(report).in_file_order());
  }
  return effective;
}

std::expected<EffectiveConfig, std::vector<Diagnostic>> load_effective(
    const std::string& path,
    const EnvironmentLookup& environment,
    std::span<const Override> overrides) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return std::unexpected(cannot_read(path, errno));
  }
  std::string text(kFileBytesMax + 1,
                   '\0');  // one more than is allowed, so that parse_config sees it
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) {
    return std::unexpected(cannot_read(path, errno));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_effective(text, path, environment, overrides);
}

std::expected<Config, std::vector<Diagnostic>> parse_config(std::string_view yaml,
                                                            std::string file_name,
                                                            const EnvironmentLookup& environment) {
  auto effective = parse_effective(yaml, std::move(file_name), environment);
  if (!effective) {
    return std::unexpected(std::move(effective.error()));
  }
  return std::move(effective->config);
}

std::expected<Config, std::vector<Diagnostic>> load_config(const std::string& path,
                                                           const EnvironmentLookup& environment,
                                                           std::span<const Override> overrides) {
  auto effective = load_effective(path, environment, overrides);
  if (!effective) {
    return std::unexpected(std::move(effective.error()));
  }
  return std::move(effective->config);
}

}  // namespace cuckooguard::config
