// What servers logged of tables (tests/binlog/recorded), beside the definitions that these were
// made by.
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binlog/event_decoder.h"
#include "binlog/recording.h"
#include "mysql/log_applier.h"

namespace cuckooguard::source::mysql {
namespace {

using binlog::TableLayout;
using testing::HasSubstr;
using testing::IsEmpty;

// As a server announced the table first.
TableLayout recorded_layout(const std::string& recording, std::string_view table) {
  binlog::EventDecoder decoder;
  for (const std::string& bytes : binlog::recorded_events(recording)) {
    const auto event = decoder.decode(bytes);
    const auto* map = event ? std::get_if<binlog::TableMap>(&event->body) : nullptr;
    if (map != nullptr && map->table == table) {
      return TableLayout::parse(*map, decoder.is_mariadb()).value();
    }
  }
  throw std::runtime_error("no such table in the recording");
}

Column planned(const std::string& column_type,
               const std::string& charset = "",
               std::uint32_t bytes = 0,
               bool nullable = true) {
  Column column{.name = "c",
                .data_type = column_type.substr(0, column_type.find_first_of("( ")),
                .column_type = column_type,
                .charset = charset};
  column.bytes = bytes;
  column.nullable = nullable;
  return column;
}

std::string labels(const std::string& type, int count) {
  std::string text = type + "(";
  for (int i = 0; i < count; ++i) {
    text += (i == 0 ? "'l" : ",'l") + std::to_string(i) + "'";
  }
  return text + ")";
}

// tests/binlog/recording/wide.sql
std::vector<Column> wide(bool is_mariadb) {
  return {planned("int(10) unsigned", "", 0, false),
          planned("tinyint(1)"),
          planned("int unsigned"),
          planned("bit(1)"),
          planned("bit(17)"),
          planned("bit(64)"),
          planned("tinyint(3) unsigned"),
          planned("float"),
          planned("double"),
          planned("double unsigned"),
          planned("varchar(10)", "utf8mb4", 40),
          planned("time"),
          planned("time(1)"),
          planned("time(3)"),
          planned("time(6)"),
          planned("smallint unsigned"),
          planned("datetime"),
          planned("datetime(2)"),
          planned("datetime(4)"),
          planned("datetime(6)"),
          planned("char(3)", "utf8mb4", 12),
          planned("timestamp"),
          planned("timestamp(1)"),
          planned("timestamp(5)"),
          planned("timestamp(6)"),
          planned("binary(4)", "", 4),
          planned("enum('a','it''s','c,d')", "latin1", 4),
          planned(labels("enum", 300), "utf8mb4"),
          planned("decimal(6,2)"),
          planned("set('x','y','z')", "utf8mb4"),
          planned(labels("set", 40), "utf8mb4"),
          planned("mediumint unsigned"),
          planned("tinyblob"),
          planned("blob"),
          planned("mediumblob"),
          planned("longblob"),
          planned("date"),
          planned("tinytext", "utf8mb4", 255),
          planned("text", "utf8mb4", 65535),
          planned("mediumtext", "latin1", 16777215),
          planned("longtext", "utf8mb4", 4294967295),
          planned("year(4)"),
          planned(is_mariadb ? "longtext" : "json", is_mariadb ? "utf8mb4" : ""),
          planned("point"),
          planned("geometry"),
          planned("bigint(20) unsigned"),
          planned("varchar(10)", "ascii", 10)};
}

TEST(LoggedColumn, of_every_type_is_the_planned_one_on_every_server) {
  for (const std::string recording : {"mariadb_types",
                                      "mariadb_types_minimal",
                                      "mariadb_types_full",
                                      "mariadb_11_types_full",
                                      "mysql_types",
                                      "mysql_types_full"}) {
    const TableLayout layout = recorded_layout(recording, "wide");
    const auto columns = wide(recording.starts_with("mariadb"));
    ASSERT_EQ(layout.columns().size(), columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      EXPECT_EQ(why_not_the_same(columns[i], layout.columns()[i], true), std::nullopt)
          << recording << ", column " << i;
    }
  }
}

TEST(LoggedColumn, of_a_type_that_one_server_has_is_the_planned_one) {
  const TableLayout mariadb = recorded_layout("mariadb_types_full", "only_mariadb");
  const Column types[] = {planned("int(11)", "", 0, false),
                          planned("uuid"),
                          planned("bigint(20) unsigned"),
                          planned("inet6"),
                          planned("bigint(20) unsigned"),
                          planned("inet4"),
                          planned("char(4)", "latin1", 4),
                          planned("varchar(100) /*M!100301 COMPRESSED*/", "latin1", 100),
                          planned("bigint(20) unsigned"),
                          planned("blob /*M!100301 COMPRESSED*/")};
  for (std::size_t i = 0; i < std::size(types); ++i) {
    EXPECT_EQ(why_not_the_same(types[i], mariadb.columns()[i], true), std::nullopt) << i;
  }
  const TableLayout mysql = recorded_layout("mysql_types_full", "only_mysql");
  EXPECT_EQ(why_not_the_same(planned("vector(3)"), mysql.columns()[1], true), std::nullopt);
}

// Each is no other type of the table, but those that are logged alike.
TEST(LoggedColumn, is_no_column_of_another_kind_even_if_it_is_not_read) {
  const TableLayout layout = recorded_layout("mysql_types", "wide");
  const auto columns = wide(false);
  const auto kind = [](const Column& column) {
    const std::string& type = column.data_type;
    return type == "binary"                                   ? "char"
           : type.ends_with("text") || type.ends_with("blob") ? "text"
                                                              : type;
  };
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const std::string types[] = {kind(columns[i]), kind(columns[k])};
      if (types[0] == types[1] || types[0] == "geometry" || types[0] == "point") {
        continue;  // the last two are taken as they come
      }
      EXPECT_TRUE(why_not_the_same(columns[i], layout.columns()[k], false)) << i << " as " << k;
    }
  }
}

TEST(LoggedColumn, that_is_read_is_the_planned_one_in_every_detail) {
  struct Case {
    std::size_t column;
    Column planned;
    const char* words;
  };
  const Case cases[] = {
      {2, planned("int"), "is int in the schema and UNSIGNED in the log"},
      {0, planned("int unsigned"), "is NOT NULL in the log"},
      {4, planned("bit(16)"), "another size"},
      {10, planned("varchar(11)", "utf8mb4", 44), "another size"},
      {20, planned("char(12)", "", 12), ""},
      {25, planned("char(1)", "utf8mb4", 4), "another character set"},
      {13, planned("time"), "another size"},
      {17, planned("datetime(1)"), "another size"},
      {24, planned("timestamp(5)"), "another size"},
      {27, planned("enum('a')", "utf8mb4"), "another size"},
      {28, planned("decimal(7,2)"), "another size"},
      {28, planned("decimal(6,3)"), "another size"},
      {30, planned("set('a')", "utf8mb4"), "another size"},
  };
  const TableLayout layout = recorded_layout("mysql_types", "wide");
  for (const Case& each : cases) {
    const auto why = why_not_the_same(each.planned, layout.columns()[each.column], true);
    EXPECT_EQ(why.has_value(), *each.words != '\0') << each.column;
    EXPECT_THAT(why.value_or(""), HasSubstr(each.words));
  }
}

// It says nothing of where the columns are that are read.
TEST(LoggedColumn, that_is_not_read_may_be_longer_or_have_another_character_set) {
  const TableLayout layout = recorded_layout("mysql_types", "wide");
  EXPECT_EQ(
      why_not_the_same(planned("varchar(99)", "ascii", 99, false), layout.columns()[10], false),
      std::nullopt);
  EXPECT_EQ(why_not_the_same(planned("enum('a')", "ascii"), layout.columns()[27], false),
            std::nullopt);
  EXPECT_EQ(why_not_the_same(planned("a type of next year"), layout.columns()[10], true),
            std::nullopt);
}

}  // namespace
}  // namespace cuckooguard::source::mysql
