#include "debezium/position.h"

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::debezium {
namespace {

Position read(Connector connector, const SourceFields& fields) {
  Position position;
  std::string_view log;
  EXPECT_EQ(read_position(connector, fields, position, log), "");
  return position;
}

std::string_view missing(Connector connector, const SourceFields& fields) {
  Position position;
  std::string_view log;
  return read_position(connector, fields, position, log);
}

SourceFields binlog(std::string_view file, std::string_view pos, std::string_view row) {
  return {.file = file, .pos = pos, .row = row};
}

SourceFields oracle(std::string_view commit_scn,
                    std::string_view scn,
                    std::string_view rs_id,
                    std::string_view ssn) {
  return {.commit_scn = commit_scn, .scn = scn, .rs_id = rs_id, .ssn = ssn};
}

TEST(Position, orders_binary_logs_by_the_number_of_their_file_and_not_by_its_text) {
  const std::vector<SourceFields> later = {binlog("bin.9", "10000", "7"),
                                           binlog("bin.000010", "4", "0"),
                                           binlog("bin.000010", "4", "1"),
                                           binlog("bin.000010", "10", "0"),
                                           binlog("bin.999999", "4", "0"),
                                           binlog("bin.1000000", "4", "0")};
  for (std::size_t i = 1; i < later.size(); ++i) {
    EXPECT_LT(read(Connector::mysql, later[i - 1]), read(Connector::mysql, later[i])) << i;
  }
}

TEST(Position, orders_postgres_by_commits_and_not_by_places_in_the_log) {
  // The second transaction has committed behind the first, and changed its row before that did.
  const auto first = read(Connector::postgresql, {.sequence = R"(["100","250"])", .lsn = "250"});
  const auto second = read(Connector::postgresql, {.sequence = R"(["300","200"])", .lsn = "200"});
  EXPECT_LT(first, second);
  EXPECT_LT(read(Connector::postgresql, {.sequence = R"([null,"999"])"}), first);
}

TEST(Position, orders_sql_server_by_commit_change_and_serial_number) {
  const auto at = [](std::string_view commit, std::string_view change, std::string_view serial) {
    return read(Connector::sqlserver,
                {.commit_lsn = commit, .change_lsn = change, .event_serial_no = serial});
  };
  EXPECT_LT(at("00000027:00000758:0005", "00000027:00000758:0003", "1"),
            at("00000027:00000758:0005", "00000027:00000758:0003", "2"));
  EXPECT_LT(at("00000027:00000758:0005", "00000027:00000758:0003", "2"),
            at("00000027:00000758:0005", "00000027:00000758:0004", "1"));
  EXPECT_LT(at("00000027:00000758:0005", "ffffffff:ffffffff:ffff", "9"),
            at("00000027:00000758:0006", "00000027:00000758:0003", "1"));
  EXPECT_LT(at("00000027:ffffffff:0005", "00000027:00000758:0003", "1"),
            at("00000028:00000000:0005", "00000027:00000758:0003", "1"));
}

TEST(Position, orders_oracle_by_commits_first) {
  const auto early = read(Connector::oracle, oracle("100", "90", "0x00002a.00001b42.0010", "0"));
  const auto late = read(Connector::oracle, oracle("101", "80", "0x000001.00000001.0010", "0"));
  EXPECT_LT(early, late);
  EXPECT_LT(early, read(Connector::oracle, oracle("100", "90", "00002a.00001b42.0010", "1")));
  EXPECT_LT(early, read(Connector::oracle, oracle("100", "90", " 0x00002a.00001b43.0010 ", "0")));
}

TEST(Position, has_rows_of_an_oracle_snapshot_behind_all_that_they_show) {
  const auto row = read(Connector::oracle, {.scn = "100", .is_snapshot = true});
  EXPECT_LT(read(Connector::oracle, oracle("100", "100", "ffffff.ffffffff.ffff", "4294967295")),
            row);
  EXPECT_LT(row, read(Connector::oracle, oracle("101", "99", "000000.00000000.0000", "0")));
}

TEST(Position, names_the_field_that_is_missing_or_no_place) {
  EXPECT_EQ(missing(Connector::mysql, binlog("", "4", "0")), "file");
  EXPECT_EQ(missing(Connector::mysql, binlog("bin", "4", "0")), "file");
  EXPECT_EQ(missing(Connector::mysql, binlog("bin.x", "4", "0")), "file");
  EXPECT_EQ(missing(Connector::mariadb, binlog("bin.1", "-4", "0")), "pos");
  EXPECT_EQ(missing(Connector::mariadb, binlog("bin.1", "4", "x")), "row");
  EXPECT_EQ(missing(Connector::postgresql, {.lsn = "24023128"}), "sequence");
  EXPECT_EQ(missing(Connector::postgresql, {.sequence = R"(["1"])"}), "sequence");
  EXPECT_EQ(missing(Connector::postgresql, {.sequence = R"(["1",null])"}), "sequence");
  EXPECT_EQ(missing(Connector::postgresql, {.sequence = R"(["1","2","3"])"}), "sequence");
  EXPECT_EQ(missing(Connector::sqlserver, {.commit_lsn = "NULL"}), "commit_lsn");
  EXPECT_EQ(missing(Connector::sqlserver, {.commit_lsn = "1:2:3"}), "change_lsn");
  EXPECT_EQ(missing(Connector::sqlserver, {.commit_lsn = "1:2:10000"}), "commit_lsn");
  EXPECT_EQ(missing(Connector::oracle, {.scn = "5"}), "commit_scn");
  EXPECT_EQ(missing(Connector::oracle, oracle("5", "5", "", "")), "rs_id");
  EXPECT_EQ(missing(Connector::oracle, {.scn = "x", .is_snapshot = true}), "scn");
}

TEST(Position, reads_any_number_that_fits_and_no_other) {
  EXPECT_EQ(number_in("0"), 0U);
  EXPECT_EQ(number_in("1234567890123456789"), 1234567890123456789U);
  EXPECT_EQ(number_in("18446744073709551615"), 18446744073709551615U);
  for (const std::string_view text : {"", "-1", "1.0", "18446744073709551616", "1 ", "1e3"}) {
    EXPECT_EQ(number_in(text), std::nullopt) << text;
  }
}

TEST(Position, does_not_compare_with_one_of_another_connector) {
  const Position mysql{.connector = Connector::mysql, .place = {1, 2, 3, 0}};
  Position mariadb = mysql;
  mariadb.connector = Connector::mariadb;
  EXPECT_EQ(mysql <=> mariadb, std::partial_ordering::unordered);
}

TEST(Position, says_which_part_of_the_origin_differs) {
  const Origin origin{.connector = Connector::mysql, .server = "shop", .log = "bin"};
  Origin other = origin;
  EXPECT_EQ(why_incomparable(origin, other), std::nullopt);
  other.log = "master-bin";
  EXPECT_EQ(why_incomparable(origin, other), "the binary log is master-bin instead of bin");
  other.server = "store";
  EXPECT_EQ(why_incomparable(origin, other),
            "the connector's topic.prefix is store instead of shop");
  other.connector = Connector::sqlserver;
  EXPECT_EQ(why_incomparable(origin, other), "the connector is sqlserver instead of mysql");
}

TEST(Place, is_written_as_people_know_it) {
  const auto text = [](Connector connector, std::string log, std::array<std::uint64_t, 4> place) {
    return Place{.origin = {.connector = connector, .server = "shop", .log = std::move(log)},
                 .position = {.connector = connector, .place = place}}
        .text();
  };
  EXPECT_EQ(text(Connector::mysql, "mysql-bin", {3, 154, 0, 0}),
            "mysql shop mysql-bin.000003 154 0");
  EXPECT_EQ(text(Connector::postgresql, "", {0x16'B374D848, 0x16'B374D900, 0, 0}),
            "postgresql shop 16/B374D848 16/B374D900");
  EXPECT_EQ(text(Connector::sqlserver, "my db", {0x27'00000758, 5, 0x27'00000758, 3UL << 32 | 1}),
            "sqlserver shop my%20db 00000027:00000758:0005 00000027:00000758:0003 1");
  EXPECT_EQ(text(Connector::oracle, "", {2125544, 2125540, 0x2a'00001b42, 0x10UL << 32 | 1}),
            "oracle shop 2125544 2125540 00002a.00001b42.0010 1");
}

Position any_position(Connector connector, std::mt19937_64& random) {
  // Few values, so that prefixes are equal.
  const auto part = [&random] { return random() % 3; };
  Position position{.connector = connector, .place = {part(), part(), part(), part()}};
  if (is_binlog(connector)) {
    position.place[3] = 0;
  } else if (connector == Connector::postgresql) {
    position.place[2] = position.place[3] = 0;
  } else if (connector == Connector::oracle && part() == 0) {
    position.place[1] = position.place[2] = position.place[3] = ~std::uint64_t{0};
  } else if (part() == 0) {
    position.place[3] |= std::uint64_t{0xffff} << 32;
  }
  return position;
}

TEST(Place, is_the_same_when_it_is_read_again_and_positions_are_in_a_total_order) {
  std::mt19937_64 random(41);
  for (int i = 0; i < 20'000; ++i) {
    const auto connector = static_cast<Connector>(random() % 5);
    const Place place{.origin = {.connector = connector,
                                 .server = "a%b \x01",
                                 .log = is_binlog(connector)                ? "bin.x"
                                        : connector == Connector::sqlserver ? "my\tdb"
                                                                            : ""},
                      .position = any_position(connector, random)};
    EXPECT_EQ(Place::parse(place.text()), place) << place.text();
    const Position a = place.position;
    const Position b = any_position(connector, random);
    const Position c = any_position(connector, random);
    EXPECT_TRUE((a < b) + (b < a) + (a == b) == 1);
    EXPECT_TRUE(!(a < b && b < c) || a < c);
  }
}

TEST(Place, is_not_read_of_what_is_none) {
  const std::string text = "mysql shop mysql-bin.000003 154 0";
  ASSERT_TRUE(Place::parse(text));
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(Place::parse(text.substr(0, i))) << i;
  }
  for (const std::string_view other : {"db2 shop 1",
                                       "mysql shop mysql-bin.000003 154 0 ",
                                       "mysql  mysql-bin.000003 154 0",
                                       "mysql s%zz mysql-bin.000003 154 0",
                                       "postgresql shop 16/B374D848",
                                       "postgresql shop 16/B374D848 1/123456789",
                                       "oracle shop 5 6 end",
                                       "sqlserver shop db 1:2:3 1:2:3 4294967296"}) {
    EXPECT_FALSE(Place::parse(other)) << other;
  }
}

}  // namespace
}  // namespace cuckooguard::debezium
