// Rows whose keys are not rendered: their verdict must be the one that rendering and matching the keys gives.
// A failed run is repeated by CUCKOOGUARD_SEED.
#include "keyspace/integers_come_back.h"

#include <cstdlib>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "keyspace/keyspace.h"
#include "keyspace/random_keyspace.h"

namespace cuckooguard::keyspace {
namespace {

using testing::below;
using testing::must_parse;
using testing::Random;

std::vector<KeyTemplate> templates(const std::vector<std::string>& texts) {
  std::vector<KeyTemplate> result;
  for (const std::string& text : texts) {
    result.push_back(must_parse(text));
  }
  return result;
}

// Of the first `own` templates, in a keyspace of all.
bool come_back(std::size_t own, const std::vector<std::string>& texts) {
  const std::vector<KeyTemplate> all = templates(texts);
  return integers_come_back(std::span(all).first(own), all);
}

TEST(IntegersComeBack, where_each_template_is_one_integer) {
  EXPECT_TRUE(come_back(1, {"user:{id:uint64}"}));
  EXPECT_TRUE(come_back(3, {"user:{id:int64}", "{id:int64}", "u{id:int64}-1:x"}));
  EXPECT_FALSE(come_back(1, {"user:{id}"}));
  EXPECT_FALSE(come_back(2, {"user:{id:uint64}", "{_}:{id:uint64}"}));
  EXPECT_FALSE(come_back(1, {"{id:uint64}:{_:rest}"}));
  EXPECT_FALSE(come_back(1, {"{a:uint64}:{b:uint64}"}));
}

TEST(IntegersComeBack, unless_a_longer_prefix_may_take_keys_away) {
  EXPECT_TRUE(come_back(1, {"user:{id:uint64}", "user:x{name}", "use{r}", "order:1{id}"}));
  EXPECT_FALSE(come_back(1, {"user:{id:uint64}", "user:1{name}"}));
  EXPECT_FALSE(come_back(1, {"user:{id:int64}", "user:-{name}"}));
  EXPECT_FALSE(come_back(2, {"user:{id:uint64}", "user:7{id:uint64}:cart"}));
  EXPECT_TRUE(come_back(1, {"user:7{id:uint64}", "user:{name}"}));
}

Random random_of_this_run() {
  const char* const wanted = std::getenv("CUCKOOGUARD_SEED");  // NOLINT(concurrency-mt-unsafe)
  const auto seed = wanted != nullptr ? std::stoull(wanted) : std::random_device{}();
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  std::printf("CUCKOOGUARD_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return Random(seed);
}

constexpr std::string_view kLiterals = "u019-:";

// Mostly one integer between literals that run into each other.
std::string random_text_of_template(Random& random, std::string_view type) {
  std::string text = testing::random_text(random, kLiterals, 2);
  text += below(random, 10) == 0 ? "{_}:" : "";
  text += "{a:" + std::string(type) + "}" + testing::random_text(random, kLiterals, 2);
  return text + (below(random, 10) == 0 ? ":{_}" : "");
}

// One to six templates in one to three namespaces, of which some are of something else.
std::vector<NamespaceTemplates> random_integer_namespaces(Random& random) {
  std::vector<NamespaceTemplates> spaces;
  const std::size_t count = 1 + below(random, 3);
  for (std::size_t n = 0; n < count; ++n) {
    NamespaceTemplates space{"ns" + std::to_string(n), {}, below(random, 2) == 0};
    const std::string_view type = below(random, 2) == 0 ? "int64" : "uint64";
    const bool other = n > 0 && below(random, 3) == 0;
    const std::size_t templates_count = 1 + below(random, 2);
    for (std::size_t t = 0; t < templates_count; ++t) {
      const std::string text = other ? testing::random_template_text(random, kLiterals)
                                     : random_text_of_template(random, type);
      if (auto parsed = KeyTemplate::parse(text)) {
        space.templates.push_back(*std::move(parsed));
      }
    }
    spaces.push_back(std::move(space));
  }
  return spaces;
}

std::string random_value(Random& random) {
  static constexpr std::string_view kEdges[] = {"0",
                                                "-0",
                                                "00",
                                                "007",
                                                "-007",
                                                "+1",
                                                "-1",
                                                "--1",
                                                "-",
                                                "",
                                                " ",
                                                " 7",
                                                "7 ",
                                                "7:1",
                                                "9223372036854775807",
                                                "9223372036854775808",
                                                "-9223372036854775808",
                                                "-9223372036854775809",
                                                "18446744073709551615",
                                                "18446744073709551616",
                                                "-18446744073709551615",
                                                "99999999999999999999",
                                                "100000000000000000000"};
  switch (below(random, 4)) {
    case 0:
      return std::string(kEdges[below(random, std::size(kEdges))]);
    case 1:
      return testing::random_text(random, "0019-: u+", 4);
    case 2:
      return std::to_string(static_cast<std::int64_t>(random()) >> below(random, 64));
    default:
      return std::to_string(random() >> below(random, 64));
  }
}

struct Verdict {
  std::optional<RowError::Reason> refusal;
  std::size_t template_index = 0;  // if refused
  std::string identity;
  std::optional<std::uint64_t> number;

  bool operator==(const Verdict&) const = default;
};

Verdict verdict(const Keyspace& keyspace, std::uint32_t ns, std::string_view value) {
  IdentityBuffer scratch;
  const std::optional<std::string_view> row[] = {value};
  const auto result = keyspace.identity_of_row(ns, row, scratch);
  if (!result) {
    return {.refusal = result.error().reason, .template_index = result.error().template_index};
  }
  return {.identity = std::string(result->value().identity), .number = result->value().number};
}

// The same by way of the row's keys: each must be matched as this row's.
Verdict verdict_of_keys(const Keyspace& keyspace, std::uint32_t ns, std::string_view value) {
  using Reason = RowError::Reason;
  IdentityBuffer scratch;
  Verdict result{.identity = std::string(value)};
  for (std::size_t t = 0; t < keyspace.templates(ns).size(); ++t) {
    const KeyTemplate& key_template = keyspace.templates(ns)[t];
    const std::vector<std::string_view> values(key_template.placeholders().size(), value);
    std::string key;
    key_template.render(values, key);
    const Lookup found = keyspace.match(key, scratch);
    if (found.kind != Lookup::Kind::guarded) {
      return {.refusal = Reason::does_not_parse_back, .template_index = t};
    }
    if (found.ns != ns) {
      return {.refusal = Reason::other_namespace, .template_index = t};
    }
    if (found.identity != value) {
      return {.refusal = Reason::other_identity, .template_index = t};
    }
    result.number = found.number;
  }
  return result;
}

struct Count {
  std::uint64_t rows = 0;
  std::uint64_t rows_without_keys = 0;
  std::uint64_t refused_else = 0;  // integers, of namespaces whose integers need not come back
};

void compare_rows(Random& random,
                  const Keyspace& keyspace,
                  const std::vector<NamespaceTemplates>& spaces,
                  Count& count) {
  constexpr int kRows = 250;
  for (std::uint32_t ns = 0; ns < keyspace.size(); ++ns) {
    for (int i = 0; keyspace.identity_is_integer(ns) && i < kRows; ++i) {
      const std::string value = random_value(random);
      const Verdict expected = verdict_of_keys(keyspace, ns, value);
      ASSERT_EQ(verdict(keyspace, ns, value), expected)
          << testing::text_of(spaces) << "row \"" << value << "\" of ns" << ns << ", by its keys "
          << (expected.refusal ? "refused" : "taken");
      ++count.rows;
      if (keyspace.integers_come_back(ns)) {
        count.rows_without_keys += expected.refusal ? 0 : 1;
      } else {
        count.refused_else += expected.refusal && canonical_int64(value) ? 1 : 0;
      }
    }
  }
}

TEST(IntegersComeBack, rows_get_the_verdict_that_their_keys_give) {
  Random random = random_of_this_run();
  Count count;
  while (count.rows < 2'000'000 && !::testing::Test::HasFatalFailure()) {
    const auto spaces = random_integer_namespaces(random);
    if (const auto keyspace = Keyspace::build(spaces)) {
      compare_rows(random, *keyspace, spaces, count);
    }
  }
  if (!::testing::Test::HasFatalFailure()) {
    EXPECT_GT(count.rows_without_keys, 200'000U);
    EXPECT_GT(count.refused_else, 10'000U) << "hardly ever is a key taken away: this shows nothing";
  }
}

}  // namespace
}  // namespace cuckooguard::keyspace
