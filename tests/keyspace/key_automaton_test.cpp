#include "keyspace/key_automaton.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "keyspace/random_keyspace.h"

namespace cuckooguard::keyspace {
namespace {

bool accepts(const KeyTemplate& key_template, std::string_view key) {
  const KeyAutomaton automaton(key_template);
  std::vector<KeyAutomaton::State> states = {automaton.within_prefix(0)};
  for (const char byte : key) {
    std::vector<KeyAutomaton::State> next;
    for (const KeyAutomaton::State& state : states) {
      const KeyAutomaton::Next found = automaton.step(state, byte);
      next.insert(next.end(), found.all().begin(), found.all().end());
    }
    states = std::move(next);
  }
  return std::ranges::any_of(states, [&](const auto& state) { return automaton.accepts(state); });
}

TemplateFit fit_of(const KeyTemplate& key_template, std::string_view key) {
  TemplateValues values;
  return key_template.fit(key, values);
}

TEST(KeyAutomaton, accepts_exactly_the_keys_that_an_application_can_make) {
  testing::Random random(11);
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto key_template = testing::random_template(random, "aab:-0");
    for (int k = 0; key_template && k < 20; ++k) {
      const std::string key = testing::random_text(random, "aab:-01", 9);
      const bool expected = testing::reference_could_make(*key_template, key);
      const TemplateFit fit = fit_of(*key_template, key);
      ASSERT_EQ(accepts(*key_template, key), expected)
          << key_template->text() << " on \"" << key << '"';
      ASSERT_TRUE(expected || fit != TemplateFit::whole)
          << key_template->text() << " on \"" << key << '"';
      ASSERT_TRUE(!expected || fit == TemplateFit::whole || fit == TemplateFit::uncertain)
          << key_template->text() << " on \"" << key << '"';
      accepted += expected ? 1 : 0;
    }
  }
  EXPECT_GT(accepted, 1000) << "the random keys hardly ever fit: the test shows nothing";
}

TEST(KeyAutomaton, knows_the_range_of_integers) {
  const KeyTemplate unsigned_id = testing::must_parse("{id:uint64}");
  const KeyTemplate signed_id = testing::must_parse("{id:int64}");
  for (const std::string key : {"0",
                                "9",
                                "00",
                                "-0",
                                "-1",
                                "18446744073709551615",
                                "18446744073709551616",
                                "9223372036854775807",
                                "9223372036854775808",
                                "-9223372036854775808",
                                "-9223372036854775809",
                                "99999999999999999999",
                                "100000000000000000000",
                                "10000000000000000000"}) {
    EXPECT_EQ(accepts(unsigned_id, key), fit_of(unsigned_id, key) == TemplateFit::whole) << key;
    EXPECT_EQ(accepts(signed_id, key), fit_of(signed_id, key) == TemplateFit::whole) << key;
  }
}

}  // namespace
}  // namespace cuckooguard::keyspace
