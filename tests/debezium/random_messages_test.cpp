// Random rows, written as JSON in any way that means the same: decoded they are the same.
//
//   CUCKOOGUARD_SEED=42 debezium_test --gtest_filter='RandomMessages.*'
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "debezium/decoder.h"
#include "made_messages.h"

namespace cuckooguard::debezium {
namespace {

constexpr int kMessages = 4'000;

using Values = std::vector<std::optional<std::string>>;  // of the columns that are asked for

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  // Of `"name":value`, in any order, with blanks, and with members that nobody asks for.
  std::string object(std::vector<std::string> members, std::size_t junk) {
    for (std::size_t i = 0; i < junk; ++i) {
      members.push_back("\"j" + std::to_string(i) + "\"" + blank() + ":" + any(6));
    }
    std::ranges::shuffle(members, random_);
    std::string text = blank() + "{" + blank();
    for (std::size_t i = 0; i < members.size(); ++i) {
      text += (i == 0 ? "" : "," + blank()) + members[i] + blank();
    }
    return text + "}" + blank();
  }

  std::string member(std::string_view name, std::string_view value) {
    return "\"" + std::string(name) + "\"" + blank() + ":" + blank() + std::string(value);
  }

  std::string string(std::string_view text) {
    std::string all = "\"";
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\' || byte < ' ' || (byte < 0x80 && below(8) == 0)) {
        all += "\\u00";
        all += kHex[byte >> 4];
        all += kHex[byte & 15U];
      } else {
        all += c;
      }
    }
    return all + "\"";
  }

  // Of any letters that JSON has to escape, and of UTF-8.
  std::string text() {
    std::string all;
    for (std::uint64_t left = below(20); left > 0; --left) {
      constexpr std::string_view kOdd[] = {
          "a", "\"", "\\", "\n", "\u00e9", "\U0001f600", "{", "]", ":", ",", "}"};
      all += kOdd[below(std::size(kOdd))];
    }
    return all;
  }

  std::string any(int depth) {
    switch (below(depth > 0 ? 7 : 5)) {
      case 0:
        return "null";
      case 1:
        return below(2) == 0 ? "true" : "false";
      case 2:
        return std::to_string(static_cast<std::int64_t>(random_()));
      case 3:
        return "-1.25e-3";
      case 4:
        return string(text());
      case 5: {
        std::string all = "[";
        for (std::uint64_t left = below(4); left > 0; --left) {
          all += any(depth - 1) + (left == 1 ? "" : ",");
        }
        return all + "]";
      }
      default:
        return object({member("op", any(depth - 1)), member("id", any(depth - 1))}, below(2));
    }
  }

 private:
  static constexpr std::string_view kHex = "0123456789abcdef";

  std::string blank() {
    constexpr std::string_view kBlanks[] = {"", "", "", " ", "\t", "\r\n", "  "};
    return std::string(kBlanks[below(std::size(kBlanks))]);
  }

  std::mt19937_64 random_;
};

// An integer, a text and a decimal, as texts; and as JSON.
struct Row {
  Values values;
  std::string json;
};

Row any_row(Writer& writer, bool with_schema) {
  Row row;
  const std::string digits = std::to_string(writer.below(1'000'000'000'000)) +
                             std::string(writer.below(3) == 0 ? 60 : 0, '7');
  row.values.emplace_back(digits);
  std::vector<std::string> members = {writer.member("id", digits)};
  if (writer.below(5) == 0) {
    row.values.emplace_back(std::nullopt);
    members.push_back(writer.member("name", "null"));
  } else {
    row.values.emplace_back(writer.text());
    members.push_back(writer.member("name", writer.string(*row.values.back())));
  }
  const std::uint64_t cents = writer.below(256);
  std::string price = std::to_string(cents / 100) + "." + std::to_string(cents / 10 % 10) +
                      std::to_string(cents % 10);
  // In base64: 00, and the byte.
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string base64 = {'A', kDigits[cents >> 4], kDigits[(cents & 15U) << 2], '='};
  members.push_back(
      writer.member("price", with_schema || writer.below(2) == 0 ? writer.string(base64) : price));
  row.values.emplace_back(std::move(price));
  row.json = writer.object(members, writer.below(4));
  return row;
}

std::string words_of(const Values& values) {
  std::string words;
  for (const auto& value : values) {
    words += (words.empty() ? "" : ",") + value.value_or("NULL");
  }
  return words;
}

// What the schema says, or the operator.
Wanted wanted(bool with_schema) {
  Wanted all = one_table({column("id", ValueType::uint64),
                          column("name", ValueType::text_ci),
                          column("price", ValueType::numeric)});
  if (!with_schema) {
    all.tables[0].columns[1].declared = declared_type("string");
    all.tables[0].columns[2].declared = declared_type("decimal(2)");
  }
  return all;
}

constexpr std::string_view kFields =
    R"({"type":"int64","optional":false,"field":"id"},)"
    R"({"type":"string","optional":true,"default":"}]","field":"name"},)"
    R"({"parameters":{"x":"1","scale":"2"},"type":"bytes",)"
    R"("name":"org.apache.kafka.connect.data.Decimal","field":"price"})";

TEST(RandomMessages, mean_the_same_however_they_are_written) {
  const char* const chosen = std::getenv("CUCKOOGUARD_SEED");  // NOLINT(concurrency-mt-unsafe)
  const std::uint64_t seed = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : 41;
  SCOPED_TRACE("CUCKOOGUARD_SEED=" + std::to_string(seed));
  Writer writer(seed);
  for (const bool has_schema : {false, true}) {
    Decoder decoder(wanted(has_schema));
    for (int i = 0; i < kMessages; ++i) {
      const Row after = any_row(writer, has_schema);
      const std::string lsn = std::to_string(writer.below(1ULL << 60));
      const std::string source =
          writer.object({writer.member("connector", "\"postgresql\""),
                         writer.member("name", "\"shop\""),
                         writer.member("db", "\"x\""),
                         writer.member("schema", "\"public\""),
                         writer.member("table", "\"customers\""),
                         writer.member("sequence", writer.string("[\"5\", \"" + lsn + "\"]")),
                         writer.member("lsn", lsn)},
                        writer.below(3));
      std::string value = writer.object({writer.member("before", writer.any(6)),
                                         writer.member("after", after.json),
                                         writer.member("source", source),
                                         writer.member("op", writer.string("u")),
                                         writer.member("ts_ms", "1559033904961")},
                                        writer.below(3));
      value = has_schema ? with_schema(kFields, value) : value;
      const auto change = decoder.decode({.key = {}, .value = value});
      ASSERT_TRUE(change) << change.error().what << "\n" << value;
      ASSERT_EQ(words_of(change->after), words_of(after.values)) << value;
      ASSERT_EQ(std::to_string(change->position->place[1]), lsn) << value;
    }
  }
}

}  // namespace
}  // namespace cuckooguard::debezium
