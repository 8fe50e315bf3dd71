#include "keyspace/identity_pattern.h"

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace cuckooguard::keyspace {
namespace {

constexpr std::array kCi = {ValueType::text_ci};

bool matches(std::string_view value, std::string_view identity) {
  const auto pattern = IdentityPattern::of(std::array{value}, kCi);
  EXPECT_TRUE(pattern) << value;
  return pattern && pattern->matches(identity);
}

TEST(IdentityPattern, what_is_no_ascii_is_a_run_of_characters_and_also_none) {
  EXPECT_TRUE(matches("\u2487", "(20)"));
  EXPECT_TRUE(matches("M\u00fcLLER", "muller"));
  EXPECT_TRUE(matches("M\u00fcller", "mueller"));
  EXPECT_TRUE(matches("a\u00adb", "ab"));
  EXPECT_TRUE(matches("a\tb", "ab"));
  EXPECT_FALSE(matches("M\u00fcller", "miller2"));
  EXPECT_FALSE(matches("M\u00fcller", "xueller"));
}

// Nothing is made of one letter that is longer than this: who adds such a row opens no more than
// short texts.
TEST(IdentityPattern, a_run_is_no_longer_than_a_character_can_be) {
  EXPECT_TRUE(matches("\u00e9", "eeee"));
  EXPECT_FALSE(matches("\u00e9", "eeeee"));
  EXPECT_FALSE(matches("Zo\u00eb", "z"));
  EXPECT_FALSE(matches("Zo\u00eb", "zorro 2000"));
}

TEST(IdentityPattern, spaces_that_may_be_at_the_end_do_not_count) {
  EXPECT_TRUE(matches("ab  \u00ad ", "ab"));
  EXPECT_TRUE(matches("ab \u00e9", "ab"));
  EXPECT_TRUE(matches("ab \u00e9", "ab e"));
  EXPECT_FALSE(matches("a b\u00e9", "abe"));
}

TEST(IdentityPattern, an_accent_may_change_the_letter_before_it) {
  EXPECT_TRUE(matches("xu\u0308z", "xyz"));
  EXPECT_FALSE(matches("xu\u0308z", "vyz"));
}

TEST(IdentityPattern, letters_that_no_ascii_is_equal_to_have_none) {
  for (const std::string_view value : {"\u0438", "a\u65e5b", "\ud55c", "\U0001f600"}) {
    EXPECT_FALSE(IdentityPattern::of(std::array{value}, kCi)) << value;
  }
}

TEST(IdentityPattern, bytes_that_are_no_utf8_may_be_anything) {
  EXPECT_TRUE(matches("a\xe6\x97", "ab"));
  EXPECT_TRUE(matches("\xff", "anything"));
}

TEST(IdentityPattern, of_several_values_each_must_match) {
  constexpr std::array kTypes = {ValueType::text_ci, ValueType::text};
  const auto pattern =
      IdentityPattern::of(std::array<std::string_view, 2>{"\u00e9", "\x80X"}, kTypes);
  ASSERT_TRUE(pattern);
  const auto identity = [](std::string_view first, std::string_view second) {
    return std::string{static_cast<char>(first.size()), 0, 0, 0} + std::string(first) +
           std::string(second);
  };
  EXPECT_TRUE(pattern->matches(identity("e", "\x80X")));
  EXPECT_FALSE(pattern->matches(identity("e", "\x80x")));
  EXPECT_FALSE(pattern->matches(identity("eeeeee", "\x80X")));
  EXPECT_FALSE(pattern->matches("e"));
  EXPECT_FALSE(pattern->matches(""));
}

TEST(IdentityPattern, long_values_are_compared_by_both_ends) {
  const std::string many(100, 'x');
  EXPECT_TRUE(matches("a" + many + "\u00e9" + many + "b", "a" + many + "e" + many + "b"));
  EXPECT_FALSE(matches("a" + many + "\u00e9" + many + "b", "a" + many + "e" + many + "c"));
  EXPECT_FALSE(matches("a" + many + "\u00e9" + many + "b", "a" + many + "b"));
}

TEST(IdentityPattern, of_identities_matches_each_and_no_other) {
  const std::array<std::string, 2> identities = {"ab", std::string(100, 'x')};
  const IdentityPattern pattern = IdentityPattern::of_identities(identities);
  EXPECT_TRUE(pattern.matches("ab"));
  EXPECT_TRUE(pattern.matches(identities[1]));
  for (const std::string& other : {std::string("a"), std::string("AB"), identities[1] + "x"}) {
    EXPECT_FALSE(pattern.matches(other)) << other;
  }
  EXPECT_FALSE(IdentityPattern().matches(""));
}

TEST(IdentityPattern, comes_back_from_its_bytes) {
  const std::array<std::string, 2> identities = {"a", "b"};
  for (const IdentityPattern& pattern :
       {IdentityPattern::of(std::array<std::string_view, 1>{"M\u00fcller"}, kCi).value(),
        IdentityPattern::of_identities(identities)}) {
    std::string bytes;
    pattern.write(bytes);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      text::LittleEndianCursor part(std::string_view(bytes).substr(0, cut));
      EXPECT_FALSE(IdentityPattern::read(part)) << cut;
    }
    bytes += "rest";
    text::LittleEndianCursor rest(bytes);
    EXPECT_EQ(IdentityPattern::read(rest), pattern);
    EXPECT_EQ(rest.rest(), "rest");
  }
}

}  // namespace
}  // namespace cuckooguard::keyspace
