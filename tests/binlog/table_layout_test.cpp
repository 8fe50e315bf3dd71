#include "binlog/table_layout.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_events.h"
#include "recording.h"

namespace cuckooguard::binlog {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;

// A table map's body; `details` are the fields behind the columns.
std::string body_of(const std::string& types,
                    const std::string& metadata,
                    const std::string& details = "",
                    const std::string& nullable = "\0"s) {
  return "\4shop\0\5items\0"s + static_cast<char>(types.size()) + types +
         static_cast<char>(metadata.size()) + metadata + nullable + details;
}

std::expected<TableLayout, DecodeError> parsed(const std::string& body, bool is_mariadb = false) {
  return TableLayout::parse({.table_id = 1, .body = body}, is_mariadb);
}

std::expected<TableLayout, DecodeError> with_details(const std::string& details) {
  // BIGINT, VARCHAR(20), CHAR(4), FLOAT, INT
  return parsed(body_of("\x08\x0f\xfe\x04\x03"s, "\x14\x00\xfe\x04\x04"s, details));
}

// The layout of a table as a server announced it first.
TableLayout recorded_layout(const std::string& recording, std::string_view table) {
  EventDecoder decoder;
  for (const std::string& bytes : recorded_events(recording)) {
    const auto event = decoder.decode(bytes);
    const auto* map = event ? std::get_if<TableMap>(&event->body) : nullptr;
    if (map != nullptr && map->table == table) {
      return TableLayout::parse(*map, decoder.is_mariadb()).value();
    }
  }
  throw std::runtime_error("no such table in the recording");
}

TEST(TableLayout, knows_all_that_a_server_says_with_full_metadata) {
  for (const std::string recording : {"mariadb_types_full", "mysql_types_full"}) {
    SCOPED_TRACE(recording);
    const TableLayout layout = recorded_layout(recording, "texts");
    EXPECT_EQ(layout.schema(), "recorded");
    EXPECT_EQ(layout.table(), "texts");
    ASSERT_EQ(layout.columns().size(), 13U);
    EXPECT_THAT(layout.primary_key(), ElementsAre(PrimaryKeyPart{.column = 0}));
    const Column& id = layout.columns()[0];
    EXPECT_EQ(id.name, "id");
    EXPECT_EQ(id.shape, (ColumnShape{.type = ColumnType::varchar, .length = 80}));
    EXPECT_FALSE(id.is_nullable);
    const Column& binary = layout.columns()[8];
    EXPECT_EQ(binary.name, "b");
    EXPECT_EQ(binary.shape, (ColumnShape{.type = ColumnType::string, .length = 16}));
    EXPECT_EQ(binary.collation, Column::kBinaryCollation);
    EXPECT_TRUE(binary.is_nullable);
    const Column& wide = layout.columns()[3];
    EXPECT_EQ(wide.shape, (ColumnShape{.type = ColumnType::string, .length = 400}));
    EXPECT_EQ(wide.storage.prefix_bytes, 2);
    EXPECT_EQ(layout.columns()[11].collation, 8U);   // latin1_swedish_ci
    EXPECT_EQ(layout.columns()[12].collation, 47U);  // latin1_bin
  }
}

TEST(TableLayout, gives_collations_to_the_right_columns_among_types_that_have_one_or_not) {
  for (const std::string recording : {"mariadb_types_full", "mysql_types_full", "mysql_types"}) {
    SCOPED_TRACE(recording);
    const TableLayout layout = recorded_layout(recording, "wide");
    EXPECT_EQ(layout.columns().back().collation,
              11U);  // ascii_general_ci, behind JSON and geometries
    EXPECT_EQ(layout.columns()[25].collation, Column::kBinaryCollation);
  }
  const TableLayout layout = recorded_layout("mariadb_types_full", "only_mariadb");
  EXPECT_EQ(layout.columns()[6].collation, 8U);  // latin1, behind UUID, INET6, INET4
  EXPECT_EQ(layout.columns()[13].collation,
            45U);  // utf8mb4, behind compressed columns and a geometry
}

TEST(TableLayout, leaves_unknown_what_mariadb_does_not_say_by_default) {
  const TableLayout layout = recorded_layout("mariadb_types", "ints");
  EXPECT_EQ(layout.columns().size(), 12U);
  for (const Column& column : layout.columns()) {
    EXPECT_EQ(column.is_unsigned, std::nullopt);
    EXPECT_EQ(column.name, "");
  }
  EXPECT_TRUE(layout.primary_key().empty());
}

TEST(TableLayout, knows_which_integers_are_unsigned_with_minimal_metadata) {
  for (const std::string recording : {"mariadb_types_minimal", "mysql_types"}) {
    const TableLayout layout = recorded_layout(recording, "ints");
    std::string signs;
    for (const Column& column : layout.columns()) {
      signs += !column.is_unsigned ? '?' : *column.is_unsigned ? 'u' : 'i';
    }
    EXPECT_EQ(signs, "iiuiuiuiuuiu") << recording;
  }
}

TEST(TableLayout, is_the_same_until_a_byte_differs) {
  const std::string body = body_of("\x08"s, "");
  const auto layout = parsed(body);
  ASSERT_TRUE(layout);
  EXPECT_TRUE(layout->is_same({.table_id = 2, .body = body}));
  std::string other = body;
  other.back() = '\1';
  EXPECT_FALSE(layout->is_same({.table_id = 1, .body = other}));
}

TEST(TableLayout, keeps_its_names_when_it_is_moved_and_the_event_is_gone) {
  std::optional<TableLayout> kept;
  {
    std::string body = body_of("\x08"s, "", "\4\3\2id"s);
    auto layout = parsed(body);
    ASSERT_TRUE(layout);
    kept.emplace(std::move(*layout));
    body.assign(body.size(), 'x');
  }
  EXPECT_EQ(kept->table(), "items");
  EXPECT_EQ(kept->columns()[0].name, "id");
}

TEST(TableLayout, takes_the_default_collation_but_for_the_columns_that_have_another) {
  const auto layout = with_details("\2\3\x2d\1\x3f"s);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->columns()[0].collation, std::nullopt);
  EXPECT_EQ(layout->columns()[1].collation, 45U);
  EXPECT_EQ(layout->columns()[2].collation, 63U);
}

TEST(TableLayout, knows_the_key_parts_that_are_prefixes) {
  const auto layout = with_details("\x09\4\2\0\1\x0a"s);
  ASSERT_TRUE(layout);
  EXPECT_THAT(layout->primary_key(),
              ElementsAre(PrimaryKeyPart{.column = 2, .prefix = 0},
                          PrimaryKeyPart{.column = 1, .prefix = 10}));
}

TEST(TableLayout, steps_over_details_that_it_does_not_know) {
  const auto layout = with_details("\x63\3abc\1\1\x80"s);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->columns()[0].is_unsigned, true);
  EXPECT_EQ(layout->columns()[4].is_unsigned, false);
}

TEST(TableLayout, refuses_details_that_do_not_fit_the_columns) {
  EXPECT_EQ(with_details("\1\0"s).error(), DecodeError::malformed) << "no bit for a number";
  EXPECT_EQ(with_details("\1\2\0\0"s).error(), DecodeError::malformed) << "bits for more numbers";
  EXPECT_EQ(with_details("\3\1\x2d"s).error(), DecodeError::malformed) << "one collation of two";
  EXPECT_EQ(with_details("\3\3\x2d\x2d\x2d"s).error(), DecodeError::malformed) << "three of two";
  EXPECT_EQ(with_details("\2\3\x2d\2\x3f"s).error(), DecodeError::malformed) << "of a third";
  EXPECT_EQ(with_details("\4\2\1a"s).error(), DecodeError::malformed) << "one name of five";
  EXPECT_EQ(with_details("\x08\1\5"s).error(), DecodeError::malformed) << "a key of a sixth column";
  EXPECT_EQ(with_details("\4\x09\1a"s).error(), DecodeError::truncated);
}

TEST(TableLayout, refuses_types_whose_length_nobody_knows) {
  EXPECT_EQ(parsed(body_of("\x14"s, "\x08"s)).error(), DecodeError::malformed) << "typed array";
  EXPECT_EQ(parsed(body_of("\x15"s, "")).error(), DecodeError::malformed) << "a type to come";
  EXPECT_EQ(parsed(body_of("\x04"s, "\x08"s)).error(), DecodeError::malformed)
      << "FLOAT of 8 bytes";
  EXPECT_EQ(parsed(body_of("\xfc"s, "\x05"s)).error(), DecodeError::malformed) << "BLOB of 5";
  EXPECT_EQ(parsed(body_of("\x12"s, "\x07"s)).error(), DecodeError::malformed) << "DATETIME(7)";
  EXPECT_EQ(parsed(body_of("\xf6"s, "\x42\x00"s)).error(), DecodeError::malformed) << "66 digits";
  EXPECT_EQ(parsed(body_of("\xf6"s, "\x02\x03"s)).error(), DecodeError::malformed);
  EXPECT_EQ(parsed(body_of("\xfe"s, "\xf7\x03"s)).error(), DecodeError::malformed) << "ENUM of 3";
}

TEST(TableLayout, refuses_metadata_that_is_too_short_or_too_long) {
  EXPECT_EQ(parsed(body_of("\x0f"s, "\x14"s)).error(), DecodeError::malformed);
  EXPECT_EQ(parsed(body_of("\x0f"s, "\x14\x00\x00"s)).error(), DecodeError::malformed);
  EXPECT_EQ(parsed(body_of("\x0f"s, "\x14\x00"s, "", "")).error(), DecodeError::truncated);
}

TEST(TableLayout, refuses_old_temporal_columns_of_mariadb_only) {
  for (const std::string& type : {"\x07"s, "\x0b"s, "\x0c"s}) {
    EXPECT_EQ(parsed(body_of(type, ""), true).error(), DecodeError::old_temporal);
    EXPECT_TRUE(parsed(body_of(type, ""), false));
  }
}

}  // namespace
}  // namespace cuckooguard::binlog
