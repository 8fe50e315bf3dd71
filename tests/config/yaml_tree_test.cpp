#include "config/yaml_tree.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Parse {
  std::optional<TreeNode> root;
  std::vector<std::string> errors;
};

Parse parse(std::string_view yaml) {
  Report report("f");
  Parse result;
  result.root = parse_tree(yaml, report);
  for (const Diagnostic& diagnostic : std::move(report).in_file_order()) {
    result.errors.push_back(diagnostic.text());
  }
  return result;
}

std::string only_error(std::string_view yaml) {
  const Parse result = parse(yaml);
  EXPECT_EQ(result.errors.size(), 1U) << yaml.substr(0, 100);
  return result.errors.empty() ? "" : result.errors[0];
}

TEST(YamlTree, nodes_know_their_places) {
  const Parse result = parse("# comment\na:\n  b: [ x, 'y' ]\n");
  ASSERT_TRUE(result.root);
  const Entry& a = result.root->entries.at(0);
  const Entry& b = a.value.entries.at(0);
  EXPECT_EQ(a.place, (Place{2, 1}));
  EXPECT_EQ(b.place, (Place{3, 3}));
  EXPECT_EQ(b.value.kind, TreeNode::Kind::list);
  EXPECT_EQ(b.value.items.at(1).text, "y");
  EXPECT_EQ(b.value.items.at(1).place, (Place{3, 11}));
  EXPECT_TRUE(b.value.items.at(1).quoted);
  EXPECT_FALSE(b.value.items.at(0).quoted);
}

TEST(YamlTree, an_empty_document_is_a_null_node) {
  for (const char* const yaml : {"", "# only a comment\n", "---\n", "~"}) {
    const Parse result = parse(yaml);
    ASSERT_TRUE(result.root) << yaml;
    EXPECT_EQ(result.root->kind, TreeNode::Kind::null) << yaml;
    EXPECT_TRUE(result.errors.empty()) << yaml;
  }
}

TEST(YamlTree, keys_without_values_are_null) {
  const Parse result = parse("a:\nb: ~\nc: ''\n");
  EXPECT_EQ(result.root->entries.at(0).value.kind, TreeNode::Kind::null);
  EXPECT_EQ(result.root->entries.at(1).value.kind, TreeNode::Kind::null);
  EXPECT_EQ(result.root->entries.at(2).value.kind, TreeNode::Kind::scalar);
}

TEST(YamlTree, duplicate_keys_are_reported_and_the_first_counts) {
  const Parse result = parse("a: 1\nb: 2\na: 3\n");
  EXPECT_THAT(result.errors,
              ElementsAre("f:3:1: a is defined twice; the first definition is in line 1"));
  EXPECT_EQ(result.root->entries.size(), 2U);
  EXPECT_EQ(result.root->entries[0].value.text, "1");
}

TEST(YamlTree, anchors_aliases_and_tags_are_refused) {
  EXPECT_THAT(only_error("a: &x 1\n"), HasSubstr("anchors (&) are not supported"));
  EXPECT_THAT(only_error("a: !!binary aGk=\n"), HasSubstr("tags (!) are not supported"));
  EXPECT_THAT(only_error("a: !secret x\n"), HasSubstr("tags (!) are not supported"));
  EXPECT_THAT(only_error("a: *x\n"), HasSubstr("f:1:4: "));
}

TEST(YamlTree, an_alias_never_expands) {
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n";
  for (char name = 'b'; name <= 'z'; ++name) {
    const std::string before(1, static_cast<char>(name - 1));
    bomb += std::string(1, name) + ": &" + name + " [";
    for (int i = 0; i < 9; ++i) {
      bomb += (i == 0 ? "*" : ",*") + before;
    }
    bomb += "]\n";
  }
  EXPECT_THAT(only_error(bomb), HasSubstr("f:1:4: "));
  EXPECT_FALSE(parse("a: &a [ *a ]\n").root);
}

TEST(YamlTree, keys_must_be_names) {
  EXPECT_THAT(only_error("[a]: b\n"), HasSubstr("a key must be a name"));
  EXPECT_THAT(only_error("{a: b}: c\n"), HasSubstr("a key must be a name"));
  EXPECT_THAT(only_error(": c\n"), HasSubstr("a key is missing before ':'"));
}

TEST(YamlTree, what_is_no_yaml_is_a_diagnostic_with_a_place) {
  EXPECT_THAT(only_error("a: [b\n"), HasSubstr("f:1:1: the file ends inside a value"));
  EXPECT_THAT(only_error("a: \"b\nc: d\n\n"), HasSubstr("f:2:1: the file ends inside a value"));
  EXPECT_THAT(only_error("a: 'b\n"), HasSubstr("f:1:1: the file ends inside a value"));
  EXPECT_THAT(only_error("a: b\n\tc: d\n"), HasSubstr("f:2:"));
  EXPECT_THAT(only_error("a: \"\\q\"\n"), HasSubstr("f:1:"));
  EXPECT_THAT(only_error("%YAML 3.0\n---\na: b\n"), HasSubstr("f:1:"));
}

TEST(YamlTree, a_tab_that_indents_is_named_where_it_is) {
  const std::string reason = "a tab in the indentation; YAML allows only spaces";
  EXPECT_EQ(only_error("a:\n\tb: 1\n"), "f:2:1: " + reason);
  EXPECT_EQ(only_error("a:\n  b: 1\n \tc: 2\n"), "f:3:2: " + reason);
  EXPECT_THAT(only_error("a: [1\nb:\tc: d\n"), testing::Not(HasSubstr("tab")))
      << "it does not indent";
}

TEST(YamlTree, a_second_document_is_refused) {
  EXPECT_THAT(only_error("a: b\n---\nc: d\n"), HasSubstr("f:3:1: a second YAML document"));
}

TEST(YamlTree, what_is_no_text_is_refused_with_its_place) {
  EXPECT_EQ(only_error(std::string_view("a: b\nc: \0\n", 10)), "f:2:4: is not UTF-8 text");
  for (const char* const bytes : {"\x80",
                                  "\xc3(",
                                  "\xc0\xaf",
                                  "\xed\xa0\x80",
                                  "\xe2\x82",
                                  "\xf4\x90\x80\x80",
                                  "\xf8\x88\x80\x80\x80",
                                  "\xff\xfe",
                                  "\xe0\x80\xaf",
                                  "\xf0\x80\x80\xaf"}) {
    EXPECT_EQ(only_error(std::string("a: ") + bytes), "f:1:4: is not UTF-8 text");
  }
  EXPECT_TRUE(parse("a: \xc3\xa4\xe2\x82\xac\xf0\x9f\x90\xa6\n").root) << "2, 3 and 4 bytes";
}

TEST(YamlTree, size_and_depth_are_bounded) {
  EXPECT_THAT(only_error(std::string(kFileBytesMax + 1, ' ')), HasSubstr("f: is larger than"));
  EXPECT_THAT(only_error(std::string(kNestingMax + 1, '[') + std::string(kNestingMax + 1, ']')),
              HasSubstr("is nested deeper than 16 levels"));
  EXPECT_TRUE(parse(std::string(kNestingMax, '[') + std::string(kNestingMax, ']')).root);
  std::string many = "a: [";
  for (std::size_t i = 0; i < kNodesMax; ++i) {
    many += "x,";
  }
  EXPECT_THAT(only_error(many + "]"), HasSubstr("has more than 200000 values"));
}

TEST(YamlTree, hostile_repetitions_end_quickly) {
  for (const std::string piece :
       {"[",   "{",   "- ",  "? ", "a: ", "{a: ", "[{", "\"",  "'",     "|\n", "&a ",
        "*a ", "!a ", "a\n", "#",  "%",   "-\n",  ": ", "\n ", "---\n", "\\",  ">"}) {
    std::string yaml;
    while (yaml.size() + piece.size() <= 100'000) {
      yaml += piece;
    }
    (void)parse(yaml);  // neither a crash nor a hang: the test's time limit is the promise
  }
}

TEST(YamlTree, names_are_short_and_plain) {
  EXPECT_TRUE(looks_like_a_name("max_lag-2"));
  EXPECT_TRUE(looks_like_a_name(std::string(64, 'x')));
  EXPECT_FALSE(looks_like_a_name(std::string(65, 'x')));
  EXPECT_FALSE(looks_like_a_name(""));
  EXPECT_FALSE(looks_like_a_name("pass word"));
  EXPECT_FALSE(looks_like_a_name("p@ss"));
}

}  // namespace
}  // namespace cuckooguard::config
