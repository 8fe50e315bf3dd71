// A guard that follows a replica, which is only as current as it says itself; and one that is left
// by its server and goes on at the next.

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/redis_command.h"
#include "harness/replication.h"

namespace cuckooguard::harness {
namespace {

constexpr milliseconds kALittle{100};

std::string address(const SqlServer& server) {
  return port_address(server.port());
}

class SourceReplica : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_IF_MISSING(MariaDbServer::missing());
    primary_.emplace();
    fill(*primary_);
    redis_.emplace();
  }

  static void fill(const MariaDbServer& server) {
    SqlSession session = server.session();
    session.run("CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY)");
    session.run("INSERT INTO user SELECT seq FROM seq_1_to_1000");
    create_guard_user(server);
  }

  void start_replica(std::vector<std::string> arguments = {"--log-slave-updates=ON"}) {
    arguments.emplace_back("--server-id=2");
    replica_.emplace(arguments);
    replicate(*primary_, *replica_);
    ASSERT_TRUE(catches_up(*primary_, *replica_));
  }

  std::string yaml(const std::string& addresses, const std::string& more = "") const {
    return Configuration{.upstream = redis_->address(),
                         .source = mysql_source(addresses, kMaxLag, more),
                         .more = "log: { level: debug }\n"}  // tells of every load
        .yaml();
  }
  void follow(const std::string& addresses, const std::string& more = "") {
    guard_.emplace(GuardProcess::on_port(yaml(addresses, more)));
    client_.emplace(guard_->client());
    ASSERT_TRUE(becomes_absent(1'000'000)) << guard_->log();
  }

  bool is_absent(std::uint64_t id) {
    return client_->call({"GET", "user:" + std::to_string(id)}) == kAnswer;
  }
  bool becomes_absent(std::uint64_t id) {
    return eventually([&] { return is_absent(id); });
  }
  bool becomes_present(std::uint64_t id) {
    return eventually([&] { return !is_absent(id); });
  }
  static void insert(const MariaDbServer& server, std::uint64_t id) {
    server.session().run("INSERT INTO user VALUES (" + std::to_string(id) + ")");
  }
  static bool has(const MariaDbServer& server, std::uint64_t id) {
    return server.session().value("SELECT COUNT(*) FROM user WHERE id = " + std::to_string(id)) ==
           "1";
  }
  static std::string position(const MariaDbServer& server) {
    return server.session().value("SELECT @@gtid_binlog_pos");
  }
  // What it has itself stays, and so does its log.
  static void replicate_behind(const MariaDbServer& primary,
                               const std::string& position,
                               const MariaDbServer& replica) {
    SqlSession session = replica.session("");
    session.run("SET GLOBAL gtid_slave_pos = '" + position + "'");
    session.run("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = " +
                std::to_string(primary.port()) +
                ", MASTER_USER = 'root', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1");
    session.run("START SLAVE");
  }
  std::size_t tables_read() const { return count_in(guard_->log(), "event=loaded"); }

  std::optional<MariaDbServer> primary_;
  std::optional<MariaDbServer> replica_;
  std::optional<MariaDbServer> third_;
  std::optional<RedisServer> redis_;
  std::optional<GuardProcess> guard_;
  std::optional<RawClient> client_;
};

TEST_F(SourceReplica, has_what_the_replica_has_replicated) {
  start_replica();
  follow(address(*replica_));
  EXPECT_FALSE(is_absent(1000));
  insert(*primary_, 2000);
  EXPECT_TRUE(becomes_present(2000));
  primary_->session().run("DELETE FROM user WHERE id = 3");
  EXPECT_TRUE(becomes_absent(3));
  EXPECT_TRUE(is_absent(1'000'000));
}

TEST_F(SourceReplica, passes_within_max_lag_while_the_replica_applies_nothing) {
  for (const char* const thread : {"SQL_THREAD", "IO_THREAD"}) {
    SCOPED_TRACE(thread);
    if (!replica_) {
      start_replica();
      follow(address(*replica_));
    }
    const std::uint64_t id = thread == std::string("SQL_THREAD") ? 2000 : 3000;
    SqlSession session = replica_->session();
    session.run(std::string("STOP SLAVE ") + thread);
    const auto stopped = SteadyClock::now();
    insert(*primary_, id);
    auto asked_last = stopped;  // and answered "absent"
    ASSERT_TRUE(eventually([&] {
      const auto asked = SteadyClock::now();
      const bool is_absent_now = is_absent(id);
      asked_last = is_absent_now ? asked : asked_last;
      return !is_absent_now;
    }));
    EXPECT_LE(asked_last - stopped, kMaxLag + kALittle);
    EXPECT_FALSE(eventually([&] { return is_absent(1'000'000) || is_absent(id); }, kMaxLag * 2))
        << guard_->log();
    session.run(std::string("START SLAVE ") + thread);
    EXPECT_TRUE(becomes_absent(1'000'000)) << guard_->log();
    EXPECT_FALSE(is_absent(id));
  }
}

// It catches up in the middle of questions: what it says then must not be taken for what it was.
TEST_F(SourceReplica, hides_no_row_of_a_replica_that_stops_and_catches_up_again_and_again) {
  start_replica();
  follow(address(*replica_));
  SqlSession session = replica_->session();
  for (std::uint64_t id = 2000; id < 2015; ++id) {
    session.run("STOP SLAVE SQL_THREAD");
    insert(*primary_, id);
    const auto committed = SteadyClock::now();
    ASSERT_TRUE(eventually([&] { return SteadyClock::now() - committed > kMaxLag; }));
    EXPECT_FALSE(is_absent(id));
    session.run("START SLAVE SQL_THREAD");
    EXPECT_FALSE(eventually([&] { return is_absent(id); }, milliseconds(50)));
  }
  EXPECT_TRUE(becomes_absent(1'000'000)) << guard_->log();
}

TEST_F(SourceReplica, is_refused_in_words_if_it_does_not_log_what_it_replicates) {
  start_replica({"--log-slave-updates=OFF"});
  guard_.emplace(GuardProcess::on_port(yaml(address(*replica_))));
  ASSERT_TRUE(eventually([this] {
    return guard_->log().find("state=refused") != std::string::npos;
  })) << guard_->log();
  EXPECT_NE(guard_->log().find("start it with log_replica_updates (log_slave_updates), or follow "
                               "the primary"),
            std::string::npos)
      << guard_->log();
  EXPECT_NE(guard_->call({"GET", "user:1000000"}), kAnswer);
}

// What it replicates is in its tables, and never in its log.
TEST_F(SourceReplica, hides_no_row_that_a_server_replicates_that_was_no_replica_before) {
  replica_.emplace(
      std::vector<std::string>{"--log-slave-updates=OFF", "--server-id=2", "--gtid-domain-id=9"});
  fill(*replica_);
  follow(address(*replica_));
  const std::string before = position(*primary_);
  insert(*primary_, 2000);
  replicate_behind(*primary_, before, *replica_);
  ASSERT_TRUE(eventually([this] { return has(*replica_, 2000); }));
  EXPECT_TRUE(becomes_present(2000));
  EXPECT_FALSE(eventually([this] { return is_absent(1'000'000); }, kMaxLag * 3)) << guard_->log();
  EXPECT_THAT(guard_->log(), testing::HasSubstr("state=refused"));
  promote(*replica_);
  ASSERT_TRUE(becomes_absent(1'000'000)) << guard_->log();
  EXPECT_FALSE(is_absent(2000));
}

// There and back between two questions, and while nobody looked.
TEST_F(SourceReplica, hides_no_row_that_a_server_has_replicated_for_a_moment) {
  TemporaryDirectory kept;
  replica_.emplace(
      std::vector<std::string>{"--log-slave-updates=OFF", "--server-id=2", "--gtid-domain-id=9"});
  fill(*replica_);
  const auto begin = [&] {
    guard_.emplace(GuardProcess::on_port(
        Configuration{.upstream = redis_->address(),
                      .source = mysql_source(address(*replica_)),
                      .more = storage(kept.path() / "kept", "30s") + "log: { level: debug }\n"}
            .yaml()));
    client_.emplace(guard_->client());
    ASSERT_TRUE(becomes_absent(1'000'000)) << guard_->log();
  };
  begin();
  for (const std::uint64_t id : {2000U, 3000U}) {
    const bool is_away = id == 3000;
    if (is_away) {
      client_.reset();
      guard_.reset();
    }
    const std::string before = position(*primary_);
    insert(*primary_, id);
    replicate_behind(*primary_, before, *replica_);
    ASSERT_TRUE(eventually([&] { return has(*replica_, id); }));
    promote(*replica_);
    if (is_away) {
      begin();
    }
    EXPECT_TRUE(becomes_present(id));
    ASSERT_TRUE(becomes_absent(1'000'000)) << guard_->log();
    EXPECT_FALSE(is_absent(id)) << id << guard_->log();
  }
}

// As at the start, whichever comes first: the word, or the primary.
TEST_F(SourceReplica, is_refused_in_words_once_a_reload_has_made_its_namespace_strict) {
  constexpr auto kWords = "does not support consistency: strict; set consistency: max_lag";
  start_replica();
  const auto with = [&](const std::string& consistency) {
    return Configuration{.upstream = redis_->address(),
                         .source = mysql_source(address(*replica_)),
                         .namespaces = Guarded{.consistency = consistency}.yaml(),
                         .more = "admin: { operators: default }\n"}
        .yaml();
  };
  const auto reload = [&](const std::string& consistency) {
    guard_->set_configuration(with(consistency));
    return client_->call({"GUARD.RELOAD"});
  };
  const auto is_refused = [&] {
    const std::string info = client_->call({"GUARD.INFO"});
    return info.contains("\r\nstate:refused\r\nwhy:cannot follow the server: ") &&
           info.contains(kWords);
  };
  guard_.emplace(GuardProcess::on_port(with("max_lag")));
  client_.emplace(guard_->client());
  ASSERT_TRUE(becomes_absent(1'000'000)) << guard_->log();
  EXPECT_THAT(reload("strict"),
              testing::AllOf(testing::StartsWith("-ERR"), testing::HasSubstr(kWords)));
  EXPECT_TRUE(is_absent(1'000'000)) << "nothing has changed";

  promote(*replica_);
  ASSERT_TRUE(eventually([&] { return reload("strict") == kOk; })) << guard_->log();
  ASSERT_TRUE(becomes_absent(1'000'000)) << guard_->log();
  replica_->session().run("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = " +
                          std::to_string(primary_->port()) +
                          ", MASTER_USER = 'root', MASTER_USE_GTID = slave_pos");
  replica_->session().run("START SLAVE");
  EXPECT_TRUE(eventually(is_refused)) << client_->call({"GUARD.INFO"});
  EXPECT_EQ(client_->call({"GET", "user:1000000"}), kNil);
  EXPECT_THAT(guard_->log(), testing::HasSubstr("event=state namespace=users state=refused"));
  EXPECT_EQ(reload("max_lag"), kOk);
  EXPECT_TRUE(becomes_absent(1'000'000)) << client_->call({"GUARD.INFO"});
}

TEST_F(SourceReplica, goes_on_at_the_next_address_without_reading_tables_again) {
  start_replica();
  follow(address(*primary_) + ", " + address(*replica_));
  insert(*primary_, 2000);
  ASSERT_TRUE(becomes_present(2000));
  ASSERT_TRUE(catches_up(*primary_, *replica_));
  primary_->kill();
  promote(*replica_);
  insert(*replica_, 3000);
  EXPECT_TRUE(becomes_absent(1'000'000));
  ASSERT_TRUE(becomes_present(3000));
  EXPECT_TRUE(becomes_absent(1'000'001)) << guard_->log();
  EXPECT_FALSE(is_absent(3000));
  EXPECT_FALSE(is_absent(2000));
  EXPECT_EQ(tables_read(), 1U) << guard_->log();
  insert(*replica_, 4000);
  EXPECT_TRUE(becomes_present(4000));
}

// It accepts connections, and says nothing: each is given up after ten seconds.
TEST_F(SourceReplica, goes_on_at_the_next_address_when_the_server_hangs) {
  start_replica();
  follow(address(*primary_) + ", " + address(*replica_));
  primary_->send_signal(SIGSTOP);
  promote(*replica_);
  insert(*replica_, 3000);
  ASSERT_TRUE(becomes_present(3000));
  EXPECT_TRUE(becomes_absent(1'000'000)) << guard_->log();
  EXPECT_FALSE(is_absent(3000));
  EXPECT_EQ(tables_read(), 1U) << guard_->log();
  primary_->send_signal(SIGCONT);
}

TEST_F(SourceReplica, passes_while_the_next_server_still_waits_for_a_primary_that_is_gone) {
  start_replica();
  follow(address(*primary_) + ", " + address(*replica_));
  primary_->kill();
  ASSERT_TRUE(becomes_present(1'000'000));
  EXPECT_FALSE(eventually([&] { return is_absent(1'000'000); }, milliseconds(2000)));
  promote(*replica_);
  EXPECT_TRUE(becomes_absent(1'000'000)) << guard_->log();
  EXPECT_EQ(tables_read(), 1U) << guard_->log();
}

// The server ends the older of two replicas with one id. Whoever is ended goes on where it was.
TEST_F(SourceReplica, goes_on_by_itself_when_another_replica_had_its_server_id) {
  follow(address(*primary_), ", server_id: 7777");
  {
    const GuardProcess other = GuardProcess::on_port(yaml(address(*primary_), ", server_id: 7777"));
    EXPECT_TRUE(eventually([&] { return guard_->log().find("state=down") != std::string::npos; }))
        << guard_->log();
    insert(*primary_, 2000);
  }
  EXPECT_TRUE(becomes_present(2000));
  EXPECT_TRUE(becomes_absent(1'000'000)) << guard_->log();
  EXPECT_FALSE(is_absent(2000));
  insert(*primary_, 3000);
  EXPECT_TRUE(becomes_present(3000));
  EXPECT_EQ(tables_read(), 1U) << guard_->log();
}

// One that has our GTIDs behind its own, and one that has never heard of their domain.
TEST_F(SourceReplica, reads_tables_again_from_a_server_that_lacks_what_was_applied) {
  for (const char* const domain : {"--gtid-domain-id=0", "--gtid-domain-id=7"}) {
    SCOPED_TRACE(domain);
    third_.emplace(std::vector<std::string>{"--server-id=3", domain});
    fill(*third_);
    SqlSession session = third_->session();
    session.run("DELETE FROM user WHERE id = 5");
    for (std::uint64_t id = 5000; id < 5020; ++id) {  // more of them than the primary has
      insert(*third_, id);
    }
    session.run("SET sql_log_bin = 0; INSERT INTO user VALUES (6000)");  // in no log
    follow(address(*primary_) + ", " + address(*third_));
    insert(*primary_, 2000);
    ASSERT_TRUE(becomes_present(2000));
    primary_->kill();
    ASSERT_TRUE(eventually([this] { return tables_read() == 2; })) << guard_->log();
    EXPECT_TRUE(becomes_absent(5)) << guard_->log();
    EXPECT_TRUE(becomes_absent(2000)) << guard_->log();
    for (const std::uint64_t id : {6U, 5000U, 5019U, 6000U}) {
      EXPECT_FALSE(is_absent(id)) << id;
    }
    client_.reset();
    guard_.reset();
    primary_->start_again();
    primary_->session().run("DELETE FROM user WHERE id = 2000");
  }
}

// With semi-synchronous replication the log has a transaction long before it is committed, if the
// replica that is to acknowledge it does not: everybody sees the rows that it deletes.
TEST_F(SourceReplica, hides_no_row_that_its_primary_has_not_committed_to_be_gone) {
  SqlSession session = primary_->session();
  session.run(
      "SET GLOBAL rpl_semi_sync_master_enabled = ON, GLOBAL rpl_semi_sync_master_wait_point = "
      "AFTER_SYNC, GLOBAL rpl_semi_sync_master_timeout = 600000");
  start_replica({"--log-slave-updates=ON", "--rpl-semi-sync-slave-enabled=ON"});
  follow(address(*primary_));
  ASSERT_TRUE(eventually(
      [&] { return session.run("SHOW STATUS LIKE 'Rpl_semi_sync_master_clients'")[0][1] == "1"; }));
  const std::string before = session.value("SELECT @@gtid_binlog_pos");
  replica_->send_signal(SIGSTOP);
  std::jthread deleter([this] {
    primary_->session().run(
        "BEGIN; DELETE FROM user WHERE id = 7; UPDATE user SET id = 5000 WHERE "
        "id = 8; COMMIT");
  });
  ASSERT_TRUE(eventually([&] { return session.value("SELECT @@gtid_binlog_pos") != before; }));
  EXPECT_TRUE(becomes_present(5000));
  EXPECT_FALSE(
      eventually([this] { return is_absent(7) || is_absent(8) || is_absent(5000); }, kMaxLag * 3));
  EXPECT_TRUE(is_absent(1'000'000)) << guard_->log();
  EXPECT_EQ(session.value("SELECT COUNT(*) FROM user WHERE id IN (7, 8)"), "2");
  replica_->send_signal(SIGCONT);
  EXPECT_TRUE(becomes_absent(7));
  EXPECT_TRUE(becomes_absent(8));
  EXPECT_FALSE(is_absent(5000));
}

}  // namespace
}  // namespace cuckooguard::harness
