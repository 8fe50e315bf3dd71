// A namespace is guarded by the changes that a Debezium Server writes into Redis Streams: whatever
// becomes of a stream, no row that it has told of is hidden.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/configuration.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;

constexpr const char* kStream = "shop.inventory.products";

class DebeziumSource : public testing::Test {
 protected:
  void start() {
    guard_.emplace(GuardProcess::on_port(
        Configuration{.upstream = "{ address: \"" + redis_.address() + "\" }",
                      .source = "type: debezium, connector: mysql, topic_prefix: shop, freshness: "
                                "trust_lag, heartbeat_table: inventory.heartbeat, max_lag: 1s" +
                                more_,
                      .namespaces = "  products: { keys: \"" + keys_ +
                                    "\", source: { from: shop, table: inventory.products }, mode: "
                                    "enforce, absent_reply: \"bytes:__ABSENT__\", overlay: { "
                                    "pass_at_start: false } }\n",
                      .more = "admin: { operators: [default] }\n" + storage_}
            .yaml()));
    client_.emplace(guard_->client());
  }
  void stop() {
    client_.reset();
    guard_.reset();
  }
  void notify(const std::string& type, const std::string& more = {}) {
    writer_.call({"XADD",
                  "shop.notifications",
                  "*",
                  "key",
                  "default",
                  "value",
                  fmt::format(R"({{"id":"1","aggregate_type":"Initial Snapshot","type":"{}",)"
                              R"("additional_data":{{"connector_name":"shop"{}}},"timestamp":1}})",
                              type,
                              more)});
  }
  static std::string row(std::optional<int> id) {
    return id ? fmt::format(R"({{"id":{},"name":"a name"}})", *id) : "null";
  }
  void change(const std::string& op,
              std::optional<int> before,
              std::optional<int> after,
              const std::string& snapshot = "false") {
    write("products", op, {row(before), row(after)}, snapshot, after ? *after : *before);
  }
  void beat() { write("heartbeat", "u", {row(1), row(1)}, "false", 1); }
  void write(const std::string& table,
             const std::string& op,
             const std::pair<std::string, std::string>& images,
             const std::string& snapshot,
             int id) {
    const auto now = std::chrono::duration_cast<milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    const std::string value = fmt::format(
        R"({{"before":{},"after":{},"source":{{"version":"3.0.8.Final","connector":"mysql",)"
        R"("name":"shop","ts_ms":{},"snapshot":"{}","db":"inventory","table":"{}","server_id":1,)"
        R"("file":"binlog.000001","pos":{},"row":0}},"op":"{}","ts_ms":{}}})",
        images.first,
        images.second,
        now.count(),
        snapshot,
        table,
        pos_ += 100,
        op,
        now.count());
    written_.push_back(command({"XADD",
                                "shop.inventory." + table,
                                "*",
                                "key",
                                fmt::format(R"({{"id":{}}})", id),
                                "value",
                                value}));
    writer_.exchange(written_.back(), 1);
  }
  void take_snapshot(int from, int to) {
    for (int id = from; id < to; ++id) {
      change("r", std::nullopt, id, id + 1 == to ? "last" : id == from ? "first" : "true");
    }
  }
  bool is_absent(int id) {
    return client_->call({"GET", "product:" + std::to_string(id)}) == "$10\r\n__ABSENT__\r\n";
  }
  bool comes_to_answer(int id) {
    return eventually([this, id] {
      beat();
      return is_absent(id);
    });
  }
  bool comes_to_pass(int id) {
    return eventually([this, id] {
      beat();
      return !is_absent(id);
    });
  }
  std::string field(const std::string& name) const { return info_field(*guard_, "products", name); }

  TemporaryDirectory folder_;
  std::string keys_ = "product:{id:uint64}";
  std::string more_;
  std::string storage_;
  RedisServer redis_;
  RawClient writer_ = redis_.client();
  std::vector<std::string> written_;
  std::optional<GuardProcess> guard_;
  std::optional<RawClient> client_;
  std::uint64_t pos_ = 0;
};

TEST_F(DebeziumSource, rows_of_the_snapshot_and_of_changes_behind_it_pass) {
  start();
  take_snapshot(1, 4);
  change("c", std::nullopt, 7);
  ASSERT_TRUE(comes_to_answer(9));
  for (const int id : {1, 2, 3, 7}) {
    EXPECT_FALSE(is_absent(id)) << id;
  }
  change("d", 2, std::nullopt);
  EXPECT_TRUE(comes_to_answer(2));
  change("c", std::nullopt, 9);
  EXPECT_TRUE(comes_to_pass(9));
}

TEST_F(DebeziumSource, without_heartbeats_all_keys_pass) {
  take_snapshot(1, 4);
  start();
  ASSERT_TRUE(comes_to_answer(9));
  EXPECT_TRUE(eventually([this] { return !is_absent(9); })) << "after max_lag";
}

TEST_F(DebeziumSource, what_was_trimmed_before_it_was_read_makes_all_keys_pass) {
  start();
  take_snapshot(1, 4);
  ASSERT_TRUE(comes_to_answer(9));
  writer_.call({"MULTI"});
  change("c", std::nullopt, 9);
  change("c", std::nullopt, 10);
  writer_.call({"XTRIM", kStream, "MAXLEN", "1"});
  writer_.call({"EXEC"});
  EXPECT_TRUE(comes_to_pass(8)) << "nobody knows which rows are missing";
  EXPECT_THAT(field("why"), HasSubstr("missing in the stream"));
  // One that comes before the guard has skipped to the end does not count.
  int polls = 0;
  EXPECT_TRUE(eventually([&] {
    if (polls++ % 100 == 0) {
      take_snapshot(1, 12);
    }
    beat();
    return is_absent(20);
  }));
  EXPECT_FALSE(is_absent(9));
}

TEST_F(DebeziumSource, a_stream_that_was_lost_with_its_redis_makes_all_keys_pass) {
  start();
  take_snapshot(1, 4);
  ASSERT_TRUE(comes_to_answer(9));
  writer_.call({"DEL", kStream});
  change("c", std::nullopt, 9);
  EXPECT_TRUE(comes_to_pass(8));
}

TEST_F(DebeziumSource, what_is_not_understood_makes_all_keys_pass_and_is_told_without_values) {
  start();
  take_snapshot(1, 4);
  ASSERT_TRUE(comes_to_answer(9));
  writer_.call({"XADD", kStream, "*", "key", "{}", "value", R"({"id":5,"name":"secret"})"});
  EXPECT_TRUE(comes_to_pass(9));
  EXPECT_THAT(field("why"), HasSubstr("ExtractNewRecordState"));
  EXPECT_THAT(field("why"), Not(HasSubstr("secret")));
}

TEST_F(DebeziumSource, changes_that_come_again_change_nothing) {
  start();
  take_snapshot(1, 4);
  ASSERT_TRUE(comes_to_answer(9));
  written_.clear();
  change("d", 2, std::nullopt);
  change("c", std::nullopt, 2);
  change("c", std::nullopt, 7);
  change("d", 7, std::nullopt);
  for (std::size_t i = 0; i < 3; ++i) {
    writer_.exchange(written_[i], 1);
  }
  change("c", std::nullopt, 10);
  ASSERT_TRUE(comes_to_pass(10));
  EXPECT_TRUE(comes_to_answer(7));
  EXPECT_FALSE(is_absent(2));
}

// With another primary key it comes as a row that goes and one that comes, and its key is there all
// the time.
TEST_F(DebeziumSource, a_row_that_gets_another_primary_key_is_never_absent) {
  keys_ = "product:{code:uint64}";
  start();
  write("products", "r", {"null", R"({"id":1,"code":5})"}, "first", 1);
  write("products", "r", {"null", R"({"id":2,"code":6})"}, "last", 2);
  ASSERT_TRUE(comes_to_answer(9));
  write("products", "d", {R"({"id":1,"code":5})", "null"}, "false", 1);
  write("products", "c", {"null", R"({"id":3,"code":7})"}, "false", 3);
  ASSERT_TRUE(eventually([this] { return !is_absent(7); }));
  EXPECT_FALSE(is_absent(5)) << "until all is known that was committed with it";
  write("products", "c", {"null", R"({"id":4,"code":5})"}, "false", 4);
  write("products", "d", {R"({"id":3,"code":7})", "null"}, "false", 3);
  EXPECT_TRUE(comes_to_answer(7));
  EXPECT_FALSE(is_absent(5));
}

TEST_F(DebeziumSource, an_empty_table_is_one_of_which_debezium_says_so) {
  more_ = ", notifications: shop.notifications";
  start();
  notify("STARTED");
  notify("TABLE_SCAN_COMPLETED",
         R"(,"scanned_collection":"inventory.products","total_rows_scanned":"0",)"
         R"("status":"SUCCEEDED")");
  ASSERT_TRUE(eventually([this] {
    beat();
    return field("state") == "loading";
  }));
  EXPECT_FALSE(is_absent(9));
  notify("COMPLETED");
  EXPECT_TRUE(comes_to_answer(9));
  change("c", std::nullopt, 9);
  EXPECT_TRUE(comes_to_pass(9));
}

TEST_F(DebeziumSource, a_restart_goes_on_where_it_was_although_the_stream_was_trimmed) {
  storage_ = storage(folder_.path());
  start();
  take_snapshot(1, 4);
  change("c", std::nullopt, 7);
  ASSERT_TRUE(comes_to_answer(9));
  stop();
  change("d", 3, std::nullopt);
  change("c", std::nullopt, 10);
  writer_.call({"XTRIM", kStream, "MAXLEN", "2"});
  start();
  ASSERT_TRUE(comes_to_answer(9));
  for (const int id : {1, 2, 7, 10}) {
    EXPECT_FALSE(is_absent(id)) << id;
  }
  EXPECT_TRUE(comes_to_answer(3));
  stop();
  change("c", std::nullopt, 11);
  change("c", std::nullopt, 12);
  writer_.call({"XTRIM", kStream, "MAXLEN", "1"});
  start();
  beat();
  EXPECT_TRUE(eventually([this] { return field("why").contains("missing in the stream"); }));
  EXPECT_FALSE(is_absent(9));
}

// Positions of another server compare, and mean nothing.
TEST_F(DebeziumSource, a_change_from_further_back_that_nobody_has_seen_makes_all_keys_pass) {
  start();
  take_snapshot(1, 4);
  change("c", std::nullopt, 7);
  ASSERT_TRUE(comes_to_answer(9));
  pos_ = 0;
  change("c", std::nullopt, 10);
  EXPECT_TRUE(comes_to_pass(11));
  EXPECT_THAT(field("why"), HasSubstr("went back"));
}

}  // namespace
}  // namespace cuckooguard::harness
