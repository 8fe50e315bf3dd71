#include "binlog/rows.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_events.h"

namespace cuckooguard::binlog {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;

constexpr std::optional<bool> kUnsigned = true;

// INT, VARCHAR(20), TINYINT, BLOB, without details; or another type instead of the last.
TableLayout four_columns(const std::string& last = "\xfc") {
  const std::string body =
      "\4shop\0\5items\0"s + "\4\x03\x0f\x01"s + last + "\3\x14\x00\x02"s + "\x0f"s;
  return TableLayout::parse({.body = body}, true).value();
}

std::vector<ColumnChoice> first_three() {
  return {
      {.column = 0, .is_unsigned = false}, {.column = 1}, {.column = 2, .is_unsigned = kUnsigned}};
}

std::string printed(const Value& value) {
  return value.state == Value::State::absent ? "-"
         : value.state == Value::State::null ? "NULL"
                                             : std::string(value.text);
}

// Before and after of each row, as "a,b,c>a,b,c"; the last one is the error, if any.
std::vector<std::string> read_all(RowReader& reader, const Rows& rows, std::size_t choices) {
  std::vector<std::string> lines;
  if (const auto opened = reader.open(rows); !opened) {
    return {std::string(describe(opened.error()))};
  }
  for (auto more = reader.next();; more = reader.next()) {
    if (!more) {
      lines.emplace_back(describe(more.error()));
      EXPECT_FALSE(reader.next()) << "for good";
      return lines;
    }
    if (!*more) {
      return lines;
    }
    std::string line;
    for (std::size_t i = 0; i < choices; ++i) {
      line += (i == 0 ? "" : ",") + printed(reader.before(i));
    }
    for (std::size_t i = 0; i < choices; ++i) {
      line += (i == 0 ? ">" : ",") + printed(reader.after(i));
    }
    lines.push_back(line);
  }
}

std::vector<std::string> read_all(const Rows& rows) {
  RowReader reader = RowReader::make(four_columns(), first_three()).value();
  return read_all(reader, rows, 3);
}

Rows written(const std::string& images, const char* columns = "\x0f") {
  return {.kind = RowsKind::write, .column_count = 4, .after_columns = columns, .images = images};
}

const std::string kFirstRow = "\0"s + "\xff\xff\xff\xff"s + "\3abc"s + "\xff"s + "\2\0zz"s;
const std::string kSecondRow = "\x0a"s + "\7\0\0\0"s + "\7"s;  // the VARCHAR and the BLOB are NULL

TEST(RowReader, reads_written_rows_one_after_the_other) {
  EXPECT_THAT(read_all(written(kFirstRow + kSecondRow)),
              ElementsAre("-,-,->-1,abc,255", "-,-,->7,NULL,7"));
}

// The BLOB has no text; it is asked for all the same.
TEST(RowReader, tells_null_from_a_value_of_any_type) {
  auto choices = first_three();
  choices.push_back({.column = 3, .is_null_only = true});
  RowReader reader = RowReader::make(four_columns(), choices).value();
  EXPECT_THAT(read_all(reader, written(kFirstRow + kSecondRow), 4),
              ElementsAre("-,-,-,->-1,abc,255,", "-,-,-,->7,NULL,7,NULL"));
  EXPECT_EQ(reader.open(written(kFirstRow)).has_value() && reader.next().value(), true);
  EXPECT_EQ(reader.after(3).state, Value::State::present);
}

TEST(RowReader, reads_what_was_erased_as_before) {
  const std::string images = kFirstRow + kSecondRow;
  const Rows rows{
      .kind = RowsKind::erase, .column_count = 4, .before_columns = "\x0f", .images = images};
  EXPECT_THAT(read_all(rows), ElementsAre("-1,abc,255>-,-,-", "7,NULL,7>-,-,-"));
}

TEST(RowReader, reads_updates_with_other_columns_before_than_after) {
  // Before: the INT. After: the VARCHAR and the TINYINT.
  const std::string images = "\0\5\0\0\0"s + "\1\x09"s + "\0\6\0\0\0"s + "\0\2xyz"s;
  const Rows rows{.kind = RowsKind::update,
                  .column_count = 4,
                  .before_columns = "\x01",
                  .after_columns = "\x06",
                  .images = images};
  EXPECT_THAT(read_all(rows), ElementsAre("5,-,->-,NULL,9", "6,-,->-,xy,122"));
}

// Of three JSON columns: a bit for each, and of the second one, which is not NULL, three bytes.
TEST(RowReader, reads_over_what_has_changed_of_json_values) {
  const TableLayout layout =
      TableLayout::parse(
          {.body = "\4shop\0\5items\0"s + "\4\x03\xf5\xf5\xf5"s + "\3\4\4\4"s + "\x0f"s}, false)
          .value();
  RowReader reader =
      RowReader::make(layout, std::vector<ColumnChoice>{{.column = 0, .is_unsigned = false}})
          .value();
  const std::string before = "\x0a"s + "\5\0\0\0"s + "\1\0\0\0j"s;
  const std::string after = "\x0a"s + "\6\0\0\0"s + "\3\0\0\0abc"s;
  const auto updated = [](const std::string& images) {
    return Rows{.kind = RowsKind::update,
                .is_partial = true,
                .column_count = 4,
                .before_columns = "\x0f",
                .after_columns = "\x0f",
                .images = images};
  };
  const std::string partly = before + "\1\2"s + after;
  const std::string wholly = before + "\0"s + after;
  EXPECT_THAT(read_all(reader, updated(partly), 1), ElementsAre("5>6"));
  EXPECT_THAT(read_all(reader, updated(partly + wholly + partly), 1),
              ElementsAre("5>6", "5>6", "5>6"));
  const std::string unknown = before + "\2\2"s + after;
  EXPECT_THAT(read_all(reader, updated(unknown), 1),
              ElementsAre(std::string(describe(DecodeError::malformed))));
  const std::string cut_off = before + "\1"s;
  EXPECT_THAT(read_all(reader, updated(cut_off), 1),
              ElementsAre(std::string(describe(DecodeError::truncated))));
}

TEST(RowReader, counts_nulls_among_the_columns_that_are_there) {
  const std::string images = "\2\1\0\0\0"s;  // of the INT and the BLOB the second one
  EXPECT_THAT(read_all(written(images, "\x09")), ElementsAre("-,-,->1,-,-"));
}

TEST(RowReader, forgets_the_columns_of_the_event_before) {
  RowReader reader = RowReader::make(four_columns(), first_three()).value();
  EXPECT_THAT(read_all(reader, written(kFirstRow), 3), ElementsAre("-,-,->-1,abc,255"));
  EXPECT_THAT(read_all(reader, written("\0\1\0\0\0"s, "\x01"), 3), ElementsAre("-,-,->1,-,-"));
  EXPECT_THAT(read_all(reader, written(kFirstRow), 3), ElementsAre("-,-,->-1,abc,255"));
}

TEST(RowReader, refuses_rows_that_are_cut) {
  for (std::size_t size = 1; size < kFirstRow.size(); ++size) {
    EXPECT_THAT(read_all(written(kFirstRow.substr(0, size))),
                ElementsAre(describe(DecodeError::truncated)))
        << size;
  }
  EXPECT_THAT(read_all(written(kFirstRow + "\0"s)),
              ElementsAre("-,-,->-1,abc,255", describe(DecodeError::truncated)));
}

TEST(RowReader, refuses_rows_of_a_table_with_another_number_of_columns) {
  Rows rows = written(kFirstRow);
  rows.column_count = 3;
  EXPECT_THAT(read_all(rows), ElementsAre(describe(DecodeError::unknown_table)));
}

TEST(RowReader, takes_the_event_that_only_ends_a_statement_for_no_rows) {
  EXPECT_THAT(read_all({.table_id = Rows::kNoTable}), ElementsAre());
}

TEST(RowReader, does_not_go_round_in_rows_of_no_columns) {
  EXPECT_THAT(read_all(written(kFirstRow, "\0")), ElementsAre(describe(DecodeError::malformed)));
}

TEST(RowReader, refuses_choices_that_it_cannot_serve) {
  const TableLayout layout = four_columns();
  const auto error_of = [&](std::vector<ColumnChoice> choices) {
    return RowReader::make(layout, choices).error();
  };
  EXPECT_EQ(error_of({{.column = 4}}), DecodeError::no_such_column);
  EXPECT_EQ(error_of({{.column = 1}, {.column = 1}}), DecodeError::no_such_column);
  const TableLayout with_json = four_columns("\xf5");
  const ColumnChoice json[] = {{.column = 3}};
  EXPECT_EQ(RowReader::make(with_json, json).error(), DecodeError::no_text_form);
  EXPECT_EQ(error_of({{.column = 0}}), DecodeError::signedness_unknown);
}

TEST(RowReader, believes_the_log_before_the_caller) {
  // CHAR(4), BINARY(4), INT UNSIGNED: with collations and signs.
  const std::string body = "\4shop\0\5items\0"s + "\3\xfe\xfe\x03"s + "\4\xfe\4\xfe\4"s + "\0"s +
                           "\3\2\x2d\x3f"s + "\1\1\x80"s;
  const TableLayout layout = TableLayout::parse({.body = body}, true).value();
  const ColumnChoice choices[] = {{.column = 0, .is_binary = true},
                                  {.column = 1, .is_binary = false},
                                  {.column = 2, .is_unsigned = false}};
  RowReader reader = RowReader::make(layout, choices).value();
  const std::string images = "\0\1a\1b"s + "\xff\xff\xff\xff"s;
  const Rows rows{
      .kind = RowsKind::write, .column_count = 3, .after_columns = "\7", .images = images};
  EXPECT_THAT(read_all(reader, rows, 3), ElementsAre("-,-,->a,b\0\0\0,4294967295"s));
}

TEST(RowReader, asks_whether_it_is_char_or_binary_if_the_log_does_not_say) {
  const std::string body = "\4shop\0\5items\0"s + "\1\xfe"s + "\2\xfe\4"s + "\0"s;
  const TableLayout layout = TableLayout::parse({.body = body}, true).value();
  const ColumnChoice unknown{.column = 0};
  EXPECT_EQ(RowReader::make(layout, {&unknown, 1}).error(), DecodeError::charset_unknown);
  const ColumnChoice binary{.column = 0, .is_binary = true};
  RowReader reader = RowReader::make(layout, {&binary, 1}).value();
  const std::string images = "\0\1a\0\5abcde"s;
  const Rows rows{
      .kind = RowsKind::write, .column_count = 1, .after_columns = "\1", .images = images};
  EXPECT_THAT(read_all(reader, rows, 1),
              ElementsAre("->a\0\0\0"s, describe(DecodeError::malformed)));
}

TEST(RowReader, takes_no_new_memory_for_a_row) {
  RowReader reader = RowReader::make(four_columns(), first_three()).value();
  const std::string images = kFirstRow + kFirstRow;
  ASSERT_TRUE(reader.open(written(images)));
  ASSERT_TRUE(reader.next().value());
  const char* const number = reader.after(0).text.data();
  EXPECT_EQ(reader.after(1).text.data(), images.data() + images.find("abc"));
  ASSERT_TRUE(reader.next().value());
  EXPECT_EQ(reader.after(0).text.data(), number);
  EXPECT_EQ(reader.after(1).text.data(), images.data() + images.rfind("abc"));
}

TEST(RowReader, keeps_its_texts_when_it_is_moved) {
  RowReader reader = RowReader::make(four_columns(), first_three()).value();
  const Rows rows = written(kFirstRow);
  ASSERT_TRUE(reader.open(rows));
  ASSERT_TRUE(reader.next().value());
  const RowReader moved = std::move(reader);
  EXPECT_EQ(moved.after(0).text, "-1");
  EXPECT_EQ(moved.after(2).text, "255");
}

}  // namespace
}  // namespace cuckooguard::binlog
