// What a MySQL's probe asks, and that its answer has all that anybody sees: MySQL shows commits
// before gtid_executed has them, but not before its log does.
//
// Needs a MySQL (harness/mysql_server.h).
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/questions.h"

namespace cuckooguard::harness {
namespace {

using namespace std::chrono_literals;
using source::mysql::Connection;
using source::mysql::LogPosition;
using testing::HasSubstr;

class MySqlQuestions : public Questions<OnMySql> {
 protected:
  // Its log is in the first file no more: questions are short.
  void be_old() { run("FLUSH BINARY LOGS"); }
  std::string executed() { return session_->value("SELECT @@global.gtid_executed"); }
  void reset() {
    if (session_->try_run("RESET BINARY LOGS AND GTIDS") != 0) {
      run("RESET MASTER");  // before MySQL 8.4
    }
  }
  // Of a text that ends with `server:1-7`, or `server:7'`.
  static std::uint64_t last_number(std::string_view text) {
    const std::size_t end = text.find_last_of("0123456789") + 1;
    const std::size_t begin = text.find_last_not_of("0123456789", end - 1) + 1;
    return std::stoull(std::string(text.substr(begin, end - begin)));
  }
  void become_a_replica() {
    run("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1, SOURCE_USER = "
        "'nobody'");
  }
};

TEST_F(MySqlQuestions, are_answered_with_the_end_of_the_log_by_whom_it_is_asked_after_a_commit) {
  be_old();
  begin();
  auto before = word();
  ASSERT_TRUE(before);
  EXPECT_TRUE(questions_.serves_strict());
  for (int id = 1; id <= 20; ++id) {
    run("INSERT INTO user VALUES (" + std::to_string(id) + ")");
    const LogPosition committed = LogPosition::parse(executed(), false).value();
    const auto read_at = real_now();
    const auto answer = ask();
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->position.covers(committed));
    EXPECT_GT(answer->place, before->place);
    EXPECT_GE(answer->at, read_at);
    before = answer;
  }
}

TEST_F(MySqlQuestions, are_short_but_for_those_that_are_due_by_their_time) {
  now_ = real_now();
  be_old();
  begin();
  const auto first = word();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->committed);
  for (int i = 0; i < 20; ++i) {
    const auto answer = ask();
    ASSERT_TRUE(answer && answer->at);
    EXPECT_FALSE(answer->committed);
  }
  {
    const std::scoped_lock lock(mutex_);
    later_ = ServerProbe::kReportEveryMax;
  }
  questions_.want();
  EXPECT_TRUE(eventually([this] {
    const auto next = word();
    return next && next->committed;
  }));
}

// Where a log is that begins anew.
TEST_F(MySqlQuestions, of_a_log_in_its_first_file_ask_each_time_whether_it_has_begun_anew) {
  now_ = real_now();
  run("INSERT INTO user VALUES (1)");
  begin();
  ASSERT_TRUE(word());
  const std::string before = executed();
  for (int i = 0; i < 20; ++i) {
    const auto answer = ask();
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->committed) << "a short question was believed";
  }
  reset();
  run("SET GLOBAL gtid_purged = '" + before + "'");
  for (int id = 100; id < 110; ++id) {
    run("INSERT INTO user VALUES (" + std::to_string(id) + ")");
  }
  EXPECT_TRUE(eventually([this] {
    questions_.want();
    return probe_->has_ended();
  }));
  EXPECT_THAT(probe_->why(), HasSubstr("RESET"));
}

TEST_F(MySqlQuestions, of_an_old_log_that_has_begun_anew_notice_that_it_has_gone_back) {
  now_ = real_now();  // so that all are short
  be_old();
  begin();
  ASSERT_TRUE(word());
  const std::string before = executed();
  reset();
  run("SET GLOBAL gtid_purged = '" + before + "'");
  run("FLUSH BINARY LOGS");  // it is in the first file no more
  EXPECT_TRUE(eventually([this] {
    questions_.want();
    return probe_->has_ended();
  }));
  EXPECT_THAT(probe_->why(), HasSubstr("went back to binlog.000002"));
}

// So its places are not reached by a stream of before; a short question rests on that.
TEST_F(MySqlQuestions,
       of_a_log_that_has_begun_anew_are_not_proven_by_the_stream_of_the_one_before) {
  constexpr std::size_t kTypeAt = 4;
  constexpr int kHeartbeats = 5;
  run("INSERT INTO user VALUES (1), (2), (3)");
  auto stream = source::mysql::LogStream::begin(Connection::open(login()).value(),
                                                LogPosition::parse("", false).value(),
                                                {.server_id = 77})
                    .value();
  // Until the stream ends, or nothing else comes for a while.
  const auto events = [&stream] {
    int others = 0;
    for (int heartbeats = 0; heartbeats < kHeartbeats;) {
      const auto event = stream.next();
      if (!event || !*event) {
        break;
      }
      const bool is_heartbeat =
          (**event)[kTypeAt] == static_cast<char>(binlog::EventType::heartbeat);
      (is_heartbeat ? heartbeats : others) += 1;
    }
    return others;
  };
  EXPECT_GT(events(), 0);
  auto connection = Connection::open(login()).value();
  const source::mysql::LogPlace before = source::mysql::log_end(connection).value();
  reset();
  run("INSERT INTO user VALUES (100)");
  EXPECT_EQ(events(), 0) << "while it is shorter than the one before";
  for (int id = 101; source::mysql::log_end(connection).value().position <= before.position + 1000;
       ++id) {
    run("INSERT INTO user VALUES (" + std::to_string(id) + ")");
  }
  EXPECT_EQ(events(), 0) << "when it is longer";
}

TEST_F(MySqlQuestions, to_a_server_that_becomes_a_replica_serve_no_strict_reads_any_more) {
  be_old();
  begin();
  ASSERT_TRUE(word());
  EXPECT_TRUE(questions_.serves_strict());
  become_a_replica();
  const auto answer = ask();
  ASSERT_TRUE(answer);
  EXPECT_FALSE(questions_.serves_strict());
  EXPECT_FALSE(answer->at);  // it does not run, so its lag is not known
  probe_.reset();
  questions_.set_must_serve_strict(true);
  begin(1h);
  EXPECT_TRUE(eventually([this] { return probe_->has_ended(); }));
  EXPECT_THAT(probe_->why(), HasSubstr("consistency: max_lag"));
}

// Many commits at once: others see the first before gtid_executed has any. Each transaction adds
// one, and is numbered in the order of the log.
TEST_F(MySqlQuestions, of_where_the_log_ends_are_answered_with_all_that_others_see) {
  constexpr int kWriters = 32;
  constexpr int kViews = 1000;
  struct View {
    std::uint64_t seen = 0;
    std::uint64_t executed = 0;
    source::mysql::LogPlace end;
  };
  run("SET GLOBAL binlog_group_commit_sync_delay = 1000");
  run("CREATE TABLE counter (writer INT PRIMARY KEY, n BIGINT)");
  for (int i = 0; i < kWriters; ++i) {
    run("INSERT INTO counter VALUES (" + std::to_string(i) + ", 0)");
  }
  auto connection = Connection::open(login()).value();
  const std::uint64_t before = last_number(executed());
  std::atomic<bool> is_over{false};
  std::vector<std::jthread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] {
      SqlSession session = server_->session();
      while (!is_over) {
        session.run("UPDATE counter SET n = n + 1 WHERE writer = " + std::to_string(i));
      }
    });
  }
  std::vector<View> views;
  for (int i = 0; i < kViews; ++i) {
    View view;
    view.seen = std::stoull(connection.value("SELECT SUM(n) FROM counter").value().value());
    view.executed = last_number(*connection.value("SELECT @@global.gtid_executed").value());
    view.end = source::mysql::log_end(connection).value();
    views.push_back(view);
  }
  is_over = true;
  writers.clear();
  const std::uint64_t last = last_number(executed());
  int is_not_executed = 0;
  for (const View& view : views) {
    const auto begins = session_->run("SHOW BINLOG EVENTS IN '" + view.end.file + "' FROM " +
                                      std::to_string(view.end.position) + " LIMIT 1");
    // The first transaction behind the end: SET @@SESSION.GTID_NEXT= 'server:7'.
    const std::uint64_t behind = begins.empty() ? last + 1 : last_number(*begins[0][5]);
    EXPECT_GE(behind - 1 - before, view.seen);
    is_not_executed += view.executed - before < view.seen ? 1 : 0;
  }
  std::printf("questions: views=%d before_gtid_executed=%d transactions=%llu\n",
              kViews,
              is_not_executed,
              static_cast<unsigned long long>(last - before));
}

// --- the whole of it ---

using MySqlStrict = MySqlQuestions;

TEST_F(MySqlStrict, a_row_is_seen_by_whoever_waits_for_a_proof_that_is_newer_than_the_read) {
  expect_new_rows_are_seen_strictly();
}

// Of which the log has no transaction.
TEST_F(MySqlStrict, proofs_come_where_the_log_goes_on_in_another_file) {
  run("INSERT INTO user VALUES (1)");
  follow(config::Consistency::strict);
  ASSERT_TRUE(bench_.witness.wait_for("users", filter::State::ready));
  for (int i = 0; i < 5; ++i) {
    run("FLUSH BINARY LOGS");
    expect_proof();
    expect_a_new_row_is_seen(100 + i);
  }
  source_->stop();
}

// Other servers' transactions behind its own last one, which it does not send.
TEST_F(MySqlStrict, proofs_come_where_the_log_ends_with_what_is_skipped) {
  run("INSERT INTO user VALUES (1)");
  run("SET gtid_next = '00000000-0000-0000-0000-000000000001:1'");
  run("INSERT INTO user VALUES (2)");
  run("SET gtid_next = 'AUTOMATIC'");
  follow(config::Consistency::strict);
  ASSERT_TRUE(bench_.witness.wait_for("users", filter::State::ready));
  expect_proof();
  source_->stop();
}

TEST_F(MySqlStrict, is_refused_by_a_replica_in_words_and_only_to_who_insists_on_it) {
  become_a_replica();
  const std::vector<source::mysql::Login> logins{login()};
  EXPECT_TRUE(source::mysql::LogFollower::check(logins, bench_.targets()).empty());
  bench_.namespaces[0].consistency = config::Consistency::strict;
  const auto refusals = source::mysql::LogFollower::check(logins, bench_.targets());
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_THAT(refusals[0].what, HasSubstr("set consistency: max_lag, or follow the primary"));
}

}  // namespace
}  // namespace cuckooguard::harness
