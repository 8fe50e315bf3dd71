#include "config/section.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/parse.h"

namespace cuckooguard::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::array<std::string_view, 3> kKeys = {"size", "colour", "names"};
constexpr KeyList kThing{"things.*", kKeys};
constexpr KeyList kSecretThing{"things.*", kKeys, true};

class SectionOf : public ::testing::Test {
 protected:
  Section section(std::string_view yaml, const KeyList& keys = kThing) {
    entry_ = {"thing", {1, 1}, parse_tree(yaml, report_).value_or(TreeNode{})};
    return Section({report_, environment_, built_}, entry_, keys);
  }

  std::vector<std::string> errors() {
    std::vector<std::string> lines;
    for (const Diagnostic& diagnostic : std::move(report_).in_file_order()) {
      lines.push_back(diagnostic.text());
    }
    return lines;
  }

  Report report_{"f"};
  const Built built_{};
  EnvironmentLookup environment_ = testing::lookup_in({{"SIZE", "7"}, {"SECRET", "hunter2"}});
  Entry entry_;
};

TEST_F(SectionOf, values_are_read_and_the_rest_keeps_its_default) {
  std::uint64_t size = 1;
  std::string colour = "red";
  const Section thing = section("size: 5\n");
  thing.read("size", size, parse_count);
  thing.read("colour", colour, parse_text);
  EXPECT_EQ(size, 5U);
  EXPECT_EQ(colour, "red");
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(SectionOf, nothing_at_all_is_a_section_of_defaults) {
  EXPECT_EQ(section("").find("size"), nullptr);
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(SectionOf, what_cannot_be_read_keeps_its_default_and_is_reported) {
  std::uint64_t size = 1;
  section("size: big\n").read("size", size, parse_count);
  EXPECT_EQ(size, 1U);
  EXPECT_THAT(errors(),
              ElementsAre("f:1:7: size: \"big\" is invalid: write a number, optionally with k, M "
                          "or G, such as 20M"));
}

TEST_F(SectionOf, unknown_keys_are_reported_with_the_nearest) {
  section("sise: 1\nsizes: 2\nlevel: 3\nutterly: 4\n");
  EXPECT_THAT(errors(),
              ElementsAre("f:1:1: unknown key sise, did you mean \"size\"?",
                          "f:2:1: unknown key sizes, did you mean \"size\"?",
                          "f:3:1: unknown key level in things.*; it belongs in log",
                          "f:4:1: unknown key utterly; valid: size, colour, names"));
}

TEST_F(SectionOf, a_key_of_several_types_is_not_said_to_be_one_types) {
  section("max_lag: 1s\nfollow: rescan\n");
  EXPECT_THAT(errors(),
              ElementsAre("f:1:1: unknown key max_lag in things.*; it belongs in sources.*",
                          "f:2:1: unknown key follow in things.*; it belongs in sources.* of type "
                          "sqlite"));
}

TEST_F(SectionOf, scalars_and_lists_are_no_sections) {
  section("just text\n");
  EXPECT_THAT(
      errors(),
      ElementsAre(
          "f:1:1: things.* must be a mapping of keys to values; valid: size, colour, names"));
}

TEST_F(SectionOf, wrong_kinds_of_values_are_reported) {
  std::string text;
  const Section thing = section("size:\ncolour: [ a ]\n");
  thing.read("size", text, parse_text);
  thing.read("colour", text, parse_text);
  EXPECT_THAT(errors(),
              ElementsAre("f:1:1: size has no value; set one, or remove the key",
                          "f:2:9: colour must be a single value"));
}

TEST_F(SectionOf, one_value_stands_for_a_list_of_one) {
  const auto one = section("names: a\n").read_list("names");
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].text, "a");
  const auto two = section("names: [ a, 'b' ]\n").read_list("names");
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[1].text, "b");
  EXPECT_EQ(two[1].at(0), (Place{1, 14})) << "behind the quote";
  EXPECT_THAT(section("size: 1\n").read_list("names"), IsEmpty());
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(SectionOf, empty_lists_and_lists_in_lists_are_reported) {
  (void)section("names: []\n").read_list("names");
  (void)section("names: [ [ a ] ]\n").read_list("names");
  EXPECT_THAT(
      errors(),
      ElementsAre("f:1:8: names: the list is empty", "f:1:10: names must be a single value"));
}

TEST_F(SectionOf, variables_are_put_into_every_value) {
  std::uint64_t size = 0;
  const Section thing = section("size: ${SIZE}\nnames: [ '${SIZE}' ]\n");
  thing.read("size", size, parse_count);
  EXPECT_EQ(size, 7U);
  const auto names = thing.read_list("names");
  EXPECT_EQ(names.at(0).text, "7");
  EXPECT_EQ(names.at(0).at(3), names.at(0).place) << "its bytes are not in the file";
}

TEST_F(SectionOf, what_a_variable_holds_is_never_shown) {
  std::uint64_t size = 0;
  section("size: ${SECRET}\n").read("size", size, parse_count);
  EXPECT_THAT(errors(),
              ElementsAre("f:1:7: size: \"${SECRET}\" is invalid: write a number, optionally with "
                          "k, M or G, such as 20M"));
}

TEST_F(SectionOf, nothing_in_a_section_of_secrets_is_shown) {
  std::uint64_t size = 0;
  section("size: hunter2\nhunter2: 1\nsise: 2\n", kSecretThing).read("size", size, parse_count);
  EXPECT_THAT(errors(),
              ElementsAre("f:1:7: size: the value is invalid: write a number, optionally with k, M "
                          "or G, such as 20M",
                          "f:2:1: unknown key; valid: size, colour, names",
                          "f:3:1: unknown key, did you mean \"size\"?"));
}

TEST_F(SectionOf, a_value_with_an_at_sign_may_hold_a_password) {
  Address address;
  section("size: 'redis://me:hunter2@host:1'\n").read("size", address, parse_address);
  EXPECT_THAT(errors(),
              ElementsAre("f:1:7: size: the value is a URL: write host:port; set user and password "
                          "with their own keys"));
}

TEST_F(SectionOf, what_is_missing_is_reported_at_the_section) {
  EXPECT_EQ(section("size: 1\n").require("colour"), nullptr);
  EXPECT_THAT(errors(), ElementsAre("f:1:1: colour is missing"));
}

TEST_F(SectionOf, what_is_misspelled_is_not_missing_as_well) {
  const Section thing = section("color: red\n");
  EXPECT_EQ(thing.require("colour"), nullptr);
  EXPECT_FALSE(thing.is_left_out("colour"));
  EXPECT_TRUE(thing.is_left_out("size"));
  EXPECT_THAT(errors(), ElementsAre("f:1:1: unknown key color, did you mean \"colour\"?"));
}

}  // namespace
}  // namespace cuckooguard::config
