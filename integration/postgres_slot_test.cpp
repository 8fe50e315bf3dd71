// What a guard leaves with a PostgreSQL: a slot, and in storage filters that go with it. Whatever
// ends the guard or the server, the guard goes on where it was, and hides no row; if the slot is
// not there any more, it reads all anew.

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_postgres.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;

class PostgresSlot : public GuardedPostgres {
 protected:
  void create_tables() override {
    run("CREATE TABLE \"user\" (id BIGINT PRIMARY KEY, name TEXT);"
        "INSERT INTO \"user\" SELECT n FROM generate_series(1, 1000) n");
  }

  // Room for all that writers write: a filter that is full is read again.
  std::string yaml() const {
    return configuration(
        Guarded{.filter = "{ false_positive_rate: 0.0001%, capacity: 1000000 }"}.yaml(),
        storage(folder_ / "kept"));
  }
  std::filesystem::path file() const { return folder_ / "kept" / "shop.users.user.filter"; }
  std::filesystem::path later() const { return folder_ / "kept" / "shop.position"; }

  void start() { GuardedPostgres::start(yaml()); }
  void kill() {
    guard_->send_signal(SIGKILL);
    guard_->exit_code();
    guard_.reset();
  }
  // With rows that the file has.
  void start_and_keep() {
    start();
    ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
    ASSERT_TRUE(eventually([this] { return std::filesystem::exists(file()); })) << guard_->log();
  }
  bool has_read_the_table() const { return guard_->log().contains("event=loaded"); }
  bool has_gone_on() const { return guard_->log().contains("filter=restored"); }

  std::string of_slots(const std::string& what) {
    return session_->value("SELECT " + what + " FROM pg_replication_slots");
  }
  // But for the last transaction, which is sent once more.
  static std::string is_confirmed(const std::string& position) {
    return "pg_wal_lsn_diff('" + position + "', confirmed_flush_lsn) < 100";
  }
  // The server notices in its own time who has gone.
  bool is_left_alone() {
    return eventually([this] { return of_slots("count(*) FILTER (WHERE active)") == "0"; });
  }
};

TEST_F(PostgresSlot, is_where_a_killed_guard_goes_on) {
  start_and_keep();
  run("INSERT INTO \"user\" VALUES (6000, 'after the file')");
  kill();
  run("INSERT INTO \"user\" VALUES (7000, 'while it was down'); DELETE FROM \"user\" WHERE id IN "
      "(3, 6000)");
  start();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_FALSE(has_read_the_table()) << guard_->log();
  EXPECT_TRUE(has_gone_on()) << guard_->log();
  EXPECT_FALSE(is_absent("user:7000"));
  EXPECT_FALSE(is_absent("user:1000"));
  EXPECT_TRUE(becomes_absent("user:6000"));
  EXPECT_TRUE(becomes_absent("user:3"));
}

TEST_F(PostgresSlot, has_what_an_ended_guard_has_not_kept) {
  start_and_keep();
  const std::string position = commit("INSERT INTO \"user\" VALUES (6000, 'new')");
  ASSERT_TRUE(catches_up());
  guard_.reset();
  const Ended inspected = run_guard({"filter", "inspect", file().string()});
  EXPECT_THAT(inspected.standard_output, HasSubstr("items: 1001\n"));
  ASSERT_TRUE(is_left_alone());
  EXPECT_EQ(of_slots(is_confirmed(position)), "t")
      << of_slots("confirmed_flush_lsn") << ' ' << position << '\n'
      << inspected.standard_output;
  start();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_FALSE(has_read_the_table()) << guard_->log();
  EXPECT_FALSE(is_absent("user:6000"));
}

TEST_F(PostgresSlot, of_a_guard_that_is_killed_again_and_again_under_writes_hides_no_row) {
  constexpr int kKills = 5;
  start_and_keep();
  int from = 10'000;
  for (int round = 0; round < kKills; ++round) {
    std::atomic<int> last = from;  // of those whose commit was answered
    {
      const std::jthread writer([&](const std::stop_token& stop) {
        PostgresSession session = server_->session();
        while (!stop.stop_requested()) {
          session.run("INSERT INTO \"user\" VALUES (" + std::to_string(last + 1) + ")");
          ++last;
        }
      });
      ASSERT_TRUE(eventually([&] { return last > from + 50; }));
      kill();
      start();
      ASSERT_TRUE(eventually([&, then = last.load()] { return last > then + 50; }));
    }
    ASSERT_TRUE(catches_up()) << guard_->log();
    ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
    ASSERT_FALSE(has_read_the_table()) << guard_->log();
    RawClient client = guard_->client();
    for (int id = from + 1; id <= last; ++id) {
      ASSERT_EQ(client.call({"GET", "user:" + std::to_string(id)}), kNil) << round;
    }
    from = last;
  }
}

TEST_F(PostgresSlot, that_is_gone_has_all_read_anew) {
  start_and_keep();
  kill();
  ASSERT_TRUE(is_left_alone());
  run("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots");
  run("INSERT INTO \"user\" VALUES (7000, 'for nobody')");
  start();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_TRUE(has_read_the_table()) << guard_->log();
  EXPECT_FALSE(is_absent("user:7000"));
  EXPECT_EQ(of_slots("count(*)"), "1");
}

// A slot of the same name is not the same slot.
TEST_F(PostgresSlot, that_another_was_made_in_place_of_has_all_read_anew) {
  start_and_keep();
  kill();
  ASSERT_TRUE(is_left_alone());
  run("INSERT INTO \"user\" VALUES (7000, 'for nobody')");
  const std::string name = of_slots("slot_name");
  run("SELECT pg_drop_replication_slot('" + name + "')");
  run("SELECT pg_create_logical_replication_slot('" + name + "', 'pgoutput')");
  start();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_TRUE(has_read_the_table()) << guard_->log();
  EXPECT_FALSE(is_absent("user:7000"));
}

// As from a snapshot of its disk: slot, timeline and places are the same, and what is written
// there is not.
TEST_F(PostgresSlot, of_a_server_that_was_set_back_has_all_read_anew) {
  const std::string before = folder_ / "before";
  const auto copy = [](const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::remove_all(to);
    return run_program({"cp", "-a", from, to}).exit_code == 0;
  };
  start_and_keep();
  run("INSERT INTO \"user\" VALUES (6000, 'of both')");
  ASSERT_TRUE(catches_up());
  session_.reset();
  server_->stop();
  ASSERT_TRUE(copy(server_->data(), before));
  server_->start_again();
  session_.emplace(server_->session());
  run("INSERT INTO \"user\" SELECT n, 'of the first' FROM generate_series(10001, 10009) n");
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  ASSERT_TRUE(catches_up());
  const auto is_set_back = [&] {
    session_.reset();
    server_->stop();
    ASSERT_TRUE(copy(before, server_->data()));
    server_->start_again();
    session_.emplace(server_->session());
    for (int id = 20'001; id <= 20'099; ++id) {  // past all that the first had
      run("INSERT INTO \"user\" VALUES (" + std::to_string(id) + ", 'of the second')");
    }
  };
  const auto hides_none = [&] {
    ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
    ASSERT_TRUE(catches_up());
    for (int id = 20'001; id <= 20'099; ++id) {
      ASSERT_FALSE(is_absent("user:" + std::to_string(id))) << id << '\n' << guard_->log();
    }
  };
  guard_.reset();
  is_set_back();
  start();
  hides_none();
  is_set_back();  // and while it is followed
  hides_none();
}

TEST_F(PostgresSlot, is_one_guards_at_a_time) {
  const std::string yaml = configuration(Guarded().yaml(), "", ", slot: mine");
  GuardedPostgres::start(yaml);
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  const GuardProcess second = GuardProcess::on_port(yaml);
  ASSERT_TRUE(eventually([&] {
    return second.call({"GUARD.INFO"}).contains("slot mine is in use: by another guard");
  })) << second.log();
  EXPECT_EQ(second.call({"GET", "user:5000"}), kNil);
  guard_.reset();
  EXPECT_TRUE(eventually([&] { return second.call({"GET", "user:5000"}) == kAnswer; }))
      << second.log();
  EXPECT_EQ(of_slots("count(*)"), "1");
}

// As builders of a fleet have it.
TEST_F(PostgresSlot, is_a_guards_own_where_several_have_one_secret) {
  const std::string secret = folder_.file("fleet.secret");
  write_whole_file(secret, std::string(192, 's'));
  std::filesystem::permissions(secret, std::filesystem::perms::owner_read);
  const auto yaml = [&](const std::string& name) {
    return configuration(
        Guarded().yaml(),
        "storage: { directory: " + folder_.file(name) + ", secret_file: " + secret + " }\n");
  };
  GuardedPostgres::start(yaml("one"));
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  const GuardProcess second = GuardProcess::on_port(yaml("two"));
  EXPECT_TRUE(eventually([&] { return second.call({"GET", "user:5000"}) == kAnswer; }))
      << second.log();
  EXPECT_EQ(of_slots("count(*) FILTER (WHERE active AND NOT temporary)"), "2");
}

TEST_F(PostgresSlot, goes_with_a_guard_that_keeps_nothing) {
  GuardedPostgres::start(configuration());
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_EQ(of_slots("count(*) FILTER (WHERE temporary)"), "1");
  guard_.reset();
  EXPECT_TRUE(eventually([this] { return of_slots("count(*)") == "0"; }));
}

// What is confirmed is not sent again.
TEST_F(PostgresSlot, is_not_confirmed_before_a_checkpoint_has_it) {
  start_and_keep();
  const auto lsn = [](const std::string& text) {
    return std::stoull(text.substr(0, text.find('/')), nullptr, 16) << 32U |
           std::stoull(text.substr(text.find('/') + 1), nullptr, 16);
  };
  const auto lsn_behind = [&](const std::string& begin, const std::string& text) {
    const std::size_t at = text.find(begin);
    return at == std::string::npos ? 0 : lsn(text.substr(at + begin.size()));
  };
  const auto kept = [&] {
    return std::max(lsn_behind(R"(position: "postgres\x0a)",
                               run_guard({"filter", "inspect", file().string()}).standard_output),
                    lsn_behind("\npostgres\n",
                               std::filesystem::exists(later()) ? read_whole_file(later()) : ""));
  };
  const std::string first = of_slots("confirmed_flush_lsn");
  int id = 10'000;
  int looks = 0;
  // It is written every second, and confirmed in the next.
  ASSERT_TRUE(eventually([&] {
    run("INSERT INTO \"user\" VALUES (" + std::to_string(++id) + ")");
    const std::string confirmed = of_slots("confirmed_flush_lsn");
    EXPECT_LE(lsn(confirmed), kept());
    ++looks;
    return lsn(confirmed) > lsn(first);
  })) << guard_->log();
  EXPECT_GT(looks, 1);
}

// It would be kept for it, although a restart would find nothing there.
TEST_F(PostgresSlot, lets_go_of_a_log_that_has_nothing_of_the_guards_tables) {
  run("CREATE TABLE busy (id INT)");
  start_and_keep();
  const std::string written = read_whole_file(file());
  for (int round = 0; round < 3; ++round) {
    // More of it than the guard lets be without a transaction that it knows again.
    run("INSERT INTO busy SELECT generate_series(1, 30000)");
    const std::string position = session_->value("SELECT pg_current_wal_lsn()");
    EXPECT_TRUE(eventually([&] { return of_slots(is_confirmed(position)) == "t"; }))
        << of_slots("confirmed_flush_lsn") << ' ' << position;
  }
  EXPECT_EQ(read_whole_file(file()), written);
  kill();
  run("INSERT INTO \"user\" VALUES (7000, 'while it was down'); DELETE FROM \"user\" WHERE id = 3");
  start();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_FALSE(has_read_the_table()) << guard_->log();
  EXPECT_TRUE(has_gone_on()) << guard_->log();
  EXPECT_FALSE(is_absent("user:7000"));
  EXPECT_FALSE(is_absent("user:1000"));
  EXPECT_TRUE(becomes_absent("user:3"));
}

// A server that is shut down waits until those who follow it have said that they have kept all; who
// has said nothing yet is not waited for.
TEST_F(PostgresSlot, is_not_in_the_way_of_a_server_that_is_stopped) {
  start_and_keep();
  const std::string made = of_slots("confirmed_flush_lsn");
  run("INSERT INTO \"user\" VALUES (6000, 'new')");
  ASSERT_TRUE(eventually([&] { return of_slots("confirmed_flush_lsn") != made; }));
  run("SELECT pg_logical_emit_message(true, 'of', 'nobody')");  // for which no file is written
  ASSERT_TRUE(catches_up());
  session_.reset();
  const auto begun = SteadyClock::now();
  server_->stop();
  EXPECT_LT(SteadyClock::now() - begun, milliseconds(5000));
  EXPECT_TRUE(becomes_present("user:5000"));
  server_->start_again();
  session_.emplace(server_->session());
  run("INSERT INTO \"user\" VALUES (7000, 'new'); DELETE FROM \"user\" WHERE id = 3");
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  ASSERT_TRUE(catches_up());
  EXPECT_FALSE(is_absent("user:6000"));
  EXPECT_FALSE(is_absent("user:7000"));
  EXPECT_TRUE(becomes_absent("user:3"));
  const std::string log = guard_->log();
  EXPECT_EQ(log.find("event=loaded"), log.rfind("event=loaded")) << log;
}

TEST_F(PostgresSlot, does_not_hold_up_a_guard_that_is_stopped_while_its_stream_begins) {
  start_and_keep();
  guard_.reset();
  ASSERT_TRUE(is_left_alone());
  PostgresSession owner = server_->session();
  owner.run("BEGIN; LOCK TABLE pg_catalog.pg_publication");  // of which it asks before
  start();
  ASSERT_TRUE(eventually([&] {
    return session_->value(
               "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "1";
  })) << guard_->log();
  const pid_t server = std::stoi(
      session_->value("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walsender'"));
  ::kill(server, SIGSTOP);
  owner.run("COMMIT");
  EXPECT_TRUE(eventually([&] {  // its last question before the stream is answered
    return session_->value(
               "SELECT bool_and(state = 'idle' AND query LIKE '%pg_current_snapshot()') FROM "
               "pg_stat_activity WHERE usename = 'guard' AND backend_type = 'client backend'") ==
           "t";
  })) << guard_->log();
  guard_->send_signal(SIGTERM);
  EXPECT_EQ(guard_->exit_code(milliseconds(8000)), 0) << guard_->log();  // it would wait for 10 s
  ::kill(server, SIGCONT);
}

// By the names that an operator has, and not by accident.
TEST_F(PostgresSlot, is_listed_and_dropped_when_its_guard_has_gone) {
  start_and_keep();
  write_whole_file(folder_ / "asked.yaml", "listen: 127.0.0.1:1\n" + yaml());
  const auto ask = [this](std::vector<std::string> words) {
    words.insert(words.begin(), "slot");
    words.insert(words.begin() + 2, {"--config", folder_ / "asked.yaml"});
    return run_guard(std::move(words));
  };
  const std::string name = of_slots("slot_name");
  EXPECT_THAT(name, testing::StartsWith("cuckooguard_shop_"));
  const std::string used = ask({"list"}).standard_output;
  EXPECT_THAT(used, HasSubstr(name + "  retained="));
  EXPECT_THAT(used, HasSubstr("  in use\n"));
  const Ended refused = ask({"drop", name});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.standard_error, HasSubstr(name + " is in use: stop its guard first"));
  guard_.reset();
  ASSERT_TRUE(is_left_alone());
  EXPECT_THAT(ask({"list"}).standard_output, HasSubstr("  not in use\n"));
  const Ended dropped = ask({"drop", name});
  EXPECT_EQ(dropped.exit_code, 0) << dropped.standard_error;
  EXPECT_EQ(dropped.standard_output, "dropped " + name + "\n");
  EXPECT_EQ(of_slots("count(*)"), "0");
  EXPECT_EQ(ask({"list"}).standard_output, "the server has no slots of guards\n");
  const Ended unknown = ask({"drop", name});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.standard_error, HasSubstr("no such slot: " + name));
}

}  // namespace
}  // namespace cuckooguard::harness
