// Rows at random: each is found by each of its keys, in any spelling, whichever namespace claims
// it.
#include <algorithm>
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

// A number, in another way.
std::string respelled_number(testing::Random& random, const std::string& from) {
  if (from == "NaN") {
    return testing::below(random, 2) == 0 ? "nan" : from;
  }
  const std::string zeros(testing::below(random, 3), '0');
  switch (testing::below(random, 5)) {
    case 0:
      return from + (from.contains('.') ? "" : ".") + zeros;
    case 1:
      return from.starts_with('-') ? "-" + zeros + from.substr(1) : "+" + zeros + from;
    case 2:
      return from + "e" + zeros;
    case 3:
      return " " + from;
    default:
      return from;
  }
}

// As a database prints it, of some scale; some are no number.
std::string random_number(testing::Random& random) {
  const std::string whole = std::to_string(testing::below(random, 12));
  const std::string fraction = testing::random_text(random, "01", 3);
  const std::string number = whole + (fraction.empty() ? "" : ".") + fraction;
  const bool is_zero = number.find_first_not_of("0.") == std::string::npos;
  const bool is_other = testing::below(random, 8) == 0;
  return is_other ? "NaN" : (!is_zero && testing::below(random, 3) == 0 ? "-" : "") + number;
}

std::map<std::string, std::string> respelled(testing::Random& random,
                                             const KeyTemplate& key_template,
                                             std::map<std::string, std::string> row) {
  for (const Placeholder& placeholder : key_template.placeholders()) {
    if (is_folded(placeholder.type)) {
      row[placeholder.name] = respelled(random, row[placeholder.name]);
    } else if (placeholder.type == ValueType::numeric) {
      row[placeholder.name] = respelled_number(random, row[placeholder.name]);
    }
  }
  return row;
}

// What an application may have for a {_}: no ':'.
std::string wildcard(testing::Random& random) {
  const std::string text = testing::random_text(random, "abB-01", 3);
  return text.empty() ? "\x01" : text;
}

bool is_numeric(const Keyspace& keyspace, std::uint32_t ns, const std::string& column) {
  const auto placeholders = keyspace.templates(ns).front().placeholders();
  const auto at = std::ranges::find(placeholders, column, &Placeholder::name);
  return at->type == ValueType::numeric;
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
    trial.values.push_back(is_numeric(keyspace, trial.ns, column)
                               ? random_number(random)
                               : testing::random_text(random, "abBA:-01 \x80", 4));
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
      {{"p:{a:uuid}", "q:{a:uuid}"}, {"p:d:{a}"}, {"q:D:{a:uuid}"}},
      {{"p:{a:numeric}"}, {"p:1:{a}"}, {"p:d:{a:numeric}"}},
      {{"p:1{a:numeric}"}, {"p:{a}"}, {"p:1:{a:rest}"}},
      {{"p:{b}:{a:numeric}:{c:rest}"}},
      {{"p:{a:numeric}:{b}", "q:{b}:{a:numeric}"}, {"p:{a:numeric}:{b}:d"}, {"{a}:{b:rest}"}},
      {{"{a}:d:{b}"}, {"{a}:d:{b}:x"}, {"{a}:x:{b:rest}"}},
  };
  testing::Random random(4714);
  Judged judged;
  int refused = 0;
  for (int i = 0; i < 30'000 && !HasFailure(); ++i) {
    Trial trial;
    for (const std::vector<std::string>& texts : all[testing::below(random, all.size())]) {
      trial.namespaces.push_back(space("ns" + std::to_string(trial.namespaces.size()), texts));
      trial.namespaces.back().canonical_keys = testing::below(random, 2) == 0;
    }
    const Keyspace keyspace = must_build(trial.namespaces);
    trial.ns = static_cast<std::uint32_t>(testing::below(random, keyspace.size()));
    for (const std::string& column : keyspace.identity_columns(trial.ns)) {
      trial.values.push_back(is_numeric(keyspace, trial.ns, column)
                                 ? random_number(random)
                                 : testing::random_text(random, "dDxp:-1 0\x80", 5));
      trial.row[column] = trial.values.back();
    }
    IdentityBuffer scratch;
    refused += keyspace.identity_of_row(trial.ns, trial.values_view(), scratch) ? 0 : 1;
    look_for(random, keyspace, trial, judged);
  }
  EXPECT_GT(judged.by_another, 1'000);
  EXPECT_LT(refused, 10'000);
}

struct Spelled {
  std::string type;
  std::string printed;  // by PostgreSQL
  std::vector<std::string> equal;
  std::string other;
};

// Whatever the application writes for a row's value: it passes, or is found.
TEST(RowKeys, rows_are_found_by_whatever_the_database_takes_for_their_values) {
  const std::vector<Spelled> all = {
      {"uuid",
       "0189fe5c-09af-7000-8000-abcdef012345",
       {"0189FE5C-09AF-7000-8000-ABCDEF012345",
        "{0189fe5c-09af-7000-8000-abcdef012345}",
        "0189fe5c09af70008000abcdef012345",
        "0189-fe5c-09af-7000-8000-abcd-ef01-2345"},
       "0189fe5c-09af-7000-8000-abcdef012346"},
      {"numeric",
       "1.10",
       {"1.1", "1.100", "+1.1", "01.1", "11e-1", "1.1e0", " 1.1", "1.1 "},
       "1.2"},
      {"numeric", "1000", {"1e3", "1000.0", "1000.", "0x3e8", "1_000"}, "1001"},
      {"numeric", "0.0", {"0", "-0", ".0", "0.", "0e5"}, "0.1"},
      {"numeric", "NaN", {"nan", " NaN"}, "0"},
      {"numeric", "Infinity", {"infinity", "inf", "+Inf"}, "0"},
      {"date",
       "2024-02-09",
       {"20240209", "2024-2-9", "Feb 9, 2024", "2/9/2024", "J2460350"},
       "2024-02-10"},
      {"date", "infinity", {"Infinity"}, "9999-12-31"},
      {"date", "0044-03-15 BC", {"44-03-15 BC", "-0043-03-15"}, "0044-03-15"},
      {"date", "12345-01-01", {"012345-01-01"}, "2345-01-01"},
      {"bytea", "\\x", {""}, "\\x00"},
      {"bytea", "\\x4a4b", {"\\x4A4B", "JK", "\\112K", "4a4b", "\\x4a 4b"}, "\\x4a"},
  };
  for (const Spelled& row : all) {
    const std::string value = "{a:" + row.type + "}";
    const Keyspace keyspace =
        must_build({space("all", {"k:" + value, "{_}:j:" + value + ":j", "v{_}:k:" + value + ":x"}),
                    space("pairs", {"p:" + value + ":{b:uint64}", "q:{b:uint64}:" + value}),
                    space("claimer", {"k:d:{x}"})});
    const auto keys = [](const std::string& text) {
      return std::vector<std::string>{"k:" + text, "x:j:" + text + ":j", "v1:k:" + text + ":x"};
    };
    std::vector<std::string> texts = row.equal;
    texts.push_back(row.printed);
    for (const std::string& text : texts) {
      for (const std::string& key : keys(text)) {
        EXPECT_TRUE(may_be(keyspace, 0, {row.printed}, key)) << key;
      }
      EXPECT_TRUE(may_be(keyspace, 1, {row.printed, "7"}, "p:" + text + ":7")) << text;
      EXPECT_TRUE(may_be(keyspace, 1, {row.printed, "7"}, "q:7:" + text)) << text;
    }
    for (const std::string& key : keys(row.other)) {
      EXPECT_FALSE(may_be(keyspace, 0, {row.printed}, key)) << key;
    }
    EXPECT_FALSE(may_be(keyspace, 1, {row.printed, "7"}, "p:" + row.other + ":7"));
  }
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
