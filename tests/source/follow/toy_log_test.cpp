// What follow/ promises of any log, on one that is no server's: that no committed row is hidden,
// that what has gone leaves, and that nothing is believed without a proof.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/temporary_directory.h"
#include "source/bench.h"
#include "source/follow/toy_follower.h"
#include "source/follow/toy_server.h"
#include "source/source_kind.h"
#include "source/storage_directory.h"

namespace cuckooguard::source {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<Wanted> kWanted{{.name = "users",
                                   .keys = {"user:{id}"},
                                   .table = "user",
                                   .filter = {.deletes = config::Deletes::exact}},
                                  {.name = "orders",
                                   .keys = {"order:{id}"},
                                   .table = "order",
                                   .filter = {.deletes = config::Deletes::exact}}};

std::size_t items(Bench& bench, std::size_t ns) {
  const filter::EpochScope inside(bench.epochs.reader(0));
  const filter::CuckooFilter* const filter = bench.lives[ns].current();
  return filter == nullptr ? 0 : filter->stats().items;
}

std::size_t hidden_rows(Bench& bench, const ToyServer& server) {
  std::size_t hidden = 0;
  for (const auto& [table, prefix] : {std::pair("user", "user:"), std::pair("order", "order:")}) {
    for (const std::string& id : server.rows(table)) {
      hidden += bench.has(prefix + id) ? 0 : 1;
    }
  }
  return hidden;
}

class ToyLogTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kUsers = 0;
  static constexpr std::uint32_t kOrders = 1;

  void start(const StorageDirectory* storage = nullptr,
             nanoseconds checkpoint_every = std::chrono::hours(1)) {
    follower_ = std::make_unique<ToyFollower>(
        server_,
        bench_->feeds(),
        bench_->clock.clock(),
        Storage{.directory = storage, .checkpoint_every = checkpoint_every},
        bench_->witness);
  }
  void stop() {
    follower_->finish();
    follower_.reset();
  }
  void step() {
    follower_->step(never_);
    bench_->clock.advance(milliseconds(1));
    std::this_thread::yield();
  }
  bool becomes(const std::function<bool()>& so) {
    const auto until = std::chrono::steady_clock::now() + seconds(30);
    bool is_so = so();
    for (; !is_so && std::chrono::steady_clock::now() < until; is_so = so()) {
      step();
    }
    return is_so;
  }
  bool is_fresh() { return bench_->is_fresh(0) && bench_->is_fresh(1); }
  // All that is committed by now is in the filters.
  bool becomes_current() {
    const ToyPosition end = server_.end();
    const TimePoint from = bench_->clock.now();
    return becomes([&] {
      const auto proven = follower_->status().proven_at;
      return is_fresh() && proven && *proven >= from &&
             follower_->reached(end.text()) == Reached::yes;
    });
  }
  std::size_t hidden_rows() { return source::hidden_rows(*bench_, server_); }
  std::size_t items(std::size_t ns) { return source::items(*bench_, ns); }

  std::stop_token never_;
  std::optional<Bench> bench_{std::in_place, kWanted};
  ToyServer server_{{"user", "order"}};
  std::unique_ptr<ToyFollower> follower_;
};

TEST_F(ToyLogTest, rows_that_come_and_go_do_so_in_the_filter) {
  server_.insert("user", "1");
  start();
  ASSERT_TRUE(becomes_current());
  EXPECT_TRUE(bench_->has("user:1"));
  EXPECT_FALSE(bench_->has("user:2"));
  server_.insert("user", "2");
  server_.erase("user", "1");
  ASSERT_TRUE(becomes_current());
  EXPECT_TRUE(bench_->has("user:2"));
  EXPECT_FALSE(bench_->has("user:1"));
}

// Half a second is a long time for those who still see it.
TEST_F(ToyLogTest, a_row_that_is_visible_is_there_although_the_log_has_its_deletion) {
  server_.insert("user", "1");
  start();
  ASSERT_TRUE(becomes_current());
  server_.commit({{.table = "user", .before = "1", .after = {}}});
  ASSERT_TRUE(becomes_current());
  EXPECT_TRUE(bench_->has("user:1"));
  server_.show();
  EXPECT_TRUE(becomes([this] { return !bench_->has("user:1"); }));
}

TEST_F(ToyLogTest, a_view_may_show_more_than_the_position_that_is_known_of_it) {
  server_.insert("user", "1");
  server_.move_in_view(0, "user", "2");
  server_.move_in_view(1, "order", "3");
  start();
  ASSERT_TRUE(becomes([this] {
    server_.show();
    return is_fresh() && follower_->reached("3") == Reached::yes;
  }));
  EXPECT_EQ(hidden_rows(), 0U);
  EXPECT_EQ(items(kUsers), 2U);
  EXPECT_EQ(items(kOrders), 1U) << "once, although it was in the snapshot and in the log";
}

// What is in the log may not be visible yet.
TEST_F(ToyLogTest, a_snapshot_is_of_the_position_that_was_read_with_it) {
  for (const bool lies : {false, true}) {
    if (lies) {
      stop();
      server_.lie_of_views();
    }
    const std::string late = lies ? "2" : "1";
    server_.commit({{.table = "user", .before = {}, .after = late}});
    start();
    if (lies) {
      ASSERT_TRUE(becomes([this] { return is_fresh(); }));
    } else {
      for (int i = 0; i < 3000; ++i) {
        step();
      }
      EXPECT_FALSE(is_fresh()) << "whatever it has read lacks it";
    }
    server_.show();
    ASSERT_TRUE(becomes_current());
    EXPECT_EQ(bench_->has("user:" + late), !lies) << "a position that is read beside it hides rows";
  }
}

TEST_F(ToyLogTest, a_table_that_is_defined_anew_passes_until_it_is_read_again) {
  server_.insert("user", "1");
  start();
  ASSERT_TRUE(becomes_current());
  server_.define("user", {"7", "8"});
  step();
  EXPECT_FALSE(bench_->is_fresh(kUsers));
  EXPECT_TRUE(bench_->is_fresh(1)) << "the other one is in step";
  ASSERT_TRUE(becomes_current());
  EXPECT_TRUE(bench_->has("user:7"));
  EXPECT_FALSE(bench_->has("user:1"));
}

// Before the log's word was kept, so that nobody would speak of it.
TEST_F(ToyLogTest, a_table_that_is_defined_anew_behind_its_plan_is_planned_again) {
  server_.insert("user", "1");
  server_.define_behind_plan("user", {"7"});
  start();
  ASSERT_TRUE(becomes_current());
  EXPECT_EQ(hidden_rows(), 0U);
  const auto reports = bench_->witness.reports();
  EXPECT_TRUE(std::ranges::any_of(
      reports, [](const Witness::Report& each) { return each.why.contains("has just changed"); }));
}

TEST_F(ToyLogTest, a_log_that_is_not_read_proves_nothing) {
  start();
  ASSERT_TRUE(becomes_current());
  server_.be_silent(true);
  server_.insert("user", "1");
  for (int i = 0; i < 2000; ++i) {
    step();
  }
  EXPECT_FALSE(is_fresh());
  EXPECT_EQ(follower_->reached(server_.end().text()), Reached::not_yet);
  server_.be_silent(false);
  ASSERT_TRUE(becomes_current());
  EXPECT_TRUE(bench_->has("user:1"));
}

TEST_F(ToyLogTest, a_log_that_is_begun_anew_is_not_believed_by_its_numbers) {
  server_.insert("user", "1");
  server_.insert("user", "2");
  start();
  ASSERT_TRUE(becomes_current());
  server_.begin_log_anew();
  server_.define("user", {"7"});
  server_.insert("user", "8");
  server_.insert("user", "9");
  ASSERT_TRUE(becomes([this] { return !is_fresh(); }));
  ASSERT_TRUE(becomes_current());
  EXPECT_EQ(hidden_rows(), 0U);
}

TEST_F(ToyLogTest, a_checkpoint_is_gone_on_from_if_the_log_is_the_same) {
  const harness::TemporaryDirectory directory;
  {
    const auto storage = StorageDirectory::open(directory.file("kept")).value();
    bench_.emplace(kWanted, storage.secret());
    server_.insert("user", "1");
    server_.insert("user", "2");
    start(&storage);
    ASSERT_TRUE(becomes_current());
    step();  // and committed: what waits for that is not kept
    stop();
    server_.erase("user", "1");
    server_.insert("user", "3");
    bench_.emplace(kWanted, storage.secret());
    start(&storage);
    step();
    step();  // what it has erased is committed
    EXPECT_TRUE(is_fresh()) << "at once, without a load";
    EXPECT_EQ(hidden_rows(), 0U);
    EXPECT_FALSE(bench_->has("user:1"));
    EXPECT_EQ(items(kUsers), 2U);
    stop();
  }
  const auto storage = StorageDirectory::open(directory.file("kept")).value();
  server_.begin_log_anew();
  server_.define("user", {"4"});
  for (int i = 0; i < 10; ++i) {
    server_.insert("user", "1" + std::to_string(i));
  }
  bench_.emplace(kWanted, storage.secret());
  start(&storage);
  step();
  EXPECT_FALSE(is_fresh()) << "the same numbers, and another log";
  ASSERT_TRUE(becomes_current());
  EXPECT_EQ(hidden_rows(), 0U);
  EXPECT_EQ(items(kUsers), server_.rows("user").size());
  stop();
}

class ToyCheckpoints : public ToyLogTest {
 protected:
  void start() {
    storage_.emplace(StorageDirectory::open(folder_).value());
    bench_.emplace(kWanted, storage_->secret());
    ToyLogTest::start(&*storage_, milliseconds(1));
  }
  void stop() {
    ToyLogTest::stop();
    storage_.reset();
  }
  // As a machine that fails leaves it.
  void crash() {
    const std::string left = directory_.file("left" + std::to_string(++crashes_));
    // While files are being written: a position is of no use to files that are not its own.
    std::filesystem::create_directory(left);
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      std::error_code error;  // it may be renamed by now
      std::filesystem::copy(file, left + "/" + file.path().filename().string(), error);
    }
    server_.show();  // or its end would wait for that
    step();
    stop();
    folder_ = left;
  }
  std::string orders() const { return storage_->filter_path("toy", "orders", "order"); }
  // What a restart would go on from.
  std::uint64_t orders_position() {
    const auto kept = read_checkpoint<ToyLog>(
        orders(),
        storage_->secret(),
        ToyLog::definition_hash(bench_->targets()[kOrders], {.name = "order", .definition = 0}),
        read_renewal(storage_->position_path("toy")).value());
    return kept && *kept ? (*kept)->position.number() : 0;
  }

  const harness::TemporaryDirectory directory_;
  std::string folder_ = directory_.file("kept");
  std::optional<StorageDirectory> storage_;
  int crashes_ = 0;
};

TEST_F(ToyCheckpoints, of_a_table_that_does_not_change_come_as_far_as_the_log) {
  server_.insert("order", "1");
  server_.insert("user", "1");
  start();
  ASSERT_TRUE(becomes([this] { return orders_position() > 0; }));
  const std::string written = harness::read_whole_file(orders());
  server_.insert("user", "2");
  server_.insert("user", "3");
  EXPECT_TRUE(becomes([this] { return orders_position() == server_.end().number(); }));
  EXPECT_EQ(harness::read_whole_file(orders()), written) << "which costs no more than a line";
  crash();
  start();
  step();
  step();
  EXPECT_TRUE(is_fresh()) << "at once, without a load";
  EXPECT_EQ(hidden_rows(), 0U);
  stop();
}

// One that was put back, say, or that is of the run before.
TEST_F(ToyCheckpoints, are_no_later_than_they_say_if_they_are_others_than_those_that_were_renewed) {
  server_.insert("order", "1");
  start();
  ASSERT_TRUE(becomes([this] { return orders_position() > 0; }));
  const std::string before = harness::read_whole_file(orders());
  server_.insert("order", "2");
  ASSERT_TRUE(becomes([&] { return harness::read_whole_file(orders()) != before; }));
  server_.insert("user", "1");
  ASSERT_TRUE(becomes([this] { return orders_position() == server_.end().number(); }));
  stop();
  storage_.emplace(StorageDirectory::open(folder_).value());
  EXPECT_EQ(orders_position(), server_.end().number());
  harness::write_whole_file(orders(), before);
  EXPECT_EQ(orders_position(), 1U);
  harness::write_whole_file(storage_->position_path("toy"), "1\n2\n");
  EXPECT_FALSE(read_renewal(storage_->position_path("toy")));
}

TEST_F(ToyCheckpoints, have_all_rows_whenever_a_machine_fails) {
  std::mt19937 random(7);
  start();
  ASSERT_TRUE(becomes_current());
  for (int round = 0; round < 25; ++round) {
    for (auto writes = random() % 60; writes > 0; --writes) {
      const bool is_order = random() % 16 == 0;  // seldom: mostly it is only renewed
      server_.toggle(is_order ? "order" : "user", std::to_string(random() % 20));
      server_.show(random() % 4);
      step();
    }
    if (round % 2 == 0) {
      server_.show();
      const std::uint64_t end = server_.end().number();
      ASSERT_TRUE(becomes([&] { return orders_position() >= end; }));
      server_.toggle("order", std::to_string(random() % 20));
      server_.show(random() % 2);
      step();
    }
    crash();
    start();
    const bool goes_on = becomes([this] {
      server_.show();
      return is_fresh() && follower_->reached(server_.end().text()) == Reached::yes &&
             items(kUsers) == server_.rows("user").size() &&
             items(kOrders) == server_.rows("order").size();
    });
    ASSERT_TRUE(goes_on) << round;
    ASSERT_EQ(hidden_rows(), 0U) << round;
  }
  stop();
}

// Random writers, loads in between, all that a view may show.
class RandomRun {
 public:
  explicit RandomRun(std::uint32_t seed) : random_(seed) {}
  ~RandomRun() { follower_.finish(); }
  RandomRun(const RandomRun&) = delete;
  RandomRun& operator=(const RandomRun&) = delete;

  void write() {
    for (int i = 0; i < 30; ++i) {
      server_.toggle(table(), id());
      if (pick(3) == 0) {
        server_.show(pick(4));
      }
      if (pick(10) == 0) {
        server_.move_in_view(pick(4), table(), id());
      }
      if (pick(15) == 0) {
        bench_.lives[pick(2)].ask_for_rebuild();
      }
      follower_.step(never_);
      bench_.clock.advance(milliseconds(pick(20)));
    }
  }
  // At a quiet point filter and table are the same.
  std::size_t wrong_rows() {
    becomes_current();  // by loads in which rows come and go
    server_.end_moves();
    return (becomes_current() ? 0 : 1) + hidden_rows(bench_, server_);
  }

 private:
  std::uint32_t pick(std::uint32_t choices) {
    return static_cast<std::uint32_t>(random_()) % choices;
  }
  std::string table() { return pick(2) == 0 ? "user" : "order"; }
  std::string id() { return std::to_string(pick(40)); }

  bool is_current() {
    return bench_.is_fresh(0) && bench_.is_fresh(1) &&
           follower_.reached(server_.end().text()) == Reached::yes &&
           items(bench_, 0) == server_.rows("user").size() &&
           items(bench_, 1) == server_.rows("order").size();
  }
  bool becomes_current() {
    const auto until = std::chrono::steady_clock::now() + seconds(30);
    bool is_so = is_current();  // and is not while the next load is being published
    for (; !is_so && std::chrono::steady_clock::now() < until; is_so = is_current()) {
      server_.show();
      follower_.step(never_);
      bench_.clock.advance(milliseconds(1));
      std::this_thread::yield();
    }
    return is_so;
  }

  std::mt19937 random_;
  std::stop_token never_;
  Bench bench_{kWanted};
  ToyServer server_{{"user", "order"}};
  ToyFollower follower_{server_, bench_.feeds(), bench_.clock.clock(), {}, bench_.witness};
};

TEST(ToyLog, filter_and_table_are_the_same_at_every_quiet_point) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    RandomRun run(seed);
    for (int round = 0; round < 12; ++round) {
      run.write();
      ASSERT_EQ(run.wrong_rows(), 0U) << "seed " << seed;
    }
  }
}

// On threads of its own, as the process has it.
TEST(ToyLog, is_a_source) {
  Bench bench(kWanted);
  ToyServer server({"user", "order"});
  server.insert("user", "1");
  SourceThread source(std::make_unique<ToyFollower>(
                          server, bench.feeds(), bench.clock.clock(), Storage{}, bench.witness),
                      nullptr);
  source.start();
  ASSERT_TRUE(bench.witness.wait_for("users", filter::State::ready));
  server.insert("user", "2");
  const std::string end = server.end().text();
  const auto until = std::chrono::steady_clock::now() + seconds(30);
  while (source.reached(end) != Reached::yes && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_EQ(source.reached(end), Reached::yes);
  EXPECT_TRUE(bench.has("user:2"));
  source.stop();
  EXPECT_FALSE(bench.is_fresh());
}

}  // namespace
}  // namespace cuckooguard::source
