#include "keyspace/key_template.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "keyspace/random_keyspace.h"

namespace cuckooguard::keyspace {
namespace {

using testing::must_parse;

// The values by placeholder, or the fit's name if it is not whole.
std::vector<std::string> values_of(std::string_view text, std::string_view key) {
  const KeyTemplate key_template = must_parse(text);
  TemplateValues values;
  switch (key_template.fit(key, values)) {
    case TemplateFit::none:
      return {"(none)"};
    case TemplateFit::not_an_integer:
      return {"(not an integer)"};
    case TemplateFit::uncertain:
      return {"(uncertain)"};
    case TemplateFit::whole:
      break;
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < key_template.placeholders().size(); ++i) {
    texts.emplace_back(values.text(key, i));
  }
  return texts;
}

using Strings = std::vector<std::string>;

TEST(KeyTemplate, a_placeholder_is_one_or_more_bytes_without_colon) {
  EXPECT_EQ(values_of("user:{id}", "user:42"), Strings{"42"});
  EXPECT_EQ(values_of("user:{id}", "user:"), Strings{"(none)"});
  EXPECT_EQ(values_of("user:{id}", "user:4:2"), Strings{"(none)"});
  EXPECT_EQ(values_of("user:{id}", "User:42"), Strings{"(none)"});
  EXPECT_EQ(values_of("{id}", std::string("\0\xff", 2)), Strings{std::string("\0\xff", 2)});
  EXPECT_EQ(values_of("user:{id}:profile", "user:42:profile"), Strings{"42"});
  EXPECT_EQ(values_of("user:{id}:profile", "user:42:profiles"), Strings{"(none)"});
  EXPECT_EQ(values_of("user:{id}:profile", "user::profile"), Strings{"(none)"});
  EXPECT_EQ(values_of("order:{tenant}:{id}", "order:acme:7"), (Strings{"acme", "7"}));
}

TEST(KeyTemplate, doubled_braces_are_literal_ones) {
  EXPECT_EQ(values_of("user:{{{id}}}:cart", "user:{42}:cart"), Strings{"42"});
  EXPECT_EQ(values_of("{{a}}{id}{{", "{a}7{"), Strings{"7"});
  EXPECT_EQ(must_parse("{{a}}{id}").literal_prefix(), "{a}");
}

TEST(KeyTemplate, a_middle_placeholder_ends_at_the_first_occurrence_after_one_byte) {
  EXPECT_EQ(values_of("{a}-{b}", "x-y-z"), (Strings{"x", "y-z"}));
  EXPECT_EQ(values_of("{a}-{b}", "-y"), Strings{"(none)"});
  EXPECT_EQ(values_of("{a}-{b}", "--y"), (Strings{"-", "y"}));
  EXPECT_EQ(values_of("{a}-{b}-", "x-y-z-"), (Strings{"x", "y-z"}));
  EXPECT_EQ(values_of("{a}xx{b}", "axxxb"), (Strings{"a", "xb"}));
  EXPECT_EQ(values_of("{a}x:{b}", "axx:b"), (Strings{"ax", "b"}));
  EXPECT_EQ(values_of("{a}-{b}", "x:y-z"), Strings{"(none)"}) << "no ':' in a value";
}

TEST(KeyTemplate, no_backtracking_rescues_a_later_value) {
  EXPECT_EQ(values_of("{a}b{c:uint64}", "xbyb5"), Strings{"(not an integer)"});
}

TEST(KeyTemplate, last_literal_is_the_suffix) {
  EXPECT_EQ(values_of("{a}-x", "1-x-x"), Strings{"1-x"});
  EXPECT_EQ(values_of("{a}-x", "-x"), Strings{"(none)"});
  EXPECT_EQ(values_of("{a}aa", "aaa"), Strings{"a"});
}

TEST(KeyTemplate, rest_reaches_to_the_end_whatever_comes) {
  EXPECT_EQ(values_of("log:{path:rest}", "log:a:b:c"), Strings{"a:b:c"});
  EXPECT_EQ(values_of("log:{path:rest}", "log::"), Strings{":"});
  EXPECT_EQ(values_of("log:{path:rest}", "log:"), Strings{"(none)"});
}

TEST(KeyTemplate, integers_must_be_canonical) {
  EXPECT_EQ(values_of("user:{id:uint64}", "user:42"), Strings{"42"});
  EXPECT_EQ(values_of("user:{id:uint64}", "user:042"), Strings{"(not an integer)"});
  EXPECT_EQ(values_of("user:{id:uint64}", "user:-1"), Strings{"(not an integer)"});
  EXPECT_EQ(values_of("user:{id:int64}", "user:-1"), Strings{"-1"});
  EXPECT_EQ(values_of("user:{id:uint64}", "user:1:2"), Strings{"(none)"});
}

TEST(KeyTemplate, values_that_have_other_spellings_must_be_as_they_are_printed) {
  const std::string uuid = "0189fe5c-09af-7000-8000-abcdef012345";
  EXPECT_EQ(values_of("user:{id:uuid}:x", "user:" + uuid + ":x"), Strings{uuid});
  EXPECT_EQ(values_of("user:{id:uuid}", "user:{" + uuid + "}"), Strings{"(uncertain)"});
  EXPECT_EQ(values_of("user:{id:uuid}", "user:42"), Strings{"(uncertain)"});
  EXPECT_EQ(values_of("user:{id:uuid}", "user:" + uuid + ":x"), Strings{"(none)"});
  EXPECT_EQ(values_of("at:{d:date}:{n:numeric}", "at:2024-02-29:-1.5"),
            (Strings{"2024-02-29", "-1.5"}));
  EXPECT_EQ(values_of("at:{d:date}:{n:numeric}", "at:2024-02-29:-1.50"), Strings{"(uncertain)"});
  EXPECT_EQ(values_of("at:{d:date}:{n:uint64}", "at:infinity:007"), Strings{"(uncertain)"})
      << "what canonical_keys would call impossible may be a row's";
  EXPECT_EQ(values_of("file:{hash:bytea}", "file:\\x00ff"), Strings{"\\x00ff"});
  EXPECT_EQ(values_of("file:{hash:bytea}", "file:00ff"), Strings{"(uncertain)"});
}

TEST(KeyTemplate, number_is_told_unless_negative) {
  TemplateValues values;
  EXPECT_EQ(must_parse("u:{id:int64}").fit("u:18", values), TemplateFit::whole);
  EXPECT_TRUE(values.has_number);
  EXPECT_EQ(values.number, 18U);
  EXPECT_EQ(must_parse("u:{id:int64}").fit("u:-18", values), TemplateFit::whole);
  EXPECT_FALSE(values.has_number);
}

TEST(KeyTemplate, ci_values_beyond_printable_ascii_are_uncertain) {
  EXPECT_EQ(values_of("u:{name|ci}", "u:Bob ~"), Strings{"Bob ~"});
  EXPECT_EQ(values_of("u:{name|ci}",
                      "u:B\xc3\xb6"
                      "b"),
            Strings{"(uncertain)"});
  EXPECT_EQ(values_of("u:{name|ci}", "u:a\tb"), Strings{"(uncertain)"});
  EXPECT_EQ(values_of("u:{name|ci}", "u:a\x7f"), Strings{"(uncertain)"});
  EXPECT_EQ(values_of("u:{name:rest|ci}", "u:A:b"), Strings{"A:b"});
}

TEST(KeyTemplate, a_wildcard_that_could_end_later_is_uncertain) {
  EXPECT_EQ(values_of("{_}-{id}", "v-7"), (Strings{"v", "7"}));
  EXPECT_EQ(values_of("{_}-{id}", "v-w-7"), Strings{"(uncertain)"});
  EXPECT_EQ(values_of("{_}-{id}:{x:rest}", "v-7:w-1"), (Strings{"v", "7", "w-1"}));
  EXPECT_EQ(values_of("{_}:{id}", "v:7"), (Strings{"v", "7"}));
  EXPECT_EQ(values_of("{id}-{_}", "7-v-w"), (Strings{"7", "v-w"}))
      << "only the wildcard's own end is unknown";
}

TEST(KeyTemplate, rendering_puts_values_between_literals) {
  const std::string_view values[] = {"a", "ignored", "b"};
  std::string key = "kept:";
  must_parse("x{one}:{_}:{two}y").render(values, key);
  EXPECT_EQ(key, std::string("kept:xa:\x01:by"));
}

struct BadTemplate {
  std::string text;
  std::size_t offset;
  std::string words;
};

TEST(KeyTemplate, errors_name_the_byte_and_the_reason) {
  const BadTemplate cases[] = {
      {"user:{id", 5, "without a '}'"},
      {"user:id}", 7, "without a '{'"},
      {"user:{}", 6, "a name has letters"},
      {"user:{1d}", 6, "a name has letters"},
      {"user:{a b}", 6, "a name has letters"},
      {"user:{id:uint32}", 8, ":uint64, :int64, :uuid, :numeric, :date, :bytea, :rest and |ci"},
      {"user:{id:UUID}", 8, ":uuid"},
      {"user:{id:}", 8, ":uuid"},
      {"user:{id:uint64|ci}", 8, "|ci after :uint64"},
      {"user:{id:uuid|ci}", 8, "|ci after :uuid"},
      {"user:{id:uuid:rest}", 8, ":uuid"},
      {"user:{id|CI}", 8, "|ci"},
      {"{a}{b}", 3, "no literal between {a} and {b}, so the end"},
      {"{a}:{a}", 4, "twice"},
      {"x:{a:rest}:y", 2, "reaches to the end"},
      {"x:{a:rest}{b}", 10, "reaches to the end"},
      {"x:{_:uint64}", 4, "type on {_}"},
      {"x:{_:date}", 4, "type on {_}"},
      {"{a|ci}-{b}", 7, "only a ':' can follow |ci"},
      {"{a:uuid}-{b}", 9, "{a:uuid} before \"-\": only a ':' can follow :uuid"},
      {"{a}:{b}-{c:date}", 8, "{b} before \"-\" and {c:date} after it: only a ':' is allowed"},
      {"{a:numeric}e{b}", 12, "only a ':' can follow :numeric"},
      {"user:all", 0, "no placeholder"},
      {"user:{_}", 0, "no placeholder"},
      {"", 0, "no placeholder"},
      {std::string(kTemplateBytesMax, 'x') + "{a}", 0, "longer than"},
      {"{a}:{b}:{c}:{d}:{e}:{f}:{g}:{h}:{i}", 32, "more than 8"},
  };
  for (const BadTemplate& bad : cases) {
    const auto parsed = KeyTemplate::parse(bad.text);
    ASSERT_FALSE(parsed) << bad.text;
    EXPECT_EQ(parsed.error().offset, bad.offset) << bad.text << ": " << parsed.error().what;
    EXPECT_NE(parsed.error().what.find(bad.words), std::string::npos) << parsed.error().what;
  }
}

TEST(KeyTemplate, wildcards_may_come_more_than_once) {
  EXPECT_EQ(values_of("{_}:{id}:{_}", "a:b:c"), (Strings{"a", "b", "c"}));
}

// Every key over a tiny alphabet, against the reference's search through all possible ends.
TEST(KeyTemplate, fit_agrees_with_the_reference_on_random_keys) {
  testing::Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto key_template = testing::random_template(random, "ab:-0");
    if (!key_template) {
      continue;
    }
    for (int k = 0; k < 20; ++k) {
      const std::string key = testing::random_text(random, "ab:-017 \xc3", 8);
      TemplateValues values;
      const TemplateFit fit = key_template->fit(key, values);
      const testing::ReferenceFit expected = testing::reference_fit(*key_template, key);
      ASSERT_EQ(fit, expected.fit) << key_template->text() << " on \"" << key << '"';
    }
  }
}

}  // namespace
}  // namespace cuckooguard::keyspace
