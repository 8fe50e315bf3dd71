// What a follower of streams makes of messages that come again, or of an earlier time.
#include "stream/stream_follower.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "source/bench.h"

namespace cuckooguard::source::stream {
namespace {

// Gives what a test has written.
class WrittenReader final : public Reader {
 public:
  explicit WrittenReader(std::size_t partitions) : next_(partitions), written(partitions) {
    for (std::size_t i = 0; i < partitions; ++i) {
      numbers_.front().push_back(i);
    }
  }

  std::expected<Channels, std::string> channels() override { return numbers_; }
  std::expected<Batch, std::string> read(std::size_t channel) override {
    Batch batch{.is_at_end = true, .is_whole = true};
    for (std::size_t& next = next_[channel]; next < written[channel].size(); ++next) {
      const auto& [key, value] = written[channel][next];
      batch.entries.push_back({.message = {key, value}, .id = std::to_string(next)});
    }
    return batch;
  }
  void begin_anew(std::size_t channel) override { next_[channel] = 0; }
  std::string place(std::size_t /*channel*/) const override { return {}; }
  bool go_on_at(std::size_t /*channel*/, std::string_view /*place*/) override { return false; }

 private:
  Channels numbers_{{}};
  std::vector<std::size_t> next_;

 public:
  std::vector<std::vector<std::pair<std::string, std::string>>> written;
};

class StreamFollowerTest : public testing::Test {
 public:
  void start(std::size_t partitions) {
    auto made = std::make_unique<WrittenReader>(partitions);
    reader = made.get();
    FollowerSettings settings{.server = "shop", .topics = {"shop.inventory.users"}};
    settings.wanted.tables = {
        {.database = "inventory",
         .name = "users",
         .columns = {{.name = "id", .placeholders = {keyspace::ValueType::uint64}}}}};
    settings.plans = {{.table = "users", .identity = {0}}};
    settings.poll_every = milliseconds(1);
    settings.wall_clock = [this] {
      return std::chrono::system_clock::time_point(
          std::chrono::duration_cast<milliseconds>(bench.clock.now().time_since_epoch()));
    };
    follower = std::make_unique<StreamFollower>(
        std::move(made), std::move(settings), bench.feeds(), bench.clock.clock(), bench.witness);
  }
  std::string change(std::string_view op,
                     int id,
                     int pos,
                     std::string_view snapshot = "false",
                     std::string_view table = "users") const {
    return fmt::format(
        R"({{"before":null,"after":{},"source":{{"connector":"mysql","name":"shop","ts_ms":{},)"
        R"("snapshot":"{}","db":"inventory","table":"{}","server_id":1,"file":"bin.1","pos":{},)"
        R"("row":0}},"op":"{}","ts_ms":1}})",
        op == "d" ? "null" : fmt::format(R"({{"id":{}}})", id),
        now_ms(),
        snapshot,
        table,
        pos,
        op);
  }
  std::int64_t now_ms() const {
    return std::chrono::duration_cast<milliseconds>(bench.clock.now().time_since_epoch()).count();
  }
  void write(std::size_t partition, int id, std::string message) {
    reader->written[partition].emplace_back(fmt::format(R"({{"id":{}}})", id), std::move(message));
  }
  void beat(std::size_t partition = 0) {
    write(partition, 1, change("u", 1, 1'000'000, "false", "heartbeat"));
  }
  void run(bool with_heartbeats = true) {
    for (int i = 0; i < 6; ++i) {
      bench.clock.advance(milliseconds(10));
      if (with_heartbeats) {
        beat();
      }
      follower->step(bench.never);
    }
  }

  Bench bench;
  WrittenReader* reader = nullptr;
  std::unique_ptr<StreamFollower> follower;
};

TEST_F(StreamFollowerTest, changes_that_come_again_are_not_applied) {
  start(1);
  write(0, 1, change("r", 1, 100, "first"));
  write(0, 2, change("r", 2, 100, "last"));
  const std::string gone = change("d", 1, 200);
  write(0, 1, gone);
  write(0, 1, change("c", 1, 300));
  run();
  ASSERT_TRUE(bench.is_fresh());
  write(0, 1, gone);
  run();
  EXPECT_TRUE(bench.is_fresh());
  EXPECT_TRUE(bench.has("user:1"));
}

TEST_F(StreamFollowerTest, a_snapshot_of_an_earlier_time_ends_what_is_known) {
  start(2);
  write(0, 2, change("r", 2, 100, "first"));
  write(1, 1, change("r", 1, 100, "last"));
  write(0, 4, change("c", 4, 300));
  run();
  ASSERT_TRUE(bench.is_fresh());
  write(0, 2, change("r", 2, 200, "true"));
  run();
  EXPECT_FALSE(bench.is_fresh()) << "changes behind it come again";
  EXPECT_TRUE(bench.witness.last().why.starts_with("a snapshot is of an earlier time"));
  write(0, 2, change("r", 2, 200, "last"));
  run();
  EXPECT_TRUE(bench.is_fresh());
}

// A heartbeat that is read behind it may have been written before.
TEST_F(StreamFollowerTest, a_snapshot_is_not_proven_by_what_was_told_with_it) {
  start(2);
  write(0, 1, change("r", 1, 100, "first"));
  write(0, 2, change("r", 2, 100, "last"));
  beat(1);
  run(false);
  EXPECT_FALSE(bench.is_fresh());
  run();
  EXPECT_TRUE(bench.is_fresh());
}

TEST_F(StreamFollowerTest, what_was_seen_before_a_doubt_counts_when_it_comes_again) {
  start(2);
  write(0, 2, change("r", 2, 100, "first"));
  write(0, 4, change("r", 4, 100, "last"));
  run();
  const std::string come = change("c", 5, 300);
  write(1, 5, come);
  run();
  ASSERT_TRUE(bench.is_fresh());
  write(0, 2, "garbled");
  run();
  ASSERT_FALSE(bench.is_fresh());
  write(0, 2, change("r", 2, 200, "first"));  // of a replica, that had no row 5 yet
  write(0, 4, change("r", 4, 200, "last"));
  run();
  write(1, 5, come);
  run();
  EXPECT_TRUE(bench.is_fresh());
  EXPECT_TRUE(bench.has("user:5"));
}

TEST_F(StreamFollowerTest, a_message_that_is_not_understood_is_shown_without_values) {
  start(1);
  write(0, 1, R"({"id":5,"name":"secret"})");
  run();
  const std::string why = bench.witness.last().why;
  EXPECT_TRUE(why.starts_with("entry 0 of shop.inventory.users: a message has no envelope")) << why;
  EXPECT_FALSE(why.contains("secret"));
}

}  // namespace
}  // namespace cuckooguard::source::stream
