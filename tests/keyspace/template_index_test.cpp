#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "keyspace/keyspace.h"
#include "keyspace/random_keyspace.h"

namespace cuckooguard::keyspace {
namespace {

// Per node, longest prefix first: the candidates in ascending order.
std::vector<std::vector<std::uint32_t>> levels(const TemplateIndex& index, std::string_view key) {
  std::vector<std::vector<std::uint32_t>> result;
  for (std::uint32_t node = index.longest(key); node != TemplateIndex::kNone;
       node = index.shorter(node)) {
    auto& level = result.emplace_back();
    index.visit_candidates(node, key, [&](std::uint32_t template_index) {
      level.push_back(template_index);
      return false;
    });
    std::ranges::sort(level);
  }
  return result;
}

std::vector<KeyTemplate> parsed(const std::vector<std::string>& texts) {
  std::vector<KeyTemplate> templates;
  templates.reserve(texts.size());
  for (const std::string& text : texts) {
    templates.push_back(testing::must_parse(text));
  }
  return templates;
}

using Levels = std::vector<std::vector<std::uint32_t>>;

TEST(TemplateIndex, longest_prefix_comes_first) {
  const auto templates = parsed({"{a}", "user:{a}", "user:x{a}", "us{a}", "other:{a}"});
  const TemplateIndex index(templates);
  EXPECT_EQ(levels(index, "user:xy"), (Levels{{2}, {1}, {3}, {0}}));
  EXPECT_EQ(levels(index, "user:y"), (Levels{{1}, {3}, {0}}));
  EXPECT_EQ(levels(index, "u"), Levels{{0}});
  EXPECT_EQ(levels(index, ""), Levels{{0}});
}

TEST(TemplateIndex, nothing_is_found_without_templates) {
  EXPECT_EQ(TemplateIndex().longest("user:1"), TemplateIndex::kNone);
  EXPECT_EQ(TemplateIndex(std::vector<KeyTemplate>{}).longest("user:1"), TemplateIndex::kNone);
  const auto templates = parsed({"user:{a}"});
  EXPECT_EQ(TemplateIndex(templates).longest("usher:1"), TemplateIndex::kNone);
  EXPECT_EQ(TemplateIndex(templates).longest("user"), TemplateIndex::kNone);
}

TEST(TemplateIndex, neighbours_behind_a_placeholder_are_left_out) {
  std::vector<std::string> texts;
  texts.reserve(200);
  for (int i = 0; i < 200; ++i) {
    texts.push_back("{tenant}:thing" + std::to_string(i) + ":{id}");
  }
  const auto templates = parsed(texts);
  const TemplateIndex index(templates);
  EXPECT_EQ(levels(index, "acme:thing17:5"), Levels{{17}});
  EXPECT_EQ(levels(index, "acme:none:5"), Levels{{}});
  EXPECT_EQ(levels(index, ":thing17:5"), Levels{{}});
}

TEST(TemplateIndex, neighbours_with_another_suffix_are_left_out) {
  const auto templates = parsed({"{{{a}}}:cart", "{{{a}}}:profile", "{{{a}}}:t", "{{{b}}}{c}"});
  const TemplateIndex index(templates);
  EXPECT_EQ(levels(index, "{7}:cart"), (Levels{{0, 3}}));
  EXPECT_EQ(levels(index, "{7}:profile"), (Levels{{1, 3}}));
  EXPECT_EQ(levels(index, "{7}:prefile"), (Levels{{3}}));
  EXPECT_EQ(levels(index, "{t"), (Levels{{3}})) << "shorter than eight bytes";
}

TEST(TemplateIndex, every_template_that_fits_is_visited_and_prefixes_get_shorter) {
  testing::Random random(5);
  for (int i = 0; i < 2'000; ++i) {
    std::vector<KeyTemplate> templates;
    for (int t = 0; t < 8; ++t) {
      if (auto found = testing::random_template(random, "ab:-")) {
        templates.push_back(std::move(*found));
      }
    }
    const TemplateIndex index(templates);
    for (int k = 0; k < 20; ++k) {
      const std::string key = testing::random_text(random, "ab:-0", 8);
      std::vector<std::uint32_t> visited;
      std::size_t prefix_bytes = key.size() + 1;
      for (const auto& level : levels(index, key)) {
        ASSERT_TRUE(std::ranges::all_of(level, [&](std::uint32_t t) {
          return templates[t].literal_prefix().size() < prefix_bytes &&
                 templates[t].literal_prefix().size() ==
                     templates[level[0]].literal_prefix().size();
        }));
        prefix_bytes = level.empty() ? prefix_bytes : templates[level[0]].literal_prefix().size();
        visited.insert(visited.end(), level.begin(), level.end());
      }
      std::ranges::sort(visited);
      ASSERT_EQ(std::ranges::adjacent_find(visited), visited.end()) << "visited twice";
      for (std::uint32_t t = 0; t < templates.size(); ++t) {
        TemplateValues values;
        const bool fits = templates[t].fit(key, values) != TemplateFit::none;
        ASSERT_TRUE(!fits || std::ranges::binary_search(visited, t))
            << templates[t].text() << " fits \"" << key << "\" but is not visited";
      }
    }
  }
}

}  // namespace
}  // namespace cuckooguard::keyspace
