// Whatever comes between a guard and its database, no row is hidden for longer than max_lag, and no
// key is answered from a state that is older than that. Each link is stopped in turn, and comes
// back.

#include <algorithm>
#include <csignal>
#include <functional>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/redis_command.h"
#include "harness/slow_link.h"

namespace cuckooguard::harness {
namespace {

constexpr milliseconds kALittle{100};  // for signals and packets on their way

milliseconds since(SteadyClock::time_point then) {
  return std::chrono::duration_cast<milliseconds>(SteadyClock::now() - then);
}

class SourceFreshness : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY)");
    run("INSERT INTO user SELECT seq FROM seq_1_to_1000");
    link_.emplace(server_->port());
    start(configuration(Guarded().yaml(), "", port_address(link_->port())));
    client_.emplace(guard_->client());
    ASSERT_TRUE(comes_back()) << guard_->log();
  }

  bool is_absent(std::uint64_t id) {
    return client_->call({"GET", "user:" + std::to_string(id)}) == kAnswer;
  }
  // A key that never exists.
  bool is_answering() { return is_absent(1'000'000'000); }
  bool comes_back() {
    return eventually([this] { return is_answering(); });
  }

  std::uint64_t insert() {
    session_->run("INSERT INTO user VALUES (" + std::to_string(++last_id_) + ")");
    return last_id_;
  }

  // How long after `then` a question was sent last that was answered "absent".
  milliseconds answered_absent(std::uint64_t id, SteadyClock::time_point then) {
    milliseconds last{0};
    (void)eventually([&] {
      const milliseconds asked = since(then);
      const bool is_absent_now = is_absent(id);
      last = is_absent_now ? asked : last;
      return !is_absent_now;
    });
    return last;
  }
  // For as long as this takes: rows are inserted, and none may be hidden longer than max_lag.
  void expect_no_row_hidden_too_long(milliseconds duration) {
    const Deadline end(duration);
    while (!end.has_passed()) {
      const std::uint64_t id = insert();
      EXPECT_LE(answered_absent(id, SteadyClock::now()), kMaxLag) << guard_->log();
    }
  }
  void expect_no_answers(milliseconds duration) {
    EXPECT_FALSE(eventually([this] { return is_answering(); }, duration)) << guard_->log();
  }

  std::optional<SlowLink> link_;
  std::optional<RawClient> client_;
  std::uint64_t last_id_ = 2000;
};

TEST_F(SourceFreshness, ends_within_max_lag_when_the_server_hangs) {
  server_->send_signal(SIGSTOP);
  EXPECT_LE(answered_absent(5'000'000, SteadyClock::now()), kMaxLag + kALittle);
  expect_no_answers(kMaxLag * 2);
  server_->send_signal(SIGCONT);
  EXPECT_TRUE(comes_back()) << guard_->log();
}

TEST_F(SourceFreshness, ends_within_max_lag_when_connections_are_silently_dead) {
  link_->stall(SlowLink::Which::all);
  EXPECT_LE(answered_absent(5'000'000, SteadyClock::now()), kMaxLag + kALittle);
  const std::uint64_t id = insert();
  expect_no_answers(kMaxLag * 2);
  link_->flow();
  EXPECT_TRUE(comes_back()) << guard_->log();
  EXPECT_FALSE(is_absent(id));
}

TEST_F(SourceFreshness, comes_back_by_itself_when_connections_stay_dead) {
  link_->forget_connections();
  EXPECT_LE(answered_absent(5'000'000, SteadyClock::now()), kMaxLag + kALittle);
  const std::uint64_t id = insert();
  EXPECT_TRUE(comes_back()) << guard_->log();
  EXPECT_FALSE(is_absent(id));
}

TEST_F(SourceFreshness, ends_within_max_lag_when_the_server_is_cut_off) {
  link_->cut();
  EXPECT_LE(answered_absent(5'000'000, SteadyClock::now()), kMaxLag + kALittle);
  const std::uint64_t id = insert();
  expect_no_answers(kMaxLag * 2);
  link_->flow();
  EXPECT_TRUE(comes_back()) << guard_->log();
  EXPECT_FALSE(is_absent(id));
}

// The server answers, its heartbeats do not come: the thread that applies its log waits.
TEST_F(SourceFreshness, ends_within_max_lag_of_a_commit_that_the_log_does_not_bring) {
  link_->stall(SlowLink::Which::log);
  const std::uint64_t id = insert();
  EXPECT_LE(answered_absent(id, SteadyClock::now()), kMaxLag);
  expect_no_answers(kMaxLag * 2);
  link_->flow();
  EXPECT_TRUE(comes_back()) << guard_->log();
  EXPECT_FALSE(is_absent(id));
}

// Heartbeats come, and time stamps of events look as they always do.
TEST_F(SourceFreshness, ends_within_max_lag_when_the_log_is_constantly_three_seconds_late) {
  link_->delay_log(milliseconds(3000));
  const std::uint64_t first = insert();
  EXPECT_LE(answered_absent(first, SteadyClock::now()), kMaxLag);
  const Deadline end(milliseconds(6000));
  std::uint64_t answers = 0;
  while (!end.has_passed()) {
    const std::uint64_t id = insert();
    EXPECT_LE(answered_absent(id, SteadyClock::now()), kMaxLag);
    answers += is_answering() ? 1 : 0;
  }
  EXPECT_EQ(answers, 0U);
  link_->delay_log(milliseconds(0));
  EXPECT_TRUE(comes_back()) << guard_->log();
  EXPECT_FALSE(is_absent(first));
  expect_no_row_hidden_too_long(milliseconds(500));
}

// Late by less than max_lag, and never at an end.
TEST_F(SourceFreshness, goes_on_answering_while_a_busy_log_is_a_little_late) {
  link_->delay_log(milliseconds(100));
  const Deadline end(milliseconds(4000));
  std::uint64_t asked = 0;
  std::uint64_t answered = 0;
  while (!end.has_passed()) {
    insert();
    ++asked;
    answered += is_answering() ? 1 : 0;
  }
  EXPECT_GT(answered, asked / 2) << guard_->log();
  expect_no_row_hidden_too_long(milliseconds(1000));
}

TEST_F(SourceFreshness, is_over_for_a_guard_that_was_suspended) {
  for (int round = 0; round < 5; ++round) {
    guard_->send_signal(SIGSTOP);
    ASSERT_TRUE(eventually([&] { return is_stopped(guard_->pid()); }));
    const std::uint64_t id = insert();
    const auto committed = SteadyClock::now();
    // Questions that wait already are among the first that are answered.
    client_->send(command({"GET", "user:" + std::to_string(id)}));
    ASSERT_TRUE(eventually([&] { return since(committed) > kMaxLag; }));
    guard_->send_signal(SIGCONT);
    EXPECT_EQ(client_->read_reply(), kNil) << guard_->log();
    EXPECT_FALSE(is_absent(id));
    EXPECT_TRUE(comes_back()) << guard_->log();
    EXPECT_FALSE(is_absent(id));
  }
}

// It has no other way to know: each is read while its commit is on its way.
TEST_F(SourceFreshness, says_which_rows_it_has_told_to_be_absent_behind_their_commit) {
  const auto counted = [this](const std::string& field) {
    return std::stoull(info_field(*guard_, "users", field));
  };
  link_->delay_log(milliseconds(300));
  EXPECT_TRUE(eventually([&] {
    answered_absent(insert(), SteadyClock::now());
    return counted("rows_hidden") > 0;
  }));
  EXPECT_TRUE(eventually([this] {
    return guard_->log().find(
               "event=hidden_by_lag namespace=users mode=enforce "
               "consistency=max_lag") != std::string::npos;
  })) << guard_->log();
}

TEST_F(SourceFreshness, says_which_rows_were_read_before_their_commit) {
  session_->run("BEGIN");
  const std::uint64_t id = insert();
  EXPECT_TRUE(is_absent(id));
  const auto read = SteadyClock::now();
  EXPECT_TRUE(eventually([&] {  // a question has begun since
    return since(read) >
           milliseconds(std::stoll(info_field(*guard_, "users", "proven_ms_ago")) + 1);
  }));
  session_->run("COMMIT");
  EXPECT_TRUE(eventually(
      [this] { return info_field(*guard_, "users", "rows_read_before_commit") == "1"; }));
  EXPECT_EQ(info_field(*guard_, "users", "rows_hidden"), "0");
}

}  // namespace
}  // namespace cuckooguard::harness
