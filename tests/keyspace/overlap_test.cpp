#include "keyspace/overlap.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "keyspace/random_keyspace.h"

namespace cuckooguard::keyspace {
namespace {

using testing::must_parse;

std::optional<std::string> overlap_of(std::string_view left, std::string_view right) {
  return overlap(must_parse(left), must_parse(right));
}

std::vector<std::string> all_keys(std::string_view alphabet, std::size_t bytes_max) {
  std::vector<std::string> keys = {""};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t c = 0; keys[i].size() < bytes_max && c < alphabet.size(); ++c) {
      keys.push_back(keys[i] + alphabet[c]);
    }
  }
  return keys;  // shorter ones first
}

TEST(Overlap, placeholders_in_the_same_place_overlap) {
  EXPECT_EQ(overlap_of("user:{id}", "user:{name}")->size(), 6U);
  EXPECT_TRUE(overlap_of("{a}:{b}", "{c}:{d}"));
  EXPECT_TRUE(overlap_of("{a}-x", "{a}x"));
}

TEST(Overlap, colons_keep_templates_apart) {
  EXPECT_EQ(overlap_of("user:{id}", "user:{id}:profile"), std::nullopt);
  EXPECT_EQ(overlap_of("{a}:{b}", "{a}:{b}:{c}"), std::nullopt);
  EXPECT_TRUE(overlap_of("{a}:{b:rest}", "{a}:{b}:{c}"));
}

TEST(Overlap, literals_keep_templates_apart) {
  EXPECT_EQ(overlap_of("user:{id}", "order:{id}"), std::nullopt);
  EXPECT_EQ(overlap_of("{t}:user:{id}", "{t}:order:{id}"), std::nullopt);
  EXPECT_EQ(overlap_of("{a}x", "{a}y"), std::nullopt);
}

TEST(Overlap, integer_types_keep_templates_apart) {
  EXPECT_EQ(overlap_of("user:{id:uint64}", "user:{name}-x"), std::nullopt);
  EXPECT_EQ(overlap_of("{a:uint64}", "{b:int64}")->size(), 1U);
  EXPECT_EQ(overlap_of("{a:uint64}x", "{b}0y"), std::nullopt);
  EXPECT_EQ(overlap_of("{a:int64}", "{b}-{c}"), std::nullopt);
  EXPECT_TRUE(overlap_of("{a:int64}", "{b}1"));
}

TEST(Overlap, integer_ranges_are_exact) {
  const std::string nines(19, '9');
  const std::string zeros(19, '0');
  EXPECT_EQ(overlap_of("{a:uint64}", "{b}" + zeros), "1" + zeros);
  EXPECT_EQ(overlap_of("{a:uint64}", "{b}" + nines), std::nullopt) << "2^64 is between";
  EXPECT_EQ(overlap_of("{a:int64}", "{b}" + zeros), std::nullopt);
  EXPECT_TRUE(overlap_of("{a:int64}", "{b}" + nines.substr(1)));
}

TEST(Overlap, first_occurrence_rule_is_respected) {
  // As a regular expression {a}b{c:uint64} would take "xbb5" with a=xb; the parse ends a at the
  // first b.
  EXPECT_EQ(overlap_of("{a}b{c:uint64}", "{d}bb5"), std::nullopt);
  EXPECT_EQ(overlap_of("{a}bb{c:uint64}", "{d}bb5")->size(), 4U);
}

TEST(Overlap, prefixes_may_differ_in_length) {
  EXPECT_EQ(overlap_of("user:{a}", "user:b{c}")->substr(0, 6), "user:b");
  EXPECT_EQ(overlap_of("user:{a}x", "user:b{c}y"), std::nullopt);
  EXPECT_TRUE(overlap_of("{a:rest}", "user:{b}"));
}

TEST(Overlap, agrees_with_brute_force_over_short_keys) {
  constexpr std::string_view kAlphabet = "ab:-0";
  constexpr std::size_t kBytesMax = 5;
  const std::vector<std::string> keys = all_keys(kAlphabet, kBytesMax);
  testing::Random random(20240602);
  int overlapping = 0;
  int apart = 0;
  while (overlapping + apart < 250) {
    const auto left = testing::random_template(random, "a:-0");
    const auto right = testing::random_template(random, "a:-0");
    if (!left || !right) {
      continue;
    }
    const auto found = overlap(*left, *right);
    const auto both_fit = [&](const std::string& key) {
      return testing::reference_could_make(*left, key) &&
             testing::reference_could_make(*right, key);
    };
    const auto shortest = std::ranges::find_if(keys, both_fit);
    const std::string pair = left->text() + " and " + right->text();
    if (found) {
      ASSERT_TRUE(both_fit(*found)) << pair << " do not both match \"" << *found << '"';
      ASSERT_TRUE(shortest == keys.end() || shortest->size() == found->size()) << pair;
    } else {
      ASSERT_EQ(shortest, keys.end()) << pair << " both match \"" << *shortest << '"';
    }
    ++(found ? overlapping : apart);
  }
  EXPECT_GT(overlapping, 25);
  EXPECT_GT(apart, 25);
}

TEST(Overlap, wildcards_take_whatever_an_application_puts_there) {
  // v-w-7 may be row 7 of the first under v-w.
  EXPECT_TRUE(overlap_of("{_}-{id:uint64}", "{b}-w-{c}"));
  EXPECT_EQ(overlap_of("{a}-{id:uint64}", "{b}-w-{c}"), std::nullopt)
      << "a value that is known ends at the first";
}

TEST(Overlap, templates_that_take_too_long_to_tell_apart_count_as_overlapping) {
  const KeyTemplate left = must_parse("{a}:xxxxxxxxxxxxxxxxy");
  const KeyTemplate right = must_parse("{a}:xxxxxxxxxxxxxxxxz");
  EXPECT_EQ(overlap(left, right), std::nullopt);
  EXPECT_EQ(overlap(left, right, 10), "");
}

}  // namespace
}  // namespace cuckooguard::keyspace
