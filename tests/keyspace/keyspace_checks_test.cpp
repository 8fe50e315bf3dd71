#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "keyspace/keyspace.h"
#include "keyspace/random_keyspace.h"

namespace cuckooguard::keyspace {
namespace {

NamespaceTemplates space(const std::vector<std::string>& texts) {
  NamespaceTemplates result{"some", {}, false};
  for (const std::string& text : texts) {
    result.templates.push_back(testing::must_parse(text));
  }
  return result;
}

std::vector<KeyspaceError> errors(const std::vector<std::vector<std::string>>& namespaces) {
  std::vector<NamespaceTemplates> spaces;
  spaces.reserve(namespaces.size());
  for (const auto& texts : namespaces) {
    spaces.push_back(space(texts));
  }
  return check_namespaces(spaces);
}

TEST(KeyspaceChecks, templates_that_can_be_told_apart_are_accepted) {
  EXPECT_TRUE(
      errors({{"user:{id}", "user:{id}:profile"}, {"order:{t}:{id}", "{id}:order:{t}"}, {"us{x}"}})
          .empty());
}

TEST(KeyspaceChecks, a_namespace_needs_a_template) {
  ASSERT_EQ(errors({{}}).size(), 1U);
  EXPECT_EQ(errors({{}})[0].what, "has no key template");
}

TEST(KeyspaceChecks, templates_of_a_namespace_name_the_same_placeholders) {
  const auto found =
      errors({{"a:{x}:{y}", "b:{x}", "c:{y}:{x}:{z}", "d:{y}:{x}", "e:{y}:{_}:{x}"}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].template_index, 1U);
  EXPECT_EQ(found[0].what, R"("b:{x}" does not name {y}, as "a:{x}:{y}" does)");
  EXPECT_EQ(found[1].template_index, 2U);
  EXPECT_EQ(found[1].what, R"("c:{y}:{x}:{z}" names {z}, but "a:{x}:{y}" does not)");
}

TEST(KeyspaceChecks, templates_of_a_namespace_agree_on_types) {
  const auto found =
      errors({{"a:{x:uint64}", "b:{x}", "c:{x:uint64}", "d:{x:int64}"}, {"e:{x}", "f:{x:rest}"}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].what, R"("b:{x}" has {x}, but "a:{x:uint64}" has {x:uint64})");
  EXPECT_EQ(found[1].template_index, 3U);
}

TEST(KeyspaceChecks, equally_long_prefixes_that_share_a_key_are_refused) {
  const auto found = errors({{"user:{id}"}, {"order:{id}", "user:{name}"}});
  ASSERT_EQ(found.size(), 2U);  // the ambiguity, and other placeholders than its namespace
  EXPECT_EQ(found[0].namespace_index, 1U);
  EXPECT_EQ(found[0].template_index, 1U);
  EXPECT_NE(found[0].what.find(R"(same key as "user:{id}", for example "user:)"), std::string::npos)
      << found[0].what;
}

TEST(KeyspaceChecks, one_namespace_may_not_say_the_same_twice) {
  EXPECT_EQ(errors({{"user:{id}", "user:{id}"}}).size(), 1U);
}

TEST(KeyspaceChecks, a_longer_prefix_may_not_split_the_spellings_of_ci_text) {
  const auto found = errors({{"user:{name|ci}"}, {"user:b{x}"}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].namespace_index, 1U);
  EXPECT_NE(found[0].what.find("|ci"), std::string::npos) << found[0].what;
  EXPECT_TRUE(errors({{"user:{name|ci}"}, {"us{x}"}}).empty())
      << "a shorter prefix takes nothing away";
  EXPECT_TRUE(errors({{"user:{name|ci}"}, {"user:b{x}:y"}}).empty()) << "no key in both";
  EXPECT_TRUE(errors({{"user:{name}"}, {"user:b{x}"}}).empty()) << "one spelling only";
}

TEST(KeyspaceChecks, nor_those_of_a_value_that_a_database_spells_in_several_ways) {
  for (const std::string type : {"uuid", "numeric", "date", "bytea"}) {
    EXPECT_EQ(errors({{"day:{x:" + type + "}"}, {"day:2{x}"}}).size(), 1U) << type;
    EXPECT_EQ(errors({{"day:{x:" + type + "}"}, {"day:{x:uint64}"}}).size(), 1U) << type;
    EXPECT_TRUE(errors({{"day:{x:" + type + "}"}, {"day:2{x}:y"}}).empty()) << type;
    EXPECT_TRUE(errors({{"day:2{x:" + type + "}"}, {"day:{x}"}}).empty()) << type;
  }
}

TEST(KeyspaceChecks, errors_come_in_the_order_of_the_file) {
  const auto found = errors({{"a:{x}", "b:{y}"}, {}, {"a:{z}"}});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].namespace_index, 0U);
  EXPECT_EQ(found[1].namespace_index, 1U);
  EXPECT_EQ(found[2].namespace_index, 2U);
}

TEST(KeyspaceChecks, the_number_of_templates_is_bounded) {
  std::vector<std::vector<std::string>> namespaces(kNamespacesMax + 1);
  for (std::size_t i = 0; i < namespaces.size(); ++i) {
    namespaces[i] = {std::to_string(i) + ":{x}"};
  }
  ASSERT_EQ(errors(namespaces).size(), 1U);
  namespaces.pop_back();
  EXPECT_TRUE(errors(namespaces).empty());
}

}  // namespace
}  // namespace cuckooguard::keyspace
