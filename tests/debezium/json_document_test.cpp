#include "debezium/json_document.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <simdjson.h>

namespace cuckooguard::debezium {
namespace {

// `name=kind:text` of each member, or "" of what is no object.
std::string members_of(Document& document, std::string_view text) {
  if (document.open(text) != nullptr) {
    return "";
  }
  std::string all;
  Document::Index end = 0;
  const Trouble trouble = document.for_each_member(end, [&](Name name, Document::Index value) {
    Json json;
    const Trouble wrong = document.read(value, json);
    all += std::string(name, std::string_view(name).find('"')) + "=" +
           std::to_string(static_cast<int>(json.kind)) + ":" + std::string(json.text) + " ";
    return wrong;
  });
  return trouble == nullptr && document.is_end(end) ? all : "";
}

std::string members_of(std::string_view text) {
  Document document;
  return members_of(document, text);
}

TEST(JsonDocument, reads_members_and_skips_what_is_in_them) {
  EXPECT_EQ(members_of(R"({"a":1,"b":"x","c":null,"d":true,"e":[1,{"f":2}],"g":{"h":[]}})"),
            "a=2:1 b=3:x c=0: d=1:true e=4: g=5: ");
  EXPECT_EQ(members_of("{ \"a\" :\t-1.5e3 , \n\"b\" : \"x\" \r}"), "a=2:-1.5e3 b=3:x ");
}

TEST(JsonDocument, undoes_escapes) {
  EXPECT_EQ(members_of(R"({"a":"\"\\\/\b\f\n\r\t"})"), "a=3:\"\\/\b\f\n\r\t ");
  EXPECT_EQ(members_of(R"({"a":"\u0041\u00e9\u20AC\ud83d\ude00"})"),
            "a=3:A\u00e9\u20ac\U0001f600 ");
  for (const std::string_view wrong : {R"({"a":"\x"})",
                                       R"({"a":"\u12"})",
                                       R"({"a":"\u12g4"})",
                                       R"({"a":"\ud83d"})",
                                       R"({"a":"\ude00"})",
                                       R"({"a":"\ud83d\u0041"})",
                                       R"({"a":"\ud83dxxxxxx"})"}) {
    EXPECT_EQ(members_of(wrong), "") << wrong;
  }
}

TEST(JsonDocument, keeps_texts_of_escaped_strings_while_others_are_read) {
  std::string text = "{";
  std::string expected;
  for (int i = 0; i < 500; ++i) {
    text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":"\n)" + std::to_string(i) + "\"";
  }
  Document document;
  ASSERT_EQ(document.open(text + "}"), nullptr);
  std::vector<std::string_view> texts;
  Document::Index end = 0;
  ASSERT_EQ(document.for_each_member(end,
                                     [&](Name, Document::Index& value) {
                                       return document.read_text(value, texts.emplace_back());
                                     }),
            nullptr);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(texts[i], "\n" + std::to_string(i));
  }
}

TEST(JsonDocument, takes_no_text_that_is_not_json_where_it_reads) {
  for (const std::string_view wrong : {"",
                                       "[]",
                                       "1",
                                       R"({"a")",
                                       R"({"a":)",
                                       R"({"a":1)",
                                       R"({"a" 1})",
                                       R"({"a":1,})",
                                       R"({,"a":1})",
                                       R"({"a"::1})",
                                       R"({"a":1 2})",
                                       R"({"a":1}})",
                                       R"({"a":1}x)",
                                       R"({"a":"x})",
                                       R"({"a":"x"y})",
                                       R"({"a":nul})",
                                       R"({"a":truee})",
                                       R"({"a":+1})",
                                       R"({a:1})",
                                       R"({"a":{"b":1})",
                                       R"({"a":}})",
                                       "{\"a\":\"\xff\"}",
                                       "{\"a\":\"\n\"}"}) {
    EXPECT_EQ(members_of(wrong), "") << wrong;
  }
}

TEST(JsonDocument, skips_any_depth) {
  const std::string open(200'000, '[');
  const std::string close(200'000, ']');
  EXPECT_EQ(members_of("{\"a\":" + open + close + ",\"b\":1}"), "a=4: b=2:1 ");
  EXPECT_EQ(members_of("{\"a\":" + open + ",\"b\":1}"), "");
}

TEST(JsonDocument, gives_back_the_memory_of_a_large_message) {
  Document document;
  EXPECT_EQ(members_of(document, "{\"a\":\"" + std::string(3 << 20, 'x') + "\"}").size(),
            (3U << 20) + 5);
  EXPECT_EQ(members_of(document, R"({"a":1})"), "a=2:1 ");
  EXPECT_EQ(members_of(document, "{\"a\":\"" + std::string(5000, 'x') + "\"}").size(), 5005U);
}

TEST(JsonDocument, reads_no_byte_behind_a_name_at_the_end) {
  EXPECT_TRUE(is("source\"", "source"));
  EXPECT_FALSE(is("sources\"", "source"));
  EXPECT_FALSE(is("sourc\"\0", "source"));
}

}  // namespace
}  // namespace cuckooguard::debezium
