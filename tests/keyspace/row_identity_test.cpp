// Keyspace::identity_of_row: what promise 1 rests on. A row that is accepted must be found by each of its keys.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "keyspace/keyspace.h"
#include "keyspace/random_keyspace.h"

namespace cuckooguard::keyspace {
namespace {

using Reason = RowError::Reason;
using Row = std::vector<std::optional<std::string_view>>;
using testing::must_build;
using testing::must_parse;

NamespaceTemplates space(std::string name, const std::vector<std::string>& texts) {
  NamespaceTemplates result{std::move(name), {}, false};
  for (const std::string& text : texts) {
    result.templates.push_back(must_parse(text));
  }
  return result;
}

RowError error_of(const Keyspace& keyspace, const Row& row) {
  IdentityBuffer scratch;
  auto result = keyspace.identity_of_row(0, row, scratch);
  EXPECT_FALSE(result);
  return result ? RowError{} : result.error();
}

TEST(RowIdentity, is_the_identity_of_the_rows_keys) {
  const Keyspace keyspace =
      must_build({space("orders", {"order:{t}:{id:uint64}", "{id:uint64}/{t}"})});
  IdentityBuffer scratch;
  IdentityBuffer other;
  const auto row = keyspace.identity_of_row(0, Row{"acme", "7"}, scratch);
  ASSERT_TRUE(row && *row);
  EXPECT_EQ((*row)->identity, keyspace.match("order:acme:7", other).identity);
  EXPECT_EQ((*row)->identity, keyspace.match("7/acme", other).identity);
}

TEST(RowIdentity, integer_rows_carry_their_number) {
  const Keyspace keyspace = must_build({space("users", {"user:{id:int64}"})});
  IdentityBuffer scratch;
  EXPECT_EQ((*keyspace.identity_of_row(0, Row{"41"}, scratch))->number, 41U);
  EXPECT_EQ((*keyspace.identity_of_row(0, Row{"-41"}, scratch))->number, std::nullopt);
}

TEST(RowIdentity, a_null_value_means_no_key) {
  const Keyspace keyspace = must_build({space("orders", {"order:{t}:{id}"})});
  IdentityBuffer scratch;
  const auto row = keyspace.identity_of_row(0, Row{"acme", std::nullopt}, scratch);
  ASSERT_TRUE(row);
  EXPECT_EQ(*row, std::nullopt);
}

TEST(RowIdentity, rows_whose_key_does_not_parse_back_are_named) {
  const Keyspace keyspace = must_build({space("orders", {"order:{t}:{id:uint64}"})});
  EXPECT_EQ(error_of(keyspace, {"a:b", "7"}).reason, Reason::does_not_parse_back);
  EXPECT_EQ(error_of(keyspace, {"", "7"}).reason, Reason::does_not_parse_back);
  EXPECT_EQ(error_of(keyspace, {"a", "007"}).reason, Reason::does_not_parse_back);
  EXPECT_EQ(error_of(keyspace, {std::string(kKeyBytesMax, 'a'), "7"}).reason,
            Reason::does_not_parse_back);
  EXPECT_EQ(error_of(keyspace, {"a\n:", "7"}).what,
            R"(row t="a\x0a:", id="7" has no key by template "order:{t}:{id:uint64}": )"
            "a value is empty, has a ':', or has the literal that should end it");
}

TEST(RowIdentity, rows_whose_key_carries_other_values_are_named) {
  const Keyspace keyspace = must_build({space("pairs", {"{a}-{b}"})});
  EXPECT_EQ(error_of(keyspace, {"x-y", "z"}).reason, Reason::other_identity);
  IdentityBuffer scratch;
  EXPECT_TRUE(keyspace.identity_of_row(0, Row{"x", "y-z"}, scratch));
}

TEST(RowIdentity, every_template_is_checked) {
  const Keyspace rest_first = must_build({space("paths", {"a:{x:rest}", "b:{x}"})});
  const RowError error = error_of(rest_first, {"p:q"});
  EXPECT_EQ(error.reason, Reason::does_not_parse_back);
  EXPECT_EQ(error.template_index, 1U);
}

TEST(RowIdentity, rows_whose_key_belongs_to_another_namespace_are_named) {
  const Keyspace keyspace =
      must_build({space("users", {"user:{id}"}), space("vip", {"user:vip{id}"})});
  const RowError error = error_of(keyspace, {"vip7"});
  EXPECT_EQ(error.reason, Reason::other_namespace);
  EXPECT_NE(error.what.find(R"("vip")"), std::string::npos) << error.what;
}

TEST(RowIdentity, ci_rows_that_could_equal_other_text_are_named) {
  const Keyspace keyspace = must_build({space("users", {"user:{name|ci}"})});
  EXPECT_EQ(error_of(keyspace,
                     {"B\xc3\xb6"
                      "b"})
                .reason,
            Reason::not_printable);
  EXPECT_EQ(error_of(keyspace, {"a\tb"}).reason, Reason::not_printable);
  EXPECT_EQ(error_of(keyspace, {"  "}).reason, Reason::blank);
  EXPECT_EQ(error_of(keyspace, {""}).reason, Reason::blank);
}

TEST(RowIdentity, rows_that_a_wildcard_could_swallow_are_named) {
  const Keyspace keyspace = must_build({space("users", {"{_}-{id}"})});
  EXPECT_EQ(error_of(keyspace, {"a-b"}).reason, Reason::does_not_parse_back)
      << "the key v-a-b may be row a-b under v, or row b under v-a";
}

TEST(RowIdentity, calling_with_the_wrong_number_of_values_throws) {
  const Keyspace keyspace = must_build({space("users", {"user:{id}"})});
  IdentityBuffer scratch;
  EXPECT_THROW((void)keyspace.identity_of_row(0, Row{}, scratch), std::invalid_argument);
  EXPECT_THROW((void)keyspace.identity_of_row(1, Row{"1"}, scratch), std::out_of_range);
}

// The key that the application makes of a row, by plain replacement.
std::string key_of(const KeyTemplate& key_template,
                   const std::map<std::string, std::string>& row,
                   const std::string& wildcard) {
  std::string key(key_template.literal_prefix());
  for (const Placeholder& placeholder : key_template.placeholders()) {
    key += placeholder.wildcard ? wildcard : row.at(placeholder.name);
    key += placeholder.literal_after;
  }
  return key;
}

// Another text that the database takes for the same under |ci.
std::string respelled(testing::Random& random, std::string text) {
  for (char& c : text) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    c = is_letter && testing::below(random, 2) == 0 ? static_cast<char>(c ^ 0x20) : c;
  }
  while (!text.empty() && text.back() == ' ' && testing::below(random, 2) == 0) {
    text.pop_back();
  }
  return text + std::string(testing::below(random, 3), ' ');
}

std::map<std::string, std::string> respelled(testing::Random& random,
                                             const KeyTemplate& key_template,
                                             std::map<std::string, std::string> row) {
  for (const Placeholder& placeholder : key_template.placeholders()) {
    if (placeholder.type == ValueType::text_ci) {
      row[placeholder.name] = respelled(random, row[placeholder.name]);
    }
  }
  return row;
}

struct Trial {
  std::vector<NamespaceTemplates> namespaces;
  std::uint32_t ns = 0;
  std::map<std::string, std::string> row;
  std::vector<std::string> values;  // of the row, in identity order

  Row values_view() const { return {values.begin(), values.end()}; }
};

Trial random_trial(testing::Random& random,
                   const Keyspace& keyspace,
                   std::vector<NamespaceTemplates> namespaces) {
  Trial trial{.namespaces = std::move(namespaces)};
  trial.ns = static_cast<std::uint32_t>(testing::below(random, keyspace.size()));
  for (const std::string& column : keyspace.identity_columns(trial.ns)) {
    trial.values.push_back(testing::random_text(random, "abBA:-01 \x80", 4));
    trial.row[column] = trial.values.back();
  }
  return trial;
}

TEST(RowIdentity, accepted_rows_are_found_by_each_of_their_keys_and_in_any_spelling) {
  testing::Random random(4711);
  int accepted = 0;
  for (int i = 0; i < 1'000; ++i) {
    const auto namespaces = testing::random_namespaces(random, "abB:-");
    const Keyspace keyspace = must_build(namespaces);
    IdentityBuffer scratch;
    IdentityBuffer other;
    for (int k = 0; k < 30; ++k) {
      const Trial trial = random_trial(random, keyspace, namespaces);
      const auto result = keyspace.identity_of_row(trial.ns, trial.values_view(), scratch);
      if (!result) {
        continue;
      }
      ++accepted;
      for (const KeyTemplate& key_template : namespaces[trial.ns].templates) {
        const std::string key =
            key_of(key_template, respelled(random, key_template, trial.row), "\x01");
        const Lookup found = keyspace.match(key, other);
        const bool has_wildcard = key_template.text().find("{_") != std::string::npos;
        if (found.kind == Lookup::Kind::unguarded && has_wildcard &&
            key != key_of(key_template, trial.row, "\x01")) {
          continue;  // another spelling may hold the literal that ends a wildcard: it passes
        }
        ASSERT_EQ(found.kind, Lookup::Kind::guarded)
            << testing::text_of(namespaces) << " on \"" << key << '"';
        ASSERT_EQ(found.ns, trial.ns) << testing::text_of(namespaces) << " on \"" << key << '"';
        ASSERT_EQ(found.identity, (*result)->identity)
            << testing::text_of(namespaces) << " on \"" << key << '"';
      }
    }
  }
  EXPECT_GT(accepted, 1'000) << "random rows are hardly ever accepted: the test shows nothing";
}

TEST(RowIdentity, refused_rows_have_a_key_that_does_not_come_back) {
  testing::Random random(4712);
  int refused = 0;
  for (int i = 0; i < 700; ++i) {
    const auto namespaces = testing::random_namespaces(random, "ab:-");
    const Keyspace keyspace = must_build(namespaces);
    IdentityBuffer scratch;
    for (int k = 0; k < 20; ++k) {
      const Trial trial = random_trial(random, keyspace, namespaces);
      const auto result = keyspace.identity_of_row(trial.ns, trial.values_view(), scratch);
      if (result || result.error().reason == Reason::not_printable ||
          result.error().reason == Reason::blank) {
        continue;
      }
      ++refused;
      auto expected = trial.row;
      for (const Placeholder& placeholder : namespaces[trial.ns].templates[0].placeholders()) {
        if (placeholder.type == ValueType::text_ci) {
          expected[placeholder.name] = testing::folded(expected[placeholder.name]);
        }
      }
      const auto comes_back = [&](const KeyTemplate& key_template) {
        const auto found =
            testing::reference_match(namespaces, key_of(key_template, trial.row, "\x01"));
        return found.kind == Lookup::Kind::guarded && found.ns == trial.ns &&
               found.values == expected;
      };
      ASSERT_FALSE(std::ranges::all_of(namespaces[trial.ns].templates, comes_back))
          << testing::text_of(namespaces) << " refused: " << result.error().what;
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(RowIdentity, a_wildcards_value_never_turns_an_accepted_row_into_another) {
  testing::Random random(4713);
  int guarded = 0;
  for (int i = 0; i < 30'000; ++i) {
    auto key_template = testing::random_template(random, "ab:-");
    if (!key_template || key_template->text().find("{_") == std::string::npos) {
      continue;
    }
    const std::vector<NamespaceTemplates> namespaces = {{"only", {*key_template}, false}};
    const Keyspace keyspace = must_build(namespaces);
    IdentityBuffer scratch;
    IdentityBuffer other;
    const Trial trial = random_trial(random, keyspace, namespaces);
    const auto result = keyspace.identity_of_row(0, trial.values_view(), scratch);
    for (int k = 0; result && k < 20; ++k) {
      const std::string key =
          key_of(*key_template, trial.row, testing::random_text(random, "ab-0", 4));
      const Lookup found = keyspace.match(key, other);
      ASSERT_TRUE(found.kind == Lookup::Kind::unguarded || found.identity == (*result)->identity)
          << key_template->text() << " on \"" << key << '"';
      guarded += found.kind == Lookup::Kind::guarded ? 1 : 0;
    }
  }
  EXPECT_GT(guarded, 1'000);
}

}  // namespace
}  // namespace cuckooguard::keyspace
