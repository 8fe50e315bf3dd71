// Whatever comes between a guard and its PostgreSQL, no row is hidden for longer than max_lag, and
// no key is answered from a state that is older than that.

#include <csignal>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_postgres.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

constexpr milliseconds kALittle{100};  // for signals and packets on their way

milliseconds since(SteadyClock::time_point then) {
  return std::chrono::duration_cast<milliseconds>(SteadyClock::now() - then);
}

class PostgresFreshness : public GuardedPostgres {
 protected:
  // Nothing is written, or flushed, but what these tests have written.
  PostgresOptions options() const override {
    return {.settings = {"wal_writer_delay=10s", "autovacuum=off", "checkpoint_timeout=1h"}};
  }
  void create_tables() override {
    run("CREATE TABLE \"user\" (id BIGINT PRIMARY KEY);"
        "INSERT INTO \"user\" SELECT n FROM generate_series(1, 1000) n");
    start(configuration());
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
    run("INSERT INTO \"user\" VALUES (" + std::to_string(++last_id_) + ")");
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
  void expect_no_answers(milliseconds duration) {
    EXPECT_FALSE(eventually([this] { return is_answering(); }, duration)) << guard_->log();
  }

  std::optional<RawClient> client_;
  std::uint64_t last_id_ = 2000;
};

TEST_F(PostgresFreshness, ends_within_max_lag_when_the_server_hangs) {
  server_->freeze();
  EXPECT_LE(answered_absent(5'000'000, SteadyClock::now()), kMaxLag + kALittle);
  expect_no_answers(kMaxLag * 2);
  server_->thaw();
  EXPECT_TRUE(comes_back()) << guard_->log();
}

// The server answers whoever asks; its log does not come.
TEST_F(PostgresFreshness, ends_within_max_lag_of_a_commit_that_the_log_does_not_bring) {
  const pid_t sender = std::stoi(session_->value("SELECT pid FROM pg_stat_replication"));
  ASSERT_EQ(::kill(sender, SIGSTOP), 0);
  const std::uint64_t id = insert();
  EXPECT_LE(answered_absent(id, SteadyClock::now()), kMaxLag);
  expect_no_answers(kMaxLag * 2);
  EXPECT_EQ(::kill(sender, SIGCONT), 0);
  EXPECT_TRUE(comes_back()) << guard_->log();
  EXPECT_FALSE(is_absent(id));
}

TEST_F(PostgresFreshness, is_over_for_a_guard_that_was_suspended) {
  for (const milliseconds time : {kMaxLag, milliseconds(2000)}) {
    guard_->send_signal(SIGSTOP);
    ASSERT_TRUE(eventually([&] { return is_stopped(guard_->pid()); }));
    const std::uint64_t id = insert();
    const auto committed = SteadyClock::now();
    // Questions that wait already are among the first that are answered.
    client_->send(command({"GET", "user:" + std::to_string(id)}));
    ASSERT_TRUE(eventually([&] { return since(committed) > time; }));
    guard_->send_signal(SIGCONT);
    EXPECT_EQ(client_->read_reply(), kNil) << guard_->log();
    EXPECT_FALSE(is_absent(id));
    EXPECT_TRUE(comes_back()) << guard_->log();
    EXPECT_FALSE(is_absent(id));
  }
}

TEST_F(PostgresFreshness, comes_back_after_a_crash_of_the_server) {
  session_.reset();
  server_->kill();
  EXPECT_LE(answered_absent(5'000'000, SteadyClock::now()), kMaxLag + kALittle);
  server_->start_again();
  session_.emplace(server_->session());
  const std::uint64_t id = insert();
  EXPECT_TRUE(comes_back()) << guard_->log();
  EXPECT_FALSE(is_absent(id));
}

// Others see it before it is flushed, and a server sends only what it has flushed: here ten seconds
// later, if nobody asks.
TEST_F(PostgresFreshness, counts_from_a_commit_that_nobody_has_flushed) {
  run("SET synchronous_commit = off");
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t id = insert();
    const auto committed = SteadyClock::now();
    const std::string position = session_->value("SELECT pg_current_wal_insert_lsn()");
    EXPECT_LE(answered_absent(id, committed), kMaxLag) << guard_->log();
    EXPECT_EQ(client_->call({"GUARD.WAIT", "shop", position, "2000"}), ":1\r\n") << guard_->log();
    EXPECT_LE(since(committed), kMaxLag + kALittle);
    EXPECT_TRUE(comes_back()) << guard_->log();
  }
}

// Who may not have it flushed waits until the server does, and answers for nobody meanwhile.
TEST_F(PostgresFreshness, ends_with_a_commit_that_a_guard_may_not_have_flushed) {
  run("DO $$ DECLARE one regprocedure; BEGIN FOR one IN SELECT oid FROM pg_proc "
      "WHERE proname = 'pg_logical_emit_message' LOOP "
      "EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || one || ' FROM PUBLIC'; END LOOP; END $$");
  ASSERT_TRUE(catches_up());
  run("SET synchronous_commit = off");
  const std::uint64_t id = insert();
  const auto committed = SteadyClock::now();
  EXPECT_LE(answered_absent(id, committed), kMaxLag) << guard_->log();
  EXPECT_TRUE(eventually([this] { return !is_answering(); })) << "nothing is proven";
  EXPECT_TRUE(eventually([this] {
    return client_->call({"GUARD.INFO"})
        .contains("state:following\r\nwhy:cannot flush the server's log for waiting reads: ");
  })) << client_->call({"GUARD.INFO"});
  run("SET synchronous_commit = on");
  insert();
  EXPECT_TRUE(comes_back()) << guard_->log();
  EXPECT_FALSE(is_absent(id));
  EXPECT_THAT(client_->call({"GUARD.INFO"}), testing::HasSubstr("\r\nlosses:0\r\n"));
  EXPECT_EQ(count_in(guard_->log(), "permission denied for function pg_logical_emit_message"), 1U)
      << guard_->log();
}

}  // namespace
}  // namespace cuckooguard::harness
