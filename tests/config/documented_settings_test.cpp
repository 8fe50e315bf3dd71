// The files in config/ at the repository's root: what they say is what the program does.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/absent_presets.h"
#include "config/config_file.h"
#include "config/parse.h"
#include "config/schema.h"
#include "config/yaml_tree.h"

namespace cuckooguard::config {
namespace {

std::string path_of(const std::string& file) {
  return std::string(CUCKOOGUARD_CONFIG_FOLDER) + "/" + file;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

// A setting that is switched off: `#` and no space behind it.
bool is_switched_off(const std::string& line) {
  const std::size_t hash = line.find_first_not_of(' ');
  return hash != std::string::npos && line[hash] == '#' && hash + 1 < line.size() &&
         line[hash + 1] != ' ';
}

bool is_explanation(const std::string& line) {
  const std::size_t hash = line.find_first_not_of(' ');
  return hash != std::string::npos && line[hash] == '#' && !is_switched_off(line);
}

// cuckooguard.yaml with every setting switched on, as its head says.
std::vector<std::string> switched_on() {
  std::vector<std::string> lines = lines_of(path_of("cuckooguard.yaml"));
  for (std::string& line : lines) {
    if (is_switched_off(line)) {
      line.erase(line.find('#'), 1);
    }
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

TEST(DocumentedSettings, the_file_as_it_is_has_the_programs_defaults) {
  const auto loaded = load_config(path_of("cuckooguard.yaml"), testing::lookup_in({}));
  ASSERT_TRUE(loaded) << loaded.error()[0].text();
  const Config defaults;
  EXPECT_EQ(loaded->listen, defaults.listen);
  EXPECT_EQ(loaded->listen_tls, defaults.listen_tls);
  EXPECT_EQ(loaded->upstream, defaults.upstream);
  EXPECT_TRUE(loaded->sources.empty());
  EXPECT_TRUE(loaded->namespaces.empty());
  EXPECT_EQ(loaded->storage, defaults.storage);
  EXPECT_EQ(loaded->limits, defaults.limits);
  EXPECT_EQ(loaded->admin, defaults.admin);
  EXPECT_EQ(loaded->log, defaults.log);
  EXPECT_EQ(loaded->workers, defaults.workers);
  EXPECT_EQ(loaded->drain_timeout, defaults.drain_timeout);
}

TEST(DocumentedSettings, with_everything_switched_on_it_still_has_the_programs_defaults) {
  const Config config = testing::config_of(joined(switched_on()));
  ASSERT_TRUE(config.listen_tls);
  EXPECT_EQ(config.listen_tls->client_ca, ListenTls{}.client_ca);
  EXPECT_EQ(config.upstream.tls, UpstreamTls{});
  for (const Source& source : config.sources) {
    Source expected{.name = source.name, .kind = {}};
    if (const auto* sqlite = std::get_if<SqliteSource>(&source.kind)) {
      expected.kind = SqliteSource{.path = sqlite->path};
    } else if (const auto* mysql = std::get_if<MysqlSource>(&source.kind)) {
      expected.kind = MysqlSource{
          .addresses = mysql->addresses, .user = mysql->user, .database = mysql->database};
    } else {
      expected.kind = FileSource{.path = std::get<FileSource>(source.kind).path};
    }
    EXPECT_EQ(source, expected) << source.name;
  }
  ASSERT_EQ(config.sources.size(), 3U) << "one example per type";
  ASSERT_EQ(config.namespaces.size(), 1U);
  const Namespace& users = config.namespaces[0];
  const Namespace defaults;
  EXPECT_EQ(users.mode, defaults.mode);
  EXPECT_EQ(users.order, defaults.order);
  EXPECT_DOUBLE_EQ(users.verify_sample, defaults.verify_sample);
  EXPECT_EQ(users.db, defaults.db);
  EXPECT_EQ(users.strict, defaults.strict);
  EXPECT_EQ(users.fresh_ids, defaults.fresh_ids);
  EXPECT_EQ(users.filter, defaults.filter);
  EXPECT_EQ(users.overlay, defaults.overlay);
}

// Nodes under `at` that the path of a section leads to; `*` is every name.
std::vector<const TreeNode*> sections_at(const TreeNode& at, std::string_view path) {
  if (path.empty()) {
    return {&at};
  }
  const std::size_t dot = std::min(path.find('.'), path.size());
  const std::string_view step = path.substr(0, dot);
  const std::string_view rest = path.substr(std::min(dot + 1, path.size()));
  std::vector<const TreeNode*> found;
  for (const Entry& entry : at.entries) {
    if (step == "*" || step == entry.key) {
      std::ranges::copy(sections_at(entry.value, rest), std::back_inserter(found));
    }
  }
  return found;
}

const Entry* entry_of(const TreeNode& node, std::string_view key) {
  const auto found = std::ranges::find(node.entries, key, &Entry::key);
  return found == node.entries.end() ? nullptr : &*found;
}

// The settings called `key` in the sections of this list.
std::vector<const Entry*> settings(const TreeNode& root,
                                   const KeyList& list,
                                   std::string_view key) {
  constexpr std::string_view kOfType = " of type ";
  const std::size_t end = std::min(list.section.find(kOfType), list.section.size());
  const std::string_view type =
      end < list.section.size() ? list.section.substr(end + kOfType.size()) : "";
  std::vector<const Entry*> found;
  for (const TreeNode* const section : sections_at(root, list.section.substr(0, end))) {
    const Entry* const its_type = entry_of(*section, "type");
    const Entry* const entry = entry_of(*section, key);
    if (entry != nullptr &&
        (type.empty() || (its_type != nullptr && its_type->value.text == type))) {
      found.push_back(entry);
    }
  }
  return found;
}

TEST(DocumentedSettings, every_key_is_in_the_file_with_words_above_it) {
  const std::vector<std::string> lines = switched_on();
  Report report("cuckooguard.yaml");
  const auto root = parse_tree(joined(lines), report);
  ASSERT_TRUE(root);
  for (const KeyList& list : schema::kAll) {
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

TEST(DocumentedSettings, every_absent_reply_is_named_here_and_in_the_readme) {
  for (const char* const file : {"cuckooguard.yaml", "../README.md"}) {
    const std::string text = joined(lines_of(path_of(file)));
    for (const AbsentPreset& preset : absent_presets()) {
      EXPECT_THAT(text, ::testing::HasSubstr(std::string(preset.name))) << file;
    }
  }
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
