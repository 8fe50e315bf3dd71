// Rows at random: each is found by each of its keys, in any spelling, whichever namespace claims
// it.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "keyspace/asked_rows.h"
#include "keyspace/keyspace.h"

namespace cuckooguard::keyspace {
namespace {

using testing::may_be;
using testing::must_build;
using testing::Row;
using testing::space;

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

// Another text that the database takes for the same under |ci: what is no ASCII may be a few
// characters, or none.
std::string respelled(testing::Random& random, const std::string& from) {
  std::string text;
  for (const char c : from) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c == '\x80') {
      text += testing::random_text(random, "ab01- :", 3);
    } else {
      text += is_letter && testing::below(random, 2) == 0 ? static_cast<char>(c ^ 0x20) : c;
    }
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

// What an application may have for a {_}: no ':'.
std::string wildcard(testing::Random& random) {
  const std::string text = testing::random_text(random, "abB-01", 3);
  return text.empty() ? "\x01" : text;
}

struct Trial {
  std::vector<NamespaceTemplates> namespaces{};
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

struct Judged {
  int all = 0;
  int by_another = 0;  // claimed by another namespace
};

// Looks for the row by each of its keys, in some spelling.
void look_for(testing::Random& random,
              const Keyspace& keyspace,
              const Trial& trial,
              Judged& judged) {
  IdentityBuffer scratch;
  for (const KeyTemplate& key_template : trial.namespaces[trial.ns].templates) {
    const std::string key =
        key_of(key_template, respelled(random, key_template, trial.row), wildcard(random));
    EXPECT_TRUE(may_be(keyspace, trial.ns, trial.values_view(), key))
        << testing::text_of(trial.namespaces) << " row of " << trial.namespaces[trial.ns].name
        << " on \"" << key << '"';
    const Lookup found = keyspace.match(key, scratch);
    judged.all += found.kind != Lookup::Kind::unguarded ? 1 : 0;
    judged.by_another += found.kind != Lookup::Kind::unguarded && found.ns != trial.ns ? 1 : 0;
  }
}

TEST(RowKeys, accepted_rows_are_found_by_each_of_their_keys_and_in_any_spelling) {
  testing::Random random(4711);
  int accepted = 0;
  int isolated = 0;
  Judged judged;
  for (int i = 0; i < 1'000 && !HasFailure(); ++i) {
    const auto namespaces = testing::random_namespaces(random, "abB:-");
    const Keyspace keyspace = must_build(namespaces);
    IdentityBuffer scratch;
    for (int k = 0; k < 30; ++k) {
      const Trial trial = random_trial(random, keyspace, namespaces);
      const auto row = keyspace.identity_of_row(trial.ns, trial.values_view(), scratch);
      accepted += row && *row ? 1 : 0;
      isolated += row && *row && (*row)->is_isolated ? 1 : 0;
      look_for(random, keyspace, trial, judged);
    }
  }
  EXPECT_GT(accepted, 1'000) << "random rows are hardly ever accepted: the test shows nothing";
  EXPECT_GT(isolated, 300);
  EXPECT_GT(judged.all, 1'000);
  EXPECT_GT(judged.by_another, 50);
}

// Templates that claim each other's keys, and rows of what their literals are made of.
TEST(RowKeys, rows_are_found_whoever_claims_their_keys) {
  const std::vector<std::vector<std::vector<std::string>>> all = {
      {{"p:{a}"}, {"p:d:{a}"}, {"p:d:x{a:rest}"}},
      {{"p:{a}", "q:{a}"}, {"p:d:{a}"}, {"q:d-{a}"}},
      {{"p:{a|ci}", "q:{a|ci}"}, {"p:d:{a}"}, {"q:D:{a|ci}"}},
      {{"p:{a}:{b}", "q-{b}-{a}"}, {"p:d:{a}"}, {"q-x-{b:rest}"}},
      {{"p:{a|ci}:d:{b|ci}"}, {"p:x:{b}"}, {"p:d:x:{b:rest}"}},
      {{"p:{a|ci}:{b}", "q:{b}:{a|ci}"}, {"p:d:x:{b:rest}"}, {"q:{a}:{b}:x"}},
      {{"p:{a}-{b|ci}"}, {"p:d:{a:rest}"}},
      {{"p:d:{a}"}, {"p:{a:rest}"}},
      {{"p:d:{a|ci}:x"}, {"p:{a:rest}"}},
      {{"p:{a:uint64}"}, {"p:1{a}"}, {"p:-{a:int64}"}},
      {{"p:{_}:{a}"}, {"p:d:{a:rest}"}},
      {{"{a}:d:{b}"}, {"{a}:d:{b}:x"}, {"{a}:x:{b:rest}"}},
  };
  testing::Random random(4714);
  Judged judged;
  int refused = 0;
  for (int i = 0; i < 30'000 && !HasFailure(); ++i) {
    Trial trial;
    for (const std::vector<std::string>& texts : all[testing::below(random, all.size())]) {
      trial.namespaces.push_back(space("ns" + std::to_string(trial.namespaces.size()), texts));
      trial.namespaces.back().strict = testing::below(random, 2) == 0;
    }
    const Keyspace keyspace = must_build(trial.namespaces);
    trial.ns = static_cast<std::uint32_t>(testing::below(random, keyspace.size()));
    for (const std::string& column : keyspace.identity_columns(trial.ns)) {
      trial.values.push_back(testing::random_text(random, "dDxp:-1 0\x80", 5));
      trial.row[column] = trial.values.back();
    }
    IdentityBuffer scratch;
    refused += keyspace.identity_of_row(trial.ns, trial.values_view(), scratch) ? 0 : 1;
    look_for(random, keyspace, trial, judged);
  }
  EXPECT_GT(judged.by_another, 1'000);
  EXPECT_LT(refused, 10'000);
}

TEST(RowKeys, a_wildcards_value_never_turns_an_accepted_row_into_another) {
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
      ASSERT_TRUE(may_be(keyspace, 0, trial.values_view(), key))
          << key_template->text() << " on \"" << key << '"';
      guarded += found.kind == Lookup::Kind::guarded ? 1 : 0;
    }
  }
  EXPECT_GT(guarded, 1'000);
}

}  // namespace
}  // namespace cuckooguard::keyspace
