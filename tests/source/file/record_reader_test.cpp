#include "file/record_reader.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::source {
namespace {

using config::FileFormat;
using Records = std::vector<std::vector<std::string>>;

struct Result {
  Records records;
  std::string error;
  bool operator==(const Result&) const = default;
};

// Gives the text to the reader in pieces of at most `piece` bytes.
RecordReader::Read in_pieces(const std::string& text, std::size_t piece) {
  return [&text, piece, at = std::size_t{0}](std::span<char> buffer) mutable {
    const std::size_t bytes = std::min({piece, buffer.size(), text.size() - at});
    std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(at), bytes, buffer.begin());
    at += bytes;
    return std::expected<std::size_t, std::string>(bytes);
  };
}

Result read_all(FileFormat format, const std::string& text, std::size_t piece) {
  RecordReader reader(format, in_pieces(text, piece));
  Result result;
  for (;;) {
    const auto record = reader.next();
    if (!record) {
      result.error = record.error();
      return result;
    }
    if (record->empty()) {
      return result;
    }
    result.records.emplace_back(record->begin(), record->end());
  }
}

// The same however the text arrives.
Result read(FileFormat format, const std::string& text) {
  const Result whole = read_all(format, text, text.size() + 1);
  for (std::size_t piece = 1; piece <= std::min<std::size_t>(text.size(), 40); ++piece) {
    EXPECT_EQ(read_all(format, text, piece), whole) << "pieces of " << piece;
  }
  return whole;
}

Records lines(const std::string& text) {
  return read(FileFormat::lines, text).records;
}
Records csv(const std::string& text) {
  const Result result = read(FileFormat::csv, text);
  EXPECT_EQ(result.error, "");
  return result.records;
}
std::string csv_error(const std::string& text) {
  return read(FileFormat::csv, text).error;
}

TEST(RecordReader, a_line_is_a_record) {
  EXPECT_EQ(lines("a\nb\n"), (Records{{"a"}, {"b"}}));
  EXPECT_EQ(lines("a\nb"), (Records{{"a"}, {"b"}}));
  EXPECT_EQ(lines("a\r\n\r\n\nb,\"c\r\n"), (Records{{"a"}, {"b,\"c"}}));
  EXPECT_EQ(lines(""), Records{});
  EXPECT_EQ(lines("\n\n"), Records{});
}

TEST(RecordReader, a_byte_order_mark_is_no_part_of_the_first_record) {
  EXPECT_EQ(lines("\xEF\xBB\xBF"
                  "a\nb"),
            (Records{{"a"}, {"b"}}));
  EXPECT_EQ(csv("\xEF\xBB\xBF\"id\",x\n1,2"), (Records{{"id", "x"}, {"1", "2"}}));
}

TEST(RecordReader, csv_fields_stand_between_commas) {
  EXPECT_EQ(csv("id,name\r\n1,a\r\n2,\r\n,\r\n"),
            (Records{{"id", "name"}, {"1", "a"}, {"2", ""}, {"", ""}}));
  EXPECT_EQ(csv("1, a ,2"), (Records{{"1", " a ", "2"}}));
}

TEST(RecordReader, quoted_fields_hold_commas_line_ends_and_quotes) {
  EXPECT_EQ(csv("\"a,b\",\"c\r\nd\",\"say \"\"hi\"\"\"\nx,y,z\n"),
            (Records{{"a,b", "c\r\nd", "say \"hi\""}, {"x", "y", "z"}}));
  EXPECT_EQ(csv("\"\",\"\"\"\"\n"), (Records{{"", "\""}}));
  EXPECT_EQ(csv("a,\"b\""), (Records{{"a", "b"}}));
}

TEST(RecordReader, what_is_no_csv_is_an_error_with_its_line) {
  EXPECT_EQ(csv_error("a\n\"b\nc\"x,1\n"), "line 2: text after a closing quote");
  EXPECT_EQ(csv_error("a\nb\nc\"d\"\n"), "line 3: a quote inside an unquoted field");
  EXPECT_EQ(csv_error("a\n\"b\nc\n"), "line 2: a quoted field has no closing quote");
}

TEST(RecordReader, records_longer_than_the_limit_are_an_error_and_not_memory) {
  std::size_t given = 0;
  RecordReader reader(FileFormat::lines, [&given](std::span<char> buffer) {
    std::ranges::fill(buffer, 'x');
    given += buffer.size();
    return std::expected<std::size_t, std::string>(buffer.size());
  });
  const auto record = reader.next();
  ASSERT_FALSE(record.has_value());
  EXPECT_THAT(record.error(), testing::HasSubstr("longer than 1 MiB"));
  EXPECT_LE(given, RecordReader::kRecordBytesMax + 2 * RecordReader::kChunkBytes);
}

TEST(RecordReader, a_file_that_cannot_be_read_is_an_error) {
  RecordReader reader(FileFormat::csv, [](std::span<char>) {
    return std::expected<std::size_t, std::string>(std::unexpected("broken disk"));
  });
  EXPECT_EQ(reader.next().error(), "broken disk");
}

}  // namespace
}  // namespace cuckooguard::source
