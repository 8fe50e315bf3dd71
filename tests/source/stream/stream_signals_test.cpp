// When the guard asks Debezium for a snapshot, and for one of which tables.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_log.h"
#include "source/bench.h"
#include "stream/stream_follower.h"

namespace cuckooguard::source::stream {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

const std::vector<std::string> kTables{"users", "items"};

class StreamSignals : public testing::Test {
 protected:
  StreamSignals() {
    for (int id = 0; id < 8; ++id) {
      database_.insert(0, id, id, now_ms());
      database_.insert(1, id, id, now_ms());
    }
    debezium_.snapshot(database_.log.size());
  }

  void start() {
    const bool is_oracle = connector_ == debezium::Connector::oracle;
    FollowerSettings settings{.connector = connector_,
                              .server = "shop",
                              .topics = debezium_.topics,
                              .signal_key = "shop"};
    for (std::uint32_t table = 0; table < kTables.size(); ++table) {
      settings.wanted.tables.push_back(
          {.database = is_oracle ? "" : "inventory",
           .schema = is_oracle ? "SHOP" : "",
           .name = kTables[table],
           .columns = {{.name = "code", .placeholders = {keyspace::ValueType::uint64}}}});
      settings.plans.push_back({.ns = table,
                                .table = kTables[table],
                                .topic = debezium_.topic_of(table),
                                .wanted = table,
                                .identity = {0}});
    }
    settings.poll_every = milliseconds(10);
    settings.wall_clock = [this] {
      return std::chrono::system_clock::time_point(milliseconds(now_ms()));
    };
    auto made = std::make_unique<MadeReader>(debezium_, random_);
    reader_ = made.get();
    follower_ = std::make_unique<StreamFollower>(std::move(made),
                                                 std::move(settings),
                                                 bench_.feeds(seconds(5)),
                                                 bench_.clock.clock(),
                                                 bench_.witness);
    pass(seconds(2));
  }
  void pass(seconds time) {
    for (; time > seconds(0); time -= seconds(1)) {
      bench_.clock.advance(seconds(1));
      debezium_.follow(100);
      if (beats_) {
        debezium_.heartbeat(now_ms());
      }
      for (int i = 0; i < 20; ++i) {  // to the ends
        follower_->step(bench_.never);
      }
    }
  }
  void cut_beginnings() {
    for (std::size_t table = 0; table < kTables.size(); ++table) {
      MadeChannel& channel =
          debezium_.channels[debezium_.numbers[debezium_.topic_of(table)].front()];
      channel.entries.clear();
      channel.trimmed = channel.added;
    }
  }
  void doubt(std::size_t table) {
    debezium_.garbled_one_in = 1;
    database_.insert(table, 100 + ++id_, 9, now_ms());
    debezium_.follow(100);
    debezium_.garbled_one_in = ~std::uint64_t{0};
    pass(seconds(1));
    ASSERT_FALSE(bench_.is_fresh(static_cast<std::uint32_t>(table)));
  }
  std::int64_t now_ms() const {
    return std::chrono::duration_cast<milliseconds>(bench_.clock.now().time_since_epoch()).count();
  }
  static std::string asks_for(std::string_view tables) {
    return fmt::format(
        "shop=\\{{\"id\":\"cuckooguard-[0-9a-f]+\",\"type\":\"execute-snapshot\","
        "\"data\":\\{{\"data-collections\":\\[{}],\"type\":\"INCREMENTAL\"}}}}",
        tables);
  }
  const std::vector<std::string>& signals() const { return reader_->signals; }

  debezium::Connector connector_ = debezium::Connector::mysql;
  bool beats_ = true;
  int id_ = 0;
  Random random_{1};
  Bench bench_{{Wanted{.name = "users", .keys = {"user:{code:uint64}"}, .table = "users"},
                Wanted{.name = "items", .keys = {"item:{code:uint64}"}, .table = "items"}}};
  MadeDatabase database_{kTables.size()};
  MadeDebezium debezium_{database_, kTables, random_, {.has_notifications = true}, false};
  MadeReader* reader_ = nullptr;
  std::unique_ptr<StreamFollower> follower_;
};

TEST_F(StreamSignals, a_table_in_doubt_is_asked_for_once_in_ten_minutes) {
  start();
  ASSERT_TRUE(bench_.is_fresh(0));
  doubt(0);
  pass(seconds(3));
  EXPECT_THAT(signals(), IsEmpty());
  pass(seconds(33));
  EXPECT_THAT(signals(), ElementsAre(MatchesRegex(asks_for("\"inventory\\.users\""))));
  pass(minutes(9));
  EXPECT_THAT(signals(), SizeIs(1));
  pass(minutes(2));
  EXPECT_THAT(signals(), SizeIs(2));
}

TEST_F(StreamSignals, the_snapshot_that_follows_makes_it_ready) {
  start();
  doubt(0);
  pass(seconds(36));
  ASSERT_THAT(signals(), SizeIs(1));
  debezium_.signal(0, true);
  pass(seconds(1));
  debezium_.read_chunk(100);
  pass(seconds(2));
  EXPECT_TRUE(bench_.is_fresh(0));
  EXPECT_FALSE(bench_.has("user:10"));
  pass(minutes(12));
  EXPECT_THAT(signals(), SizeIs(1));
}

TEST_F(StreamSignals, nobody_asks_while_another_guard_s_snapshot_goes_on) {
  start();
  doubt(0);
  pass(seconds(3));
  debezium_.signal(0, true);
  pass(minutes(9));
  EXPECT_THAT(signals(), IsEmpty());
  debezium_.read_chunk(100);
  pass(seconds(2));
  EXPECT_TRUE(bench_.is_fresh(0));
  doubt(0);
  pass(seconds(40));
  EXPECT_THAT(signals(), IsEmpty());
  pass(seconds(80));
  EXPECT_THAT(signals(), SizeIs(1)) << "ten minutes after it began";
}

TEST_F(StreamSignals, a_snapshot_of_other_tables_is_waited_for) {
  start();
  doubt(0);
  debezium_.signal(1, false);
  pass(minutes(2));
  EXPECT_THAT(signals(), IsEmpty());
  debezium_.read_chunk(100);
  pass(seconds(3));
  EXPECT_THAT(signals(), IsEmpty());
  pass(seconds(34));
  EXPECT_THAT(signals(), ElementsAre(MatchesRegex(asks_for("\"inventory\\.users\""))));
}

TEST_F(StreamSignals, tables_without_their_beginnings_are_asked_for_together) {
  cut_beginnings();
  start();
  ASSERT_FALSE(bench_.is_fresh(1));
  pass(seconds(36));
  EXPECT_THAT(signals(),
              ElementsAre(MatchesRegex(asks_for("\"inventory\\.items\",\"inventory\\.users\""))));
}

TEST_F(StreamSignals, tables_of_oracle_are_asked_for_with_the_database_that_messages_name) {
  connector_ = debezium::Connector::oracle;
  cut_beginnings();
  start();
  pass(seconds(36));
  EXPECT_THAT(signals(),
              ElementsAre(HasSubstr(R"(["inventory.SHOP.items","inventory.SHOP.users"])")));
}

TEST_F(StreamSignals, a_signal_that_cannot_be_sent_is_told_of_and_tried_again) {
  start();
  doubt(0);
  reader_->refuses_signals = true;
  pass(seconds(36));
  EXPECT_THAT(bench_.witness.troubles(), testing::Contains(HasSubstr("no such topic")));
  reader_->refuses_signals = false;
  pass(seconds(36));
  EXPECT_THAT(signals(), SizeIs(1));
}

// It would find them all when it is back.
TEST_F(StreamSignals, a_debezium_that_sends_nothing_is_not_asked) {
  start();
  doubt(0);
  beats_ = false;
  pass(minutes(30));
  EXPECT_THAT(signals(), SizeIs(testing::Le(1)));
  beats_ = true;
  pass(minutes(1));
  EXPECT_THAT(signals(), SizeIs(1));
}

}  // namespace
}  // namespace cuckooguard::source::stream
