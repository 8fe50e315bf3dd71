// As a server stored them, and as the same server's SELECT would print them in UTC.
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binlog/event_decoder.h"
#include "binlog/rows.h"
#include "binlog/table_layout.h"
#include "recording.h"

namespace cuckooguard::binlog {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;

std::string written(TextForm form, std::uint8_t digits, const std::string& value) {
  const TextRule rule{.form = form, .scale = digits};
  std::vector<char> scratch(rule.scratch_bytes(), '#');
  const auto text = write_text(rule, value, scratch.data());
  return text ? std::string(*text) : std::string(describe(text.error()));
}

// The first row of the table `wide` (recording/wide.sql), its chosen columns.
std::vector<std::string> first_row(const std::string& recording,
                                   const std::vector<std::uint32_t>& columns) {
  EventDecoder decoder;
  std::optional<RowReader> reader;
  for (const std::string& bytes : recorded_events(recording)) {
    const auto event = decoder.decode(bytes);
    if (!event) {
      break;
    }
    if (const auto* map = std::get_if<TableMap>(&event->body); map && map->table == "wide") {
      const auto layout = TableLayout::parse(*map, decoder.is_mariadb()).value();
      std::vector<ColumnChoice> choices;
      choices.reserve(columns.size());
      for (const std::uint32_t column : columns) {
        choices.push_back({.column = column});
      }
      reader.emplace(RowReader::make(layout, choices).value());
    } else if (const auto* rows = std::get_if<Rows>(&event->body); rows && reader) {
      std::vector<std::string> texts;
      if (reader->open(*rows) && reader->next().value_or(false)) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
          texts.emplace_back(reader->after(i).text);
        }
      }
      return texts;
    }
  }
  return {};
}

TEST(TemporalText, is_what_was_written_into_the_table) {
  for (const std::string recording : {"mariadb_types", "mysql_types"}) {
    SCOPED_TRACE(recording);
    EXPECT_THAT(first_row(recording, {11, 12, 13, 14}),
                ElementsAre("-838:59:59", "12:34:56.7", "-12:34:56.789", "00:00:00.000001"));
    EXPECT_THAT(first_row(recording, {16, 17, 18, 19}),
                ElementsAre("2026-11-21 12:34:56",
                            "2026-11-21 12:34:56.78",
                            "1000-01-01 00:00:00.0001",
                            "9999-12-31 23:59:59.999999"));
    // BIT, ENUM and SET as the numbers that they are.
    EXPECT_THAT(first_row(recording, {3, 4, 5, 26, 27, 29, 30}),
                ElementsAre("1", "87381", "18446744073709551615", "2", "300", "5", "549755813889"));
  }
}

TEST(TemporalText, of_a_timestamp_is_utc) {
  EXPECT_EQ(written(TextForm::timestamp, 0, "\0\0\0\0"s), "0000-00-00 00:00:00");
  EXPECT_EQ(written(TextForm::timestamp, 2, "\0\0\0\0\x63"s), "1970-01-01 00:00:00.99")
      << "what is beyond the range is stored so (seen)";
  EXPECT_EQ(written(TextForm::timestamp, 0, "\0\0\0\1"s), "1970-01-01 00:00:01");
  EXPECT_EQ(written(TextForm::timestamp, 0, "\x7f\xff\xff\xff"s), "2038-01-19 03:14:07");
  EXPECT_EQ(written(TextForm::timestamp, 0, "\xff\xff\xff\xff"s), "2106-02-07 06:28:15");
  EXPECT_EQ(written(TextForm::timestamp, 1, "\0\0\0\1\x3c"s), "1970-01-01 00:00:01.6");
  EXPECT_EQ(written(TextForm::timestamp, 5, "\0\0\0\1\x0f\x42\x36"s), "1970-01-01 00:00:01.99999");
  EXPECT_EQ(written(TextForm::timestamp, 6, "\0\0\0\1\x0f\x42\x40"s),
            "a field has a value that no server writes")
      << "a million millionths";
}

TEST(TemporalText, of_a_datetime_may_have_zeros_as_dates_have) {
  EXPECT_EQ(written(TextForm::datetime, 0, "\x80\0\0\0\0"s), "0000-00-00 00:00:00");
  EXPECT_EQ(written(TextForm::datetime, 0, "\0\0\0\0\0"s),
            "a field has a value that no server writes");
  EXPECT_EQ(written(TextForm::datetime, 0, "\x80\0\x01\x80\0"s),
            "a field has a value that no server writes")
      << "the 24th hour";
}

TEST(TemporalText, of_a_time_below_zero_has_its_fraction_below_zero) {
  EXPECT_EQ(written(TextForm::time, 0, "\x80\0\0"s), "00:00:00");
  EXPECT_EQ(written(TextForm::time, 2, "\x7f\xff\xff\xff"s), "-00:00:00.01");
  EXPECT_EQ(written(TextForm::time, 2, "\x80\0\0\x01"s), "00:00:00.01");
  EXPECT_EQ(written(TextForm::time, 4, "\x7f\xff\xff\xff\xff"s), "-00:00:00.0001");
  EXPECT_EQ(written(TextForm::time, 0, "\xff\xff\xff"s),
            "a field has a value that no server writes");
}

}  // namespace
}  // namespace cuckooguard::binlog
