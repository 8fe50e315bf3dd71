// The files in config/ at the repository's root: what they say is what the program does.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/absent_presets.h"
#include "config/config_file.h"
#include "config/documented_file.h"
#include "config/parse.h"
#include "config/section.h"
#include "config/source_examples.h"
#include "config/yaml_tree.h"

namespace cuckooguard::config {
namespace {

using testing::is_explanation;
using testing::joined;
using testing::lines_of;
using testing::path_of;
using testing::settings;
using testing::switched_on;

TEST(DocumentedSettings, the_file_as_it_is_has_the_programs_defaults) {
  const auto loaded =
      load_config(path_of("cuckooguard.yaml"), testing::lookup_in({}), {}, testing::built());
  ASSERT_TRUE(loaded) << loaded.error()[0].text();
  const Config defaults;
  EXPECT_EQ(loaded->listen, defaults.listen);
  EXPECT_EQ(loaded->listen.front().tls, defaults.listen.front().tls);
  EXPECT_EQ(loaded->upstream, defaults.upstream);
  EXPECT_TRUE(loaded->sources.empty());
  EXPECT_TRUE(loaded->namespaces.empty());
  EXPECT_EQ(loaded->filters, defaults.filters);
  EXPECT_EQ(loaded->fleet, defaults.fleet);
  EXPECT_EQ(loaded->storage, defaults.storage);
  EXPECT_EQ(loaded->limits, defaults.limits);
  EXPECT_EQ(loaded->admin, defaults.admin);
  EXPECT_EQ(loaded->log, defaults.log);
  EXPECT_EQ(loaded->workers, defaults.workers);
  EXPECT_EQ(loaded->drain_timeout, defaults.drain_timeout);
}

TEST(DocumentedSettings, with_everything_switched_on_it_still_has_the_programs_defaults) {
  const Config config = testing::config_of(joined(switched_on()));
  ASSERT_TRUE(config.listen.front().tls);
  EXPECT_EQ(config.listen.front().tls->client_ca, ListenTls{}.client_ca);
  EXPECT_EQ(config.upstream.tls, UpstreamTls{});
  for (const Source& source : config.sources) {
    const testing::SourceExample& example = testing::kSourceExamples.at(source.kind.index());
    const bool is_fleet = std::holds_alternative<FleetSource>(source.kind);
    const Source expected{.name = source.name,
                          .kind = example.defaults(source.kind),
                          .strict_hold = is_fleet ? kFleetStrictHold : Source{}.strict_hold};
    EXPECT_EQ(source, expected) << source.name;
  }
  ASSERT_EQ(config.sources.size(), testing::kSourceExamples.size()) << "one example per type";
  ASSERT_EQ(config.namespaces.size(), 1U);
  const Namespace& users = config.namespaces[0];
  const Namespace defaults;
  EXPECT_EQ(users.mode, defaults.mode);
  EXPECT_EQ(users.order, defaults.order);
  EXPECT_DOUBLE_EQ(users.verify_sample, defaults.verify_sample);
  EXPECT_EQ(users.db, defaults.db);
  EXPECT_EQ(users.canonical_keys, defaults.canonical_keys);
  EXPECT_EQ(users.consistency, defaults.consistency);
  EXPECT_EQ(users.tolerate, defaults.tolerate);
  EXPECT_EQ(users.fresh_ids, defaults.fresh_ids);
  EXPECT_EQ(users.filter, defaults.filter);
  EXPECT_EQ(users.overlay, defaults.overlay);
  EXPECT_EQ(users.commands.key, "users") << "an example";
}

TEST(DocumentedSettings, every_key_is_in_the_file_with_words_above_it) {
  const std::vector<std::string> lines = switched_on();
  Report report("cuckooguard.yaml");
  const auto root = parse_tree(joined(lines), report);
  ASSERT_TRUE(root);
  for (const KeyList& list : all_sections()) {
    for (const std::string_view key : list.keys) {
      const auto found = settings(*root, list, key);
      ASSERT_FALSE(found.empty()) << key << " of section \"" << list.section
                                  << "\" is not in the file";
      const bool has_words = std::ranges::any_of(found, [&](const Entry* entry) {
        const auto above = static_cast<std::size_t>(entry->place.line) - 2;  // lines count from 1
        return is_explanation(lines.at(above)) || key == "filter" || key == "log" ||
               key == "limits";
      });
      EXPECT_TRUE(has_words) << key << " of section \"" << list.section
                             << "\" has no words above it";
    }
  }
}

TEST(DocumentedSettings, every_absent_reply_is_named_here) {
  const std::string text = joined(lines_of(path_of("cuckooguard.yaml")));
  for (const AbsentPreset& preset : absent_presets()) {
    EXPECT_THAT(text, ::testing::HasSubstr(std::string(preset.name)));
  }
}

// The table in docs/absent-replies.md: `| \`name\` | framework | …`.
TEST(DocumentedSettings, the_table_of_absent_replies_has_every_one_and_no_other) {
  std::set<std::string> documented;
  for (const std::string& line : lines_of(path_of("../docs/absent-replies.md"))) {
    const std::string name = line.starts_with("| `") ? line.substr(3, line.find('`', 3) - 3) : "";
    if (!name.empty() && name != "absent_reply" && name.find(':') == std::string::npos) {
      documented.insert(name);
    }
  }
  std::set<std::string> presets;
  for (const AbsentPreset& preset : absent_presets()) {
    presets.emplace(preset.name);
  }
  EXPECT_EQ(documented, presets);
}

// What stands in a document's blocks of YAML. Settings of a namespace, which begin with its keys,
// are put into one.
std::vector<std::string> configurations_in(const std::string& document) {
  std::vector<std::string> all;
  bool is_block = false;
  bool is_of_a_namespace = false;
  for (const std::string& line : lines_of(document)) {
    if (line == "```yaml") {
      is_block = true;
      all.emplace_back();
    } else if (is_block && line == "```") {
      is_block = false;
    } else if (is_block) {
      if (all.back().empty()) {
        is_of_a_namespace = line.starts_with("keys:");
        all.back() = is_of_a_namespace
                         ? "sources: { shop: { type: sqlite, path: /shop.db } }\n"
                           "namespaces:\n  users:\n    source: { from: shop, table: user }\n"
                         : "";
      }
      all.back() += (is_of_a_namespace ? "    " : "") + line + "\n";
    }
  }
  return all;
}

TEST(DocumentedSettings, every_configuration_in_the_documents_is_valid) {
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(path_of("../docs"))) {
    if (file.path().extension() != ".md") {
      continue;
    }
    for (const std::string& yaml : configurations_in(file.path())) {
      const auto read = parse_config(yaml, "block", testing::lookup_in({}), testing::built());
      EXPECT_TRUE(read) << file.path() << ": " << read.error()[0].text() << "\n" << yaml;
      ++count;
    }
  }
  EXPECT_GE(count, 15U);
}

Config configuration_for_kubernetes(const std::string& file) {
  auto read = load_config(
      path_of("../packaging/kubernetes/" + file), testing::lookup_in({}), {}, testing::built());
  EXPECT_TRUE(read) << read.error()[0].text();
  return read.value_or(Config{});
}

TEST(DocumentedSettings, those_for_kubernetes_are_valid_and_fit_a_pod_without_a_cpu_limit) {
  for (const std::string file : {"sidecar/mysql/cuckooguard.yaml",
                                 "sidecar/postgres/cuckooguard.yaml",
                                 "sidecar/cluster/cuckooguard.yaml",
                                 "node/cuckooguard.yaml",
                                 "fleet/cuckooguard.yaml",
                                 "fleet/cuckooguard-builder.yaml"}) {
    const Config read = configuration_for_kubernetes(file);
    ASSERT_EQ(read.namespaces.size(), 1U) << file;
    EXPECT_EQ(read.namespaces[0].mode, Mode::observe);
    EXPECT_NE(read.workers, Config{}.workers) << "auto is half of the node's cores";
    EXPECT_LT(read.limits.output_total, Config{}.limits.output_total) << "the default is 1 GiB";
    EXPECT_FALSE(read.storage.directory.empty());
    EXPECT_FALSE(read.admin.token_file.empty()) << "all but the health pages would be open";
    const bool is_cluster = file.contains("cluster");
    EXPECT_EQ(read.upstream.cluster.size(), is_cluster ? 1U : 0U);
    EXPECT_EQ(read.listen.size(), is_cluster ? 16U : 1U);
  }
}

TEST(DocumentedSettings, the_sidecars_of_a_fleet_follow_its_builders_with_their_namespaces) {
  const Config builder = configuration_for_kubernetes("fleet/cuckooguard-builder.yaml");
  const Config sidecar = configuration_for_kubernetes("fleet/cuckooguard.yaml");
  EXPECT_EQ(builder.sources.at(0).publish, Publish::redis);
  const auto* const follows = std::get_if<FleetSource>(&sidecar.sources.at(0).kind);
  ASSERT_TRUE(follows);
  EXPECT_EQ(follows->name, builder.sources.at(0).name);
  EXPECT_TRUE(sidecar.sources.at(0).fleet.signing_key_file.empty());
  EXPECT_EQ(sidecar.namespaces[0].keys, builder.namespaces[0].keys);
  EXPECT_EQ(sidecar.namespaces[0].source.tables, builder.namespaces[0].source.tables);
  EXPECT_EQ(sidecar.upstream.address, builder.upstream.address);
}

TEST(DocumentedSettings, the_minimal_file_is_valid_and_only_observes) {
  const auto loaded = load_config(path_of("minimal.yaml"), testing::lookup_in({}));
  ASSERT_TRUE(loaded) << loaded.error()[0].text();
  ASSERT_EQ(loaded->namespaces.size(), 1U);
  EXPECT_EQ(loaded->namespaces[0].mode, Mode::observe);
  EXPECT_TRUE(std::holds_alternative<SqliteSource>(loaded->sources.at(0).kind));
  EXPECT_LT(lines_of(path_of("minimal.yaml")).size(), 20U) << "the few lines most people need";
}

}  // namespace
}  // namespace cuckooguard::config
