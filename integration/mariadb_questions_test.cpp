// What a MariaDB's probe asks, and when: on demand, no more than a proof needs, and all of it where
// less would not do.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/questions.h"

namespace cuckooguard::harness {
namespace {

using namespace std::chrono_literals;
using source::mysql::LogPosition;
using source::mysql::ServerProbe;
using testing::HasSubstr;

class MariaDbQuestions : public Questions<OnMariaDb> {
 protected:
  // Long ago numbers were few.
  void be_old() {
    run("SET gtid_seq_no = 1000000000");
    run("INSERT INTO user VALUES (0)");
  }
  std::uint64_t shows_of_status() {
    return std::stoull(session_->value(
        "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = "
        "'COM_SHOW_STATUS'"));
  }
};

using MariaDbStrict = MariaDbQuestions;

TEST_F(MariaDbQuestions, are_answered_when_a_reader_wants_one_from_after_it_came) {
  be_old();
  begin();
  ASSERT_TRUE(word());
  EXPECT_TRUE(questions_.serves_strict());
  for (int id = 1; id <= 20; ++id) {
    run("INSERT INTO user VALUES (" + std::to_string(id) + ")");
    const LogPosition committed =
        LogPosition::parse(session_->value("SELECT @@last_gtid"), true).value();
    const auto read_at = real_now();
    const auto answer = ask();
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->position.covers(committed));
    EXPECT_GE(answer->at, read_at);
    EXPECT_LE(answer->at, real_now());
  }
}

TEST_F(MariaDbQuestions, of_a_reader_who_comes_as_their_time_is_read_have_another_one) {
  be_old();
  begin();
  ASSERT_TRUE(word());
  {
    const std::scoped_lock lock(mutex_);
    on_clock_ = [this] { questions_.want(); };
  }
  ASSERT_TRUE(ask());
  const std::scoped_lock lock(mutex_);
  EXPECT_TRUE(was_wanted_) << "the question that was about to be asked is not this reader's";
}

TEST_F(MariaDbQuestions, are_short_but_for_those_that_are_due_by_their_time) {
  now_ = real_now();
  be_old();
  begin();
  const auto first = word();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->committed);
  const std::uint64_t shown = shows_of_status();
  for (int i = 0; i < 20; ++i) {
    const auto answer = ask();
    ASSERT_TRUE(answer && answer->at);
    EXPECT_FALSE(answer->committed);
  }
  EXPECT_EQ(shows_of_status(), shown);
  {
    const std::scoped_lock lock(mutex_);
    later_ = ServerProbe::kReportEveryMax;
  }
  questions_.want();
  EXPECT_TRUE(eventually([this] {
    const auto next = word();
    return next && next->committed && !next->committed->place.file.empty();
  }));
}

// Of one that begins anew the numbers come again soon.
TEST_F(MariaDbQuestions, of_a_young_log_ask_each_time_whether_it_has_begun_anew) {
  run("INSERT INTO user VALUES (1)");
  begin();
  const auto before = word();
  ASSERT_TRUE(before);
  run("RESET MASTER");
  for (std::uint64_t id = 100; id < 100 + before->position.largest_number(); ++id) {
    run("INSERT INTO user VALUES (" + std::to_string(id) + ")");
  }
  ASSERT_EQ(session_->value("SELECT @@gtid_binlog_pos"), before->position.text());
  EXPECT_TRUE(eventually([this] {
    questions_.want();
    return probe_->has_ended();
  }));
  EXPECT_THAT(probe_->why(), HasSubstr("RESET"));
  for (const ServerProbe::Word& word : words_) {
    EXPECT_TRUE(word.committed) << "a short question was believed";
  }
}

TEST_F(MariaDbQuestions, of_an_old_log_that_has_begun_anew_do_not_cover_what_it_was) {
  now_ = real_now();  // so that all are short
  be_old();
  begin();
  const auto before = word();
  ASSERT_TRUE(before);
  run("RESET MASTER");
  run("INSERT INTO user VALUES (1)");
  const auto answer = ask();
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->position.covers(before->position));
}

TEST_F(MariaDbQuestions, notice_that_a_server_is_told_to_join_a_cluster_though_short) {
  now_ = real_now();
  be_old();
  begin();
  ASSERT_TRUE(word());
  run("SET GLOBAL wsrep_cluster_address = 'gcomm://127.0.0.1'");
  EXPECT_TRUE(eventually([this] {
    questions_.want();
    return probe_->has_ended();
  }));
  EXPECT_THAT(probe_->why(), HasSubstr("joined a cluster"));
}

TEST_F(MariaDbQuestions, to_a_server_that_becomes_a_replica_serve_no_strict_reads_any_more) {
  be_old();
  begin();
  ASSERT_TRUE(word());
  EXPECT_TRUE(questions_.serves_strict());
  run("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'nobody'");
  const auto answer = ask();
  ASSERT_TRUE(answer);
  EXPECT_FALSE(questions_.serves_strict());
  EXPECT_FALSE(answer->at);  // it does not run, so its lag is not known
  EXPECT_FALSE(probe_->has_ended());
  questions_.set_must_serve_strict(true);
  questions_.want();
  EXPECT_TRUE(eventually([this] { return probe_->has_ended(); }));
  EXPECT_THAT(probe_->why(), HasSubstr("consistency: max_lag"));
}

// --- the whole of it ---

TEST_F(MariaDbStrict, a_row_is_seen_by_whoever_waits_for_a_proof_that_is_newer_than_the_read) {
  expect_new_rows_are_seen_strictly();
}

TEST_F(MariaDbStrict, is_refused_by_a_replica_in_words_and_only_to_who_insists_on_it) {
  server_->stop();
  server_->start_again({"--log-slave-updates=ON"});
  session_.emplace(server_->session());
  run("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'nobody'");
  const std::vector<source::mysql::Login> logins{login()};
  EXPECT_TRUE(source::mysql::LogFollower::check(logins, bench_.targets()).empty());
  bench_.namespaces[0].consistency = config::Consistency::strict;
  const auto refusals = source::mysql::LogFollower::check(logins, bench_.targets());
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_THAT(refusals[0].what, HasSubstr("set consistency: max_lag, or follow the primary"));

  follow(config::Consistency::strict);
  ASSERT_TRUE(bench_.witness.wait_for("users", filter::State::refused));
  EXPECT_THAT(bench_.witness.last_of("users").why, HasSubstr("consistency: max_lag"));
  source_->stop();
  follow(config::Consistency::automatic);
  EXPECT_TRUE(eventually([this] { return bench_.lives[0].current() != nullptr; }));
  EXPECT_FALSE(questions_.serves_strict());
  source_->stop();
}

}  // namespace
}  // namespace cuckooguard::harness
