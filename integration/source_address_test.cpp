// An address behind which there are two databases, by a name or a balancer: what one of them says
// of its log or its rows is never taken for the other's.

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/guard_process.h"
#include "harness/mariadb_server.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/slow_link.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

class SourceAddress : public GuardedMariaDb {
 protected:
  void prepare() override {
    others_.emplace();
    create_guard_user(*others_);
    on_both(
        "CREATE TABLE user (id BIGINT UNSIGNED PRIMARY KEY);"
        "INSERT INTO user SELECT seq FROM seq_1_to_1000");
    link_.emplace(server_->port());
    start(configuration(Guarded().yaml(),
                        "log: { level: debug }\n",  // tells why a load has failed
                        port_address(link_->port())));
    client_.emplace(guard_->client());
    ASSERT_TRUE(becomes_absent(9999)) << guard_->log();
  }

  // As many transactions on each: their GTIDs are the same.
  void on_both(const std::string& sql) {
    server_->session().run(sql);
    others_->session().run(sql);
  }

  bool is_absent(int id) { return client_->call({"GET", "user:" + std::to_string(id)}) == kAnswer; }
  bool becomes_absent(int id) {
    return eventually([&] { return is_absent(id); });
  }
  bool becomes_present(int id) {
    return eventually([&] { return !is_absent(id); });
  }
  std::size_t loads() const { return count_in(guard_->log(), "event=loaded"); }
  bool says_that_there_are_two() {
    return eventually([&] {
      return guard_->log().find("the address leads to several servers") != std::string::npos;
    });
  }

  std::optional<MariaDbServer> others_;
  std::optional<SlowLink> link_;
  std::optional<RawClient> client_;
};

TEST_F(SourceAddress, the_log_of_another_server_is_not_applied) {
  link_->lead_to({server_->port(), others_->port(), server_->port()});
  SqlSession session = server_->session();
  for (const auto& row : session.run("SHOW PROCESSLIST")) {
    if (row[4].value_or("").starts_with("Binlog Dump")) {
      session.run("KILL " + row[0].value_or(""));
    }
  }
  EXPECT_TRUE(says_that_there_are_two()) << guard_->log();
  session.run("INSERT INTO user VALUES (7000)");
  others_->session().run("INSERT INTO user VALUES (8000)");
  EXPECT_TRUE(becomes_present(7000)) << guard_->log();
  EXPECT_TRUE(becomes_absent(9999)) << guard_->log();
  EXPECT_TRUE(becomes_absent(8000)) << guard_->log();
  EXPECT_FALSE(is_absent(7000));
}

// A virtual IP that is moved, or a balancer: what is connected already notices nothing.
TEST_F(SourceAddress, the_server_that_has_taken_its_place_is_followed) {
  link_->lead_to({others_->port()});
  others_->session().run("INSERT INTO user VALUES (8000)");
  EXPECT_TRUE(becomes_present(8000)) << guard_->log();
  ASSERT_TRUE(becomes_absent(9999)) << guard_->log();
  EXPECT_FALSE(is_absent(8000));
  others_->session().run("INSERT INTO user VALUES (8001)");
  EXPECT_TRUE(becomes_present(8001));
  EXPECT_THAT(guard_->log(), testing::HasSubstr("the address now leads to another server"));
}

// The log of the one before says nothing more, and is read as far as the one before is proven.
TEST_F(SourceAddress, another_server_is_noticed_while_the_log_stands_still) {
  link_->stall(SlowLink::Which::log);
  link_->lead_to({others_->port()});
  others_->session().run("INSERT INTO user VALUES (8000)");
  const auto moved_at = SteadyClock::now();
  EXPECT_TRUE(becomes_present(8000)) << guard_->log();
  EXPECT_LT(SteadyClock::now() - moved_at, milliseconds(4000));
  link_->flow();
  EXPECT_TRUE(becomes_absent(9999)) << guard_->log();
  EXPECT_FALSE(is_absent(8000));
}

// A failover by DNS: what is connected stays where it is, and nobody says that the name has moved.
TEST_F(SourceAddress, the_server_that_its_name_has_come_to_lead_to_is_followed) {
  if (under_sanitizer()) {
    GTEST_SKIP() << "a sanitizer's runtime must be loaded first";
  }
  const std::filesystem::path place = folder_ / "port";
  write_whole_file(place, std::to_string(server_->port()));
  // NOLINTBEGIN(concurrency-mt-unsafe): this program has one thread
  ::setenv("CUCKOOGUARD_MOVING_NAME", place.c_str(), 1);
  ::setenv("LD_PRELOAD", CUCKOOGUARD_MOVING_NAME, 1);
  client_.reset();
  start(configuration(Guarded().yaml(), "", "\"server.moving:3306\""));
  ::unsetenv("LD_PRELOAD");
  // NOLINTEND(concurrency-mt-unsafe)
  client_.emplace(guard_->client());
  ASSERT_TRUE(becomes_absent(9999)) << guard_->log();
  server_->session().run("SET GLOBAL read_only = 1");
  others_->session().run("INSERT INTO user VALUES (8000)");
  write_whole_file(place, std::to_string(others_->port()));
  EXPECT_TRUE(becomes_present(8000)) << guard_->log();
  ASSERT_TRUE(becomes_absent(9999)) << guard_->log();
  EXPECT_FALSE(is_absent(8000));
}

TEST_F(SourceAddress, two_servers_by_turns_are_not_read_by_turns) {
  const std::uint16_t one = server_->port();
  const std::uint16_t other = others_->port();
  std::vector<std::uint16_t> by_turns;
  for (int i = 0; i < 200; ++i) {
    by_turns.insert(by_turns.end(), {other, other, one, one, one});
  }
  link_->lead_to(by_turns);
  EXPECT_TRUE(says_that_there_are_two()) << guard_->log();
  EXPECT_FALSE(eventually([this] { return loads() > 3; }, milliseconds(4000))) << guard_->log();
}

TEST_F(SourceAddress, a_server_that_has_become_read_only_proves_nothing_until_it_is_not) {
  const std::size_t loads_before = loads();
  SqlSession session = server_->session();
  session.run("SET GLOBAL read_only = 1");
  EXPECT_TRUE(becomes_present(9999));
  EXPECT_FALSE(eventually([this] { return is_absent(9999); }, milliseconds(1500)));
  EXPECT_THAT(guard_->log(), testing::HasSubstr("the server is read-only but not a replica"));
  session.run("SET GLOBAL read_only = 0");
  EXPECT_TRUE(becomes_absent(9999)) << guard_->log();
  EXPECT_EQ(loads(), loads_before) << guard_->log();
}

// The log is of one, and questions would be answered by the other.
TEST_F(SourceAddress, the_rows_of_another_server_are_not_loaded) {
  others_->session().run("TRUNCATE TABLE user; INSERT INTO user VALUES (8000)");
  link_->lead_to({others_->port()});
  SqlSession session = server_->session();
  session.run("TRUNCATE TABLE user");
  session.run("INSERT INTO user VALUES (7000)");
  ASSERT_TRUE(becomes_absent(9999)) << guard_->log();
  EXPECT_TRUE(becomes_present(8000));
  EXPECT_TRUE(becomes_absent(7000)) << guard_->log();
}

}  // namespace
}  // namespace cuckooguard::harness
