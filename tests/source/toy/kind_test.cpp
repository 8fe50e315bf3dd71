// What ServerKind promises of any kind of server, on one that no other room knows.
#include "source/toy/kind.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "source/bench.h"

namespace cuckooguard::source {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ToyKindTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.insert("user", "1");
    server_.insert("user", "Ann");
    other_.insert("user", "7");
  }
  void start() {
    source_ = make_source(kToy,
                          {.settings = settings_,
                           .targets = bench_.targets(),
                           .observer = bench_.witness,
                           .clock = [] { return std::chrono::steady_clock::now(); },
                           .storage = {}})
                  .value();
    source_->start();
  }
  bool becomes(const std::function<bool()>& so) {
    const auto until = std::chrono::steady_clock::now() + seconds(30);
    while (!so() && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
    return so();
  }
  bool is_fresh() { return bench_.is_fresh(0, std::chrono::steady_clock::now()); }
  bool becomes_current(const ToyServer& server) {
    return becomes(
        [&] { return is_fresh() && source_->reached(server.end().text()) == Reached::yes; });
  }
  RowPresence presence(const std::string& id) {
    return source_->look_up_row(0, id, std::stop_token()).presence;
  }

  ToyServer server_{{"user"}};
  ToyServer other_{{"user"}};
  ToyHost host_{server_, "one"};
  ToyNetwork network_{{{"db", &host_}}};
  config::Source settings_{
      .name = "toy", .kind = config::FileSource{.path = "db"}, .max_lag = seconds(2)};
  Bench bench_{{{.name = "users",
                 .keys = {"user:{id}"},
                 .table = "user",
                 .filter = {.deletes = config::Deletes::exact}}}};
  std::unique_ptr<Source> source_;
};

TEST_F(ToyKindTest, rows_that_come_and_go_do_so_in_the_filter) {
  start();
  ASSERT_TRUE(becomes_current(server_));
  EXPECT_TRUE(bench_.has("user:1"));
  EXPECT_FALSE(bench_.has("user:2"));
  server_.insert("user", "2");
  server_.erase("user", "1");
  ASSERT_TRUE(becomes_current(server_));
  EXPECT_TRUE(bench_.has("user:2"));
  EXPECT_TRUE(becomes([this] { return !bench_.has("user:1"); }));
  source_->stop();
  EXPECT_FALSE(is_fresh());
}

TEST_F(ToyKindTest, a_row_is_looked_up_on_the_server_and_compared_as_keys_are) {
  start();
  ASSERT_TRUE(becomes_current(server_));
  EXPECT_EQ(presence("Ann"), RowPresence::present);
  EXPECT_EQ(presence("ann"), RowPresence::absent) << "the server finds it all the same";
  EXPECT_EQ(presence("2"), RowPresence::absent);
  host_.fails({.what = "nobody is there"});
  EXPECT_EQ(presence("1"), RowPresence::unknown);
}

TEST_F(ToyKindTest, tables_are_counted_listed_and_checked) {
  const auto sizes = kToy.count_rows(settings_, bench_.targets().front()).value();
  ASSERT_EQ(sizes.size(), 1U);
  EXPECT_EQ(sizes.front().rows, 2U);
  EXPECT_EQ(sizes.front().deletes, filter::DeleteMode::exact);
  const auto tables = kToy.list_tables(settings_).value();
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables.front().placeholders(), "{id}");
  const auto check = [this] { return kToy.check(settings_, bench_.targets(), {}); };
  EXPECT_THAT(check(), IsEmpty());
  bench_.namespaces.front().source.tables = {"order"};
  EXPECT_THAT(check(), ElementsAre(testing::Field(&Refusal::what, "there is no table order")));
}

TEST_F(ToyKindTest, an_account_is_suggested_to_who_is_not_let_in_and_to_nobody_else) {
  host_.fails(ToyError::refusal("no such user"));
  EXPECT_EQ(kToy.list_tables(settings_).error(), "no such user\nCREATE USER guard");
  host_.fails({.what = "nobody is there"});
  EXPECT_EQ(kToy.list_tables(settings_).error(), "nobody is there");
}

TEST_F(ToyKindTest, a_server_that_does_not_let_us_in_is_refused_until_it_does) {
  host_.fails(ToyError::refusal("no such user"));
  start();
  ASSERT_TRUE(bench_.witness.wait_for("users", filter::State::refused));
  EXPECT_THAT(bench_.witness.last_of("users").why, HasSubstr("no such user"));
  EXPECT_FALSE(is_fresh());
  host_.is(server_, "one");
  ASSERT_TRUE(becomes_current(server_));
  EXPECT_TRUE(bench_.has("user:1"));
}

// Nor is a log that does not go on after a crash waited for as long as the server was gone.
TEST_F(ToyKindTest, a_server_that_was_gone_for_long_is_followed_within_a_second_of_its_return) {
  const auto follower = make_toy_follower(host_, bench_.feeds(), bench_.clock.clock());
  host_.fails({.what = "nobody is there"});
  EXPECT_LE(follower->step({}), milliseconds(100));
  nanoseconds pause{};
  for (int i = 0; i < 20; ++i) {
    pause = follower->step({});
    EXPECT_LE(pause, milliseconds(500));
  }
  EXPECT_GE(pause, milliseconds(250));
  host_.is(server_, "one");
  EXPECT_EQ(follower->step({}), nanoseconds::zero());
  server_.begin_log_anew();
  EXPECT_LE(follower->step({}), milliseconds(100));
}

TEST_F(ToyKindTest, a_server_that_refuses_or_whose_log_never_goes_on_is_asked_ever_less_often) {
  const auto follower = make_toy_follower(host_, bench_.feeds(), bench_.clock.clock());
  host_.fails(ToyError::refusal("no such user"));
  nanoseconds pause{};
  for (int i = 0; i < 8; ++i) {
    pause = follower->step({});
  }
  EXPECT_GE(pause, seconds(5));
  host_.is(server_, "one");
  EXPECT_EQ(follower->step({}), nanoseconds::zero());
  server_.begin_log_anew();
  EXPECT_GE(follower->step({}), seconds(5));
}

// The one before lives on, and its connections with it.
TEST_F(ToyKindTest, another_server_behind_the_address_is_followed_but_not_two_by_turns) {
  start();
  ASSERT_TRUE(becomes_current(server_));
  host_.is(other_, "two");
  ASSERT_TRUE(becomes([this] { return is_fresh() && bench_.has("user:7"); }));
  EXPECT_FALSE(bench_.has("user:1"));
  EXPECT_EQ(presence("7"), RowPresence::present);
  host_.is(server_, "one");
  ASSERT_TRUE(becomes([this] {
    return bench_.witness.last_of("users").why.contains("the address leads to several servers");
  }));
  EXPECT_TRUE(becomes([this] { return !is_fresh(); }));
}

TEST_F(ToyKindTest, a_log_that_is_begun_anew_is_not_believed_by_its_numbers) {
  start();
  ASSERT_TRUE(becomes_current(server_));
  server_.begin_log_anew();
  server_.define("user", {"8"});
  ASSERT_TRUE(becomes([this] { return is_fresh() && bench_.has("user:8"); }));
  EXPECT_TRUE(becomes([this] { return !bench_.has("user:1"); }));
}

TEST_F(ToyKindTest, tables_that_a_pattern_finds_come_with_their_definition) {
  bench_.namespaces.front().source.tables = {"user*"};
  bench_.parts.front().remove("user");
  start();
  ASSERT_TRUE(becomes([this] { return is_fresh() && bench_.has("user:1"); }));
  server_.define("user_eu", {"9"});
  ASSERT_TRUE(becomes([this] { return is_fresh() && bench_.has("user:9"); }));
  EXPECT_TRUE(bench_.has("user:1"));
}

}  // namespace
}  // namespace cuckooguard::source
