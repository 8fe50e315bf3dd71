// Which log is still the one that was followed.
#include "mysql/log_group.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "source/mysql/made_log.h"

namespace cuckooguard::source::mysql {
namespace {

using Events = std::vector<std::string>;
using testing::HasSubstr;

constexpr std::uint64_t kServer = 1;
constexpr std::uint64_t kOther = 2;

constexpr std::uint16_t kArtificial = 0x20;

// As it is sent before each file; 0: as it stands at the end of one.
std::string rotate(const std::string& file, std::uint16_t flags = kArtificial) {
  return binlog::make_event(binlog::EventType::rotate, binlog::little_endian(4, 8) + file, flags);
}

struct Place {
  std::string file = "binlog.000001";
  std::uint32_t end = 500;
};

// An applier that has followed 0-77-10 in binlog.000001, up to 500.
class ResumedLogTest : public testing::Test {
 protected:
  ResumedLogTest() {
    log_.number_from(77, 10);
    again_.number_from(77, 10);
    applier_.join(user_.table);
    applier_.reconnected({}, kServer);
    EXPECT_EQ(come(stream(log_)), "");
  }

  static Events group(MadeLog& log, std::uint32_t row = 7, const Place& place = {}) {
    return {log.begin(),
            MadeLog::map(1, "user"),
            MadeLog::insert(1, row),
            MadeLog::commit_at(place.end)};
  }
  // As a connection begins with it.
  static Events stream(MadeLog& log, std::uint32_t row = 7, const Place& place = {}) {
    Events events{rotate(place.file), binlog::make_format(binlog::Brand::mariadb)};
    for (std::string& event : group(log, row, place)) {
      events.push_back(std::move(event));
    }
    return events;
  }
  // What is wrong with them.
  std::string come(const Events& events) {
    for (const std::string& event : events) {
      if (const auto applied = applier_.apply(event); !applied) {
        return applied.error();
      }
    }
    return {};
  }
  void reconnect(std::uint64_t server = kServer) {
    applier_.reconnected({}, server);
    EXPECT_TRUE(applier_.is_expecting());
  }
  // The log ended in its second file when it was resumed.
  void reconnect_behind_a_start() {
    applier_.reconnected({.end = {.file = "binlog.000002", .position = 900}}, kServer);
  }
  Events second_file() {
    Events events{rotate("binlog.000002"), binlog::make_format(binlog::Brand::mariadb)};
    for (std::string& event : group(again_, 9, {.end = 900})) {
      events.push_back(std::move(event));
    }
    return events;
  }
  void expect_another_log(const Events& events) {
    EXPECT_THAT(come(events), HasSubstr("0-77-10"));
    EXPECT_EQ(applier_.why_void(), kOtherLog);
    EXPECT_TRUE(applier_.is_expecting());
  }
  void expect_the_same_log(const Events& events) {
    EXPECT_EQ(come(events), "");
    EXPECT_EQ(applier_.why_void(), "");
    EXPECT_FALSE(applier_.is_expecting());
    EXPECT_EQ(applier_.position().text(), "0-77-10");
    EXPECT_THAT(user_.target.ids(), testing::ElementsAre(7));
  }

  MadeLog log_;
  MadeLog again_;
  MadeTable user_{"user"};
  LogApplier applier_{LogPosition::parse("0-77-9", true).value(),
                      {.on_out_of_step = [](FollowedTable&, std::string_view) {}}};
};

TEST_F(ResumedLogTest, begins_one_group_early) {
  EXPECT_EQ(applier_.position().text(), "0-77-10");
  EXPECT_EQ(applier_.resume_position().text(), "0-77-9");
}

TEST_F(ResumedLogTest, is_the_same_if_its_last_group_is) {
  reconnect();
  expect_the_same_log(stream(again_));
}

TEST_F(ResumedLogTest, is_not_believed_if_its_server_has_crashed_since) {
  reconnect_behind_a_start();
  EXPECT_EQ(come(stream(again_)), "");
  EXPECT_THAT(come(second_file()), HasSubstr("has crashed"));
  EXPECT_THAT(std::string(applier_.why_void()), HasSubstr("has crashed"));
}

TEST_F(ResumedLogTest, goes_on_if_its_server_was_shut_down) {
  reconnect_behind_a_start();
  EXPECT_EQ(come(stream(again_)), "");
  EXPECT_EQ(come({binlog::make_stop()}), "");
  EXPECT_EQ(come(second_file()), "");
  EXPECT_THAT(come({rotate("binlog.000003"), binlog::make_format(binlog::Brand::mariadb)}),
              HasSubstr("has crashed"))
      << "it has crashed when it was started again";
}

TEST_F(ResumedLogTest, goes_on_in_another_file_that_its_server_has_begun_while_it_ran) {
  reconnect_behind_a_start();
  EXPECT_EQ(come(stream(again_)), "");
  EXPECT_EQ(come({rotate("binlog.000002", 0)}), "");
  EXPECT_EQ(come(second_file()), "");
}

// What is believed was read behind the crash, or not at all.
TEST_F(ResumedLogTest, may_show_a_crash_from_before_what_it_rests_on) {
  reconnect_behind_a_start();
  EXPECT_EQ(come({rotate("binlog.000000"),
                  binlog::make_format(binlog::Brand::mariadb),
                  rotate("binlog.000001"),
                  binlog::make_format(binlog::Brand::mariadb)}),
            "");
}

// Until then a crash might be to come.
TEST_F(ResumedLogTest, proves_nothing_before_it_has_come_to_where_it_ended) {
  reconnect_behind_a_start();
  EXPECT_EQ(come(stream(again_)), "");
  EXPECT_TRUE(applier_.is_expecting());
  EXPECT_EQ(come({binlog::make_stop()}), "");
  EXPECT_EQ(come(second_file()), "");
  EXPECT_FALSE(applier_.is_expecting());
}

TEST_F(ResumedLogTest, is_another_one_if_the_number_is_of_other_rows) {
  reconnect();
  expect_another_log(stream(again_, 8));
}

TEST_F(ResumedLogTest, is_another_one_if_the_number_is_of_another_time) {
  reconnect();
  again_.stamp(1);
  expect_another_log(stream(again_));
}

TEST_F(ResumedLogTest, is_another_one_if_its_last_group_ends_elsewhere) {
  reconnect();
  expect_another_log(stream(again_, 7, {.file = "binlog.000001", .end = 501}));
}

TEST_F(ResumedLogTest, is_another_one_if_its_last_group_is_in_another_file) {
  reconnect();
  expect_another_log(stream(again_, 7, {.file = "binlog.000002", .end = 500}));
}

TEST_F(ResumedLogTest, is_another_one_if_it_goes_on_without_its_last_group) {
  reconnect();
  again_.number_from(77, 11);
  expect_another_log(stream(again_));
}

// Numbers of one domain, which two have passed.
TEST_F(ResumedLogTest, is_another_one_if_another_server_has_passed_the_number) {
  reconnect();
  again_.number_from(78, 10);
  EXPECT_EQ(come(stream(again_)), "");
  EXPECT_TRUE(applier_.is_expecting());
  expect_another_log(group(again_));
}

TEST_F(ResumedLogTest, of_another_server_of_the_cluster_has_it_in_another_place) {
  reconnect(kOther);
  expect_the_same_log(stream(again_, 7, {.file = "relay.000004", .end = 900}));
}

TEST_F(ResumedLogTest, of_another_server_that_has_other_rows_is_another_one) {
  reconnect(kOther);
  expect_another_log(stream(again_, 8, {.file = "relay.000004", .end = 900}));
}

TEST_F(ResumedLogTest, is_known_by_its_place_on_the_server_that_it_was_resumed_on) {
  const Place place{.file = "relay.000004", .end = 900};
  MadeLog once_more = again_;
  reconnect(kOther);
  expect_the_same_log(stream(again_, 7, place));
  reconnect(kOther);
  expect_the_same_log(stream(once_more, 7, place));
  EXPECT_EQ(applier_.resume_position().text(), "0-77-9");
}

TEST_F(ResumedLogTest, that_was_cut_off_before_its_last_group_came_waits_for_it_again) {
  reconnect();
  MadeLog once_more = again_;
  const Events events = stream(again_);
  EXPECT_EQ(come({events[0], events[1], events[2], events[3]}), "");
  reconnect();
  expect_the_same_log(stream(once_more));
}

TEST_F(ResumedLogTest, that_is_shorter_lacks_what_is_expected) {
  reconnect();
  EXPECT_TRUE(applier_.expects_more_than(LogPosition::parse("0-77-9", true).value()));
  EXPECT_FALSE(applier_.expects_more_than(LogPosition::parse("0-77-10", true).value()));
}

TEST_F(ResumedLogTest, goes_back_to_no_earlier_file) {
  EXPECT_THAT(come({rotate("binlog.000000")}), HasSubstr("earlier file"));
}

// Files of two tables, which were written at different times.
TEST_F(ResumedLogTest, has_to_come_by_all_that_checkpoints_rest_on) {
  const LogGroup oldest = applier_.last_group().value();
  EXPECT_EQ(come(group(log_, 8, {.file = "binlog.000001", .end = 700})), "");
  const LogGroup latest = applier_.last_group().value();
  for (const std::uint32_t row : {8U, 9U}) {
    LogApplier restored(LogPosition::parse("0-77-10", true).value(),
                        {.on_out_of_step = [](FollowedTable&, std::string_view) {}});
    restored.rest_on({oldest, latest});
    restored.reconnected({}, kServer);
    MadeLog log = again_;
    for (const std::string& event : stream(log)) {
      ASSERT_TRUE(restored.apply(event));
    }
    EXPECT_TRUE(restored.is_expecting());
    for (const std::string& event : group(log, row, {.file = "binlog.000001", .end = 700})) {
      (void)restored.apply(event);
    }
    EXPECT_EQ(restored.why_void(), row == 9 ? kOtherLog : "");
    EXPECT_EQ(restored.is_expecting(), row == 9);
  }
}

TEST(LogGroup, is_the_same_if_all_of_it_is_or_on_another_server_what_replication_keeps) {
  const std::string uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
  const LogGroup group{.gtid = parse_gtid(uuid + ":9", false).value(),
                       .previous = {},
                       .server_id = 1,
                       .timestamp = 2,
                       .contents = 3,
                       .log_of = 4,
                       .file = "binlog.5",
                       .end_low32 = 6};
  for (const std::uint64_t server : {4U, 5U}) {
    const auto is_same_if = [&](const std::function<void(LogGroup&)>& changed) {
      LogGroup other = group;
      other.log_of = server;
      changed(other);
      EXPECT_EQ(other.is_same_as(group), group.is_same_as(other));
      return group.is_same_as(other);
    };
    EXPECT_TRUE(is_same_if([](LogGroup&) {}));
    EXPECT_FALSE(
        is_same_if([&](LogGroup& other) { other.gtid = parse_gtid(uuid + ":8", false).value(); }));
    EXPECT_FALSE(is_same_if([](LogGroup& other) { other.server_id = 0; }));
    EXPECT_FALSE(is_same_if([](LogGroup& other) { other.timestamp = 0; }));
    EXPECT_FALSE(is_same_if([](LogGroup& other) { other.contents = 0; }));
    EXPECT_EQ(is_same_if([](LogGroup& other) { other.file = "relay.5"; }), server == 5);
    EXPECT_EQ(is_same_if([](LogGroup& other) { other.end_low32 = 0; }), server == 5);
  }
}

TEST_F(ResumedLogTest, has_groups_that_come_back_from_their_text) {
  const LogGroup group = applier_.last_group().value();
  const auto parsed = LogGroup::parse(group.text(), true);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->is_same_as(group));
  EXPECT_EQ(parsed->text(), group.text());
  EXPECT_EQ(group.previous, parse_gtid("0-77-9", true));
  for (const std::string& text : {std::string(),
                                  std::string("0-77-10"),
                                  std::string("0-77-10 0-77 77 0 1 1 500 f"),
                                  std::string("0-77-10 - 77 0 x 1 500 f"),
                                  std::string("0-77-10,1-1-1 - 77 0 1 1 500 f")}) {
    EXPECT_FALSE(LogGroup::parse(text, true)) << text;
  }
  EXPECT_TRUE(LogGroup::parse("0-77-10 - 77 0 1 1 500 f", true));
}

TEST(GroupDigest, is_the_same_however_rows_are_cut_into_events_and_tables_numbered) {
  const auto digest = [](std::uint64_t number, const std::vector<std::string_view>& cuts) {
    GroupDigest of;
    of.add(binlog::TableMap{.table_id = number, .schema = "shop", .table = "user", .body = "x"});
    for (const std::string_view images : cuts) {
      of.add(binlog::Rows{.table_id = number, .images = images});
    }
    return of.value();
  };
  EXPECT_EQ(digest(1, {"abcd"}), digest(2, {"ab", "cd"}));
  EXPECT_NE(digest(1, {"abcd"}), digest(1, {"abce"}));
}

TEST(GroupDigest, tells_kinds_columns_tables_and_statements) {
  const auto digest = [](const binlog::Rows& rows, std::string_view table = "user") {
    GroupDigest of;
    of.add(binlog::TableMap{.table_id = 1, .schema = "shop", .table = table});
    of.add(rows);
    return of.value();
  };
  const auto base = digest({.table_id = 1, .images = "a"});
  EXPECT_NE(base, digest({.kind = binlog::RowsKind::erase, .table_id = 1, .images = "a"}));
  EXPECT_NE(base, digest({.table_id = 1, .after_columns = "b", .images = "a"}));
  EXPECT_NE(base, digest({.table_id = 1, .images = "a"}, "item"));
  const auto query = [](std::string_view schema, std::string_view text) {
    GroupDigest of;
    of.add(binlog::Query{.schema = schema, .text = text});
    return of.value();
  };
  EXPECT_NE(query("shop", "DROP TABLE a"), query("shop", "DROP TABLE b"));
  EXPECT_NE(query("sho", "pDROP TABLE a"), query("shop", "DROP TABLE a"));
  GroupDigest begun_anew;
  begun_anew.add(binlog::Query{.schema = "shop", .text = "x"});
  begun_anew.begin();
  EXPECT_EQ(begun_anew.value(), GroupDigest().value());
}

TEST(LogPosition, goes_one_group_back) {
  const auto earlier = [](const std::string& text, const LogServer& server) {
    return LogPosition::parse(text, true).value().one_earlier(server).text();
  };
  EXPECT_EQ(earlier("0-1-75", {}), "0-1-74");
  EXPECT_EQ(earlier("3-1-75", {}), "3-1-74") << "the only one";
  EXPECT_EQ(earlier("0-1-1", {}), "");
  EXPECT_EQ(earlier("", {}), "");
  EXPECT_EQ(earlier("0-1-75,2-1-9", {.domain = 2}), "0-1-75,2-1-8");
  EXPECT_EQ(earlier("0-1-75,2-1-9", {.domain = 3}), "0-1-75,2-1-9") << "none of its own";
  const std::string one = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
  const std::string two = "64caee36-e5cc-11f1-b04e-02fc00000001";
  const auto of_two = std::get<binlog::MySqlGtid>(parse_gtid(two + ":1", false).value()).source;
  const auto earlier_set = [&](const std::string& text) {
    return LogPosition::parse(text, false).value().one_earlier({.source = of_two}).text();
  };
  EXPECT_EQ(earlier_set(one + ":1-5"), one + ":1-4");
  EXPECT_EQ(earlier_set(one + ":1-5," + two + ":1-3:7"), one + ":1-5," + two + ":1-3");
}

TEST(LogPosition, takes_a_group_back) {
  const std::string uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
  const auto before = [&](const std::string& set, const std::string& number) {
    return LogPosition::parse(set, false)
        .value()
        .before(parse_gtid(uuid + ":" + number, false).value(), std::nullopt)
        .text();
  };
  EXPECT_EQ(before(uuid + ":1-9", "5"), uuid + ":1-4:6-9");
  EXPECT_EQ(before(uuid + ":1-9", "1"), uuid + ":2-9");
  EXPECT_EQ(before(uuid + ":1-9", "9"), uuid + ":1-8");
  EXPECT_EQ(before(uuid + ":9", "9"), "");
  EXPECT_EQ(before(uuid + ":1-9", "10"), uuid + ":1-9");
  const auto mariadb = LogPosition::parse("0-2-75,1-1-3", true).value();
  EXPECT_EQ(mariadb.before(parse_gtid("0-2-75", true).value(), parse_gtid("0-1-74", true)).text(),
            "0-1-74,1-1-3");
  EXPECT_EQ(mariadb.before(parse_gtid("0-2-75", true).value(), std::nullopt).text(), "1-1-3");
}

}  // namespace
}  // namespace cuckooguard::source::mysql
