#include "debezium/value_text.h"

#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace cuckooguard::debezium {
namespace {

using namespace std::string_literals;
using keyspace::ValueType;
using Kind = Json::Kind;

std::string decimal(const std::string& bytes, std::int32_t scale) {
  std::string text;
  return decimal_text(bytes, scale, text) ? text : "none";
}

TEST(DecimalText, is_the_unscaled_value_with_its_point) {
  EXPECT_EQ(decimal("\0"s, 0), "0");
  EXPECT_EQ(decimal("\0"s, 2), "0.00");
  EXPECT_EQ(decimal("\x6e"s, 2), "1.10");
  EXPECT_EQ(decimal("\x6e"s, 5), "0.00110");
  EXPECT_EQ(decimal("\x92"s, 2), "-1.10");
  EXPECT_EQ(decimal("\xff"s, 3), "-0.001");
  EXPECT_EQ(decimal("\x0c"s, -2), "1200");
  EXPECT_EQ(decimal("\0"s, -2), "0");
  EXPECT_EQ(decimal("\x80"s, 0), "-128");
  EXPECT_EQ(decimal("\0\x80"s, 0), "128");
  EXPECT_EQ(decimal("\x80\0\0\0"s, 0), "-2147483648");
  EXPECT_EQ(decimal("\0\xff\xff\xff\xff\xff\xff\xff\xff"s, 0), "18446744073709551615");
  EXPECT_EQ(decimal("\x80\0\0\0\0\0\0\0"s, 0), "-9223372036854775808");
  EXPECT_EQ(decimal("\x80\0\0\0\0\0\0\0\0\0\0\0"s, 0), "-39614081257132168796771975168");
  EXPECT_EQ(decimal("\x01\0\0\0\0\0\0\0\0"s, 3), "18446744073709551.616");
}

TEST(DecimalText, is_that_of_any_integer) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto number = static_cast<std::int64_t>(random()) >> (random() % 64);
    std::string bytes;
    for (int shift = 56; shift >= 0; shift -= 8) {
      bytes += static_cast<char>(number >> shift);
    }
    EXPECT_EQ(decimal(bytes, 0), std::to_string(number));
    EXPECT_EQ(decimal((number < 0 ? "\xff\xff\xff\xff\xff"s : "\0\0\0\0\0"s) + bytes, 0),
              std::to_string(number));
  }
}

TEST(DecimalText, has_a_limit) {
  EXPECT_EQ(decimal("", 0), "none");
  EXPECT_EQ(decimal("\x01", kScaleMax + 1), "none");
  EXPECT_EQ(decimal("\x01", -kScaleMax - 1), "none");
  EXPECT_EQ(decimal("\x01", kScaleMax).size(), kScaleMax + 2U);
  EXPECT_EQ(decimal(std::string(kDecimalBytesMax + 1, '\x01'), 0), "none");
  EXPECT_EQ(decimal(std::string(kDecimalBytesMax, '\x01'), 0).size(), 2464U);
}

TEST(Base64, is_decoded_strictly) {
  const auto decoded = [](std::string_view text, bool url_safe = false) {
    std::string bytes;
    return decode_base64(text, url_safe, bytes) ? bytes : "none";
  };
  EXPECT_EQ(decoded(""), "");
  EXPECT_EQ(decoded("Zg=="), "f");
  EXPECT_EQ(decoded("Zm8="), "fo");
  EXPECT_EQ(decoded("Zm9v"), "foo");
  EXPECT_EQ(decoded("Zm9vYmFy"), "foobar");
  EXPECT_EQ(decoded("+/+/"), "\xfb\xff\xbf");
  EXPECT_EQ(decoded("-_-_", true), "\xfb\xff\xbf");
  for (const std::string_view wrong :
       {"Z", "Zg", "Zg=", "Zg==Zg==", "Z===", "====", "Zm9v\n", "-_-_"}) {
    EXPECT_EQ(decoded(wrong), "none") << wrong;
  }
  EXPECT_EQ(decoded("+/+/", true), "none");
}

TEST(DateText, is_the_day_of_the_calendar) {
  const auto date = [](std::int32_t days) {
    std::string text;
    date_text(days, text);
    return text;
  };
  EXPECT_EQ(date(0), "1970-01-01");
  EXPECT_EQ(date(-1), "1969-12-31");
  EXPECT_EQ(date(20786), "2026-11-29");
  EXPECT_EQ(date(-719162), "0001-01-01");
  EXPECT_EQ(date(2932896), "9999-12-31");
  EXPECT_EQ(date(2932897), "10000-01-01");
  EXPECT_EQ(date(2147483647), "infinity");
  EXPECT_EQ(date(-2147483647 - 1), "-infinity");
}

struct Case {
  std::string_view declared;
  Connector connector;
  ValueType placeholder;
  Json json;
  std::string text;  // `no: …` for a refusal
};

std::string text_in(const Case& each) {
  const Column column{
      .name = "c", .placeholders = {each.placeholder}, .declared = declared_type(each.declared)};
  std::string made;
  const auto text =
      text_of(each.json, column, column.declared.value_or(ColumnType{}), each.connector, made);
  return text ? std::string(*text) : "no:" + text.error();
}

Json number(std::string_view text) {
  return {.kind = Kind::number, .text = text};
}
Json string(std::string_view text) {
  return {.kind = Kind::string, .text = text};
}

TEST(ValueText, is_what_keys_have) {
  const auto mysql = Connector::mysql;
  const auto postgres = Connector::postgresql;
  const Case cases[] = {
      {"integer", mysql, ValueType::int64, number("-5"), "-5"},
      {"integer", mysql, ValueType::int64, number("-0"), "0"},
      {"integer", mysql, ValueType::uint64, number("18446744073709551615"), "18446744073709551615"},
      {"string", postgres, ValueType::text, string("Anne"), "Anne"},
      {"string", postgres, ValueType::text_ci, string("Anne  "), "Anne  "},
      {"uuid",
       postgres,
       ValueType::uuid,
       string("0b3ab9a2-0000-4000-8000-000000000001"),
       "0b3ab9a2-0000-4000-8000-000000000001"},
      {"bytes", postgres, ValueType::bytea, string("AP8="), "\\x00ff"},
      {"bytes", mysql, ValueType::text, string("AP8="), "\0\xff"s},
      {"bytes",
       Connector::oracle,
       ValueType::uuid,
       string("ABEiM0RVZneImaq7zN3u/w=="),
       "00112233-4455-6677-8899-aabbccddeeff"},
      {"hex",
       mysql,
       ValueType::uuid,
       string("00112233445566778899AABBCCDDEEFF"),
       "00112233-4455-6677-8899-aabbccddeeff"},
      {"base64-url-safe", mysql, ValueType::text, string("-_8="), "\xfb\xff"},
      {"hex", postgres, ValueType::bytea, string("00FF"), "\\x00ff"},
      {"decimal(2)", postgres, ValueType::numeric, string("bg=="), "1.10"},
      {"decimal(2)", postgres, ValueType::numeric, number("1.10"), "1.10"},
      {"decimal(2)", postgres, ValueType::numeric, number("-0.00"), "0.00"},
      {"decimal(0)", mysql, ValueType::uint64, string("AP//////////"), "18446744073709551615"},
      {"variable decimal",
       Connector::oracle,
       ValueType::int64,
       {.kind = Kind::object, .scale = 2, .text = "AyA="},
       "8"},
      {"variable decimal",
       Connector::oracle,
       ValueType::int64,
       {.kind = Kind::object, .scale = -2, .text = "CA=="},
       "800"},
      {"decimal text", postgres, ValueType::numeric, string("12.50"), "12.50"},
      {"date", mysql, ValueType::date, number("20786"), "2026-11-29"},
      {"iso date", postgres, ValueType::date, string("2026-11-29Z"), "2026-11-29"},
      {"iso date", postgres, ValueType::date, string("2026-11-29"), "2026-11-29"},
      // Without a schema, and nothing declared.
      {"", mysql, ValueType::uint64, number("7"), "7"},
      {"",
       mysql,
       ValueType::uuid,
       string("0B3AB9A2-0000-4000-8000-000000000001"),
       "0B3AB9A2-0000-4000-8000-000000000001"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(text_in(each), each.text) << each.declared;
  }
}

TEST(ValueText, of_booleans_is_what_the_database_prints) {
  const Column column{.name = "c", .is_compared = true};
  const ColumnType type{.encoding = Encoding::boolean};
  const auto text = [&](Connector connector, std::string_view value) {
    std::string made;
    return text_of({.kind = Kind::boolean, .text = value}, column, type, connector, made).value();
  };
  EXPECT_EQ(text(Connector::postgresql, "true"), "t");
  EXPECT_EQ(text(Connector::postgresql, "false"), "f");
  EXPECT_EQ(text(Connector::mysql, "true"), "1");
  EXPECT_EQ(text(Connector::mysql, "false"), "0");
}

TEST(ValueText, is_refused_in_words_that_do_not_have_the_value) {
  const auto mysql = Connector::mysql;
  const auto postgres = Connector::postgresql;
  const Case cases[] = {
      {"integer", mysql, ValueType::int64, number("98765.5"), ""},
      {"integer", mysql, ValueType::int64, number("98765e3"), ""},
      {"integer", mysql, ValueType::int64, number("098765"), ""},
      {"integer", mysql, ValueType::int64, string("98765"), ""},
      {"integer", mysql, ValueType::uint64, number("-98765"), ""},  // BIGINT UNSIGNED as long
      {"string", postgres, ValueType::text, string("98765 "), ""},  // CHAR
      {"string", postgres, ValueType::text, number("98765"), ""},
      {"bytes", postgres, ValueType::bytea, string("98765"), ""},
      {"hex", postgres, ValueType::bytea, string("98765"), ""},
      {"hex", mysql, ValueType::uuid, string("9876598765"), ""},  // VARBINARY(16)
      {"decimal(2)", postgres, ValueType::numeric, number("98765E+3"), ""},
      {"decimal(2)", postgres, ValueType::numeric, string("98765"), ""},
      {"decimal text", postgres, ValueType::numeric, string("98765e3"), ""},
      {"decimal text", postgres, ValueType::numeric, string("NaN98765"), ""},
      {"variable decimal", postgres, ValueType::numeric, string("98765"), ""},
      {"variable decimal",
       postgres,
       ValueType::numeric,
       {.kind = Kind::object, .scale = kScaleMax + 1, .text = "CA=="},
       ""},
      {"variable decimal", postgres, ValueType::numeric, {.kind = Kind::object}, ""},
      {"date", mysql, ValueType::date, number("98765987650"), ""},
      {"date", mysql, ValueType::date, string("2026-11-29"), ""},
      {"iso date", postgres, ValueType::date, string("98765"), ""},
      // Without a schema, and nothing declared.
      {"", mysql, ValueType::uint64, string("98765"), ""},
      {"", mysql, ValueType::date, number("98765"), ""},
      {"", mysql, ValueType::text_ci, string("98765"), ""},
      {"", mysql, ValueType::uuid, string("98765"), ""},
      {"", mysql, ValueType::uint64, number("98765.5"), ""},
      {"", mysql, ValueType::uint64, {.kind = Kind::object}, ""},
      {"", mysql, ValueType::uint64, {.kind = Kind::boolean, .text = "true"}, ""},
  };
  for (const Case& each : cases) {
    const std::string words = text_in(each);
    EXPECT_TRUE(words.starts_with("no: ")) << each.declared << " " << words;
    EXPECT_EQ(words.find("98765"), std::string::npos) << words;
  }
  EXPECT_EQ(text_in(cases[4]),
            "no: is negative, as BIGINT UNSIGNED is above 9223372036854775807; set "
            "bigint.unsigned.handling.mode=precise, or use :int64 if it is signed");
}

}  // namespace
}  // namespace cuckooguard::debezium
