// The configuration is loaded anew while a PostgreSQL is followed: who follows it goes on, without
// a gap, and who comes has a slot of its own beside it. None is left behind.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_postgres.h"
#include "harness/interrupt.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

// Of which nothing passes because a machine is slow.
constexpr milliseconds kLongLag{10'000};
const std::string kOfUsers = Guarded{.consistency = "max_lag"}.yaml();
const std::string kOfItems =
    Guarded{.name = "items", .keys = "item:{id:uint64}", .table = "item"}.yaml();

void leave_the_core() {
  (void)Interrupt::wait_until(SteadyClock::now() + milliseconds(1));
}

class ReloadWithPostgres : public GuardedPostgres {
 protected:
  void create_tables() override {
    run("CREATE TABLE \"user\" (id BIGINT PRIMARY KEY); CREATE TABLE item (id BIGINT PRIMARY KEY);"
        "INSERT INTO \"user\" SELECT generate_series(1, 1000);"
        "INSERT INTO item SELECT generate_series(1, 1000)");
  }

  std::string yaml(const std::string& namespaces) const {
    return Configuration{
        .upstream = redis_->address(),
        .source = postgres_source(port_address(server_->port()), kLongLag, of_source_),
        .namespaces = namespaces,
        .more = "admin: { operators: default }\n" + storage(folder_ / "kept")}
        .yaml();
  }
  void start_with(const std::string& namespaces) {
    start(yaml(namespaces));
    ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
    ASSERT_TRUE(eventually(
        [this] { return std::filesystem::exists(folder_ / "kept" / "shop.users.user.filter"); }));
  }
  void reload(const std::string& text) const {
    guard_->set_configuration(text);
    // A machine that is slow may not have heard of Redis for a while.
    EXPECT_TRUE(eventually([this] { return guard_->call({"GUARD.RELOAD"}) == kOk; }))
        << guard_->log();
  }
  std::size_t loads_of(const std::string& ns) const {
    return count_in(guard_->log(), "event=loaded namespace=" + ns);
  }
  // Its row is seen once its commit has been waited for.
  void expect_followed(const std::string& table, const std::string& id) {
    run("INSERT INTO \"" + table + "\" VALUES (" + id + ")");
    ASSERT_TRUE(catches_up()) << guard_->log();
    EXPECT_FALSE(is_absent(table + ":" + id));
  }
  bool slots_are(const std::string& kept, const std::string& temporary) {
    return eventually([&] {
      return session_->value(
                 "SELECT count(*) FILTER (WHERE NOT temporary) || ' ' || "
                 "count(*) FILTER (WHERE temporary) FROM pg_replication_slots") ==
             kept + " " + temporary;
    });
  }
  std::uint64_t of_users(const std::string& name) const {
    const std::string info = guard_->call({"GUARD.INFO"});
    const std::size_t at = info.find(name + ":", info.find("# Namespace users")) + name.size() + 1;
    return std::stoull(info.substr(at));
  }
  // users stays, items come and go.
  void reload_under_load();

  std::string of_source_;
};

void ReloadWithPostgres::reload_under_load() {
  constexpr int kRounds = 5;
  start_with(kOfUsers);
  const std::uint64_t not_fresh = of_users("keys_not_fresh");  // until it was loaded
  const std::uint64_t not_allowed = of_users("keys_not_allowed");
  std::atomic<std::uint64_t> absent = 0;
  std::atomic<std::uint64_t> others = 0;
  {
    const std::jthread reader([&](const std::stop_token& stop) {
      RawClient client = guard_->client();
      while (!stop.stop_requested()) {
        (client.call({"GET", "user:5000"}) == kAnswer ? absent : others) += 1;
        leave_the_core();
      }
    });
    const std::jthread writer([&](const std::stop_token& stop) {
      PostgresSession session = server_->session();
      for (int id = 10'000; !stop.stop_requested(); ++id) {
        session.run("INSERT INTO item VALUES (" + std::to_string(id) + ")");
        leave_the_core();
      }
    });
    for (int round = 0; round < kRounds; ++round) {
      reload(yaml(kOfItems + kOfUsers));
      EXPECT_TRUE(becomes_absent("item:5000")) << guard_->log();
      reload(yaml(kOfUsers));
    }
  }
  EXPECT_EQ(others, of_users("keys_not_allowed") - not_allowed) << guard_->log();
  EXPECT_GT(absent, 100U);
  EXPECT_EQ(of_users("keys_not_fresh"), not_fresh);
  EXPECT_EQ(count_in(guard_->log(), "event=state namespace=users"), 0U) << guard_->log();
  EXPECT_EQ(loads_of("users"), 1U);
  EXPECT_EQ(loads_of("items"), std::size_t{kRounds});
  EXPECT_TRUE(slots_are("1", "0"));
  expect_followed("user", "6001");
}

TEST_F(ReloadWithPostgres, a_namespace_that_stays_is_answered_for_without_a_gap) {
  reload_under_load();
}

TEST_F(ReloadWithPostgres, so_it_is_with_a_slot_that_the_configuration_names) {
  of_source_ = ", slot: mine";
  reload_under_load();
}

// It has what it kept from before the reload, and what came is kept from then on.
TEST_F(ReloadWithPostgres, the_next_start_has_all_on_one_slot) {
  start_with(kOfUsers);
  reload(yaml(kOfItems + kOfUsers));
  ASSERT_TRUE(becomes_absent("item:5000")) << guard_->log();
  EXPECT_TRUE(slots_are("1", "1"));
  expect_followed("user", "6001");
  expect_followed("item", "6001");
  guard_->restart(yaml(kOfItems + kOfUsers));
  ASSERT_TRUE(becomes_absent("item:5000")) << guard_->log();
  ASSERT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_TRUE(slots_are("1", "0"));
  EXPECT_EQ(loads_of("users"), 0U) << guard_->log();
  EXPECT_EQ(loads_of("items"), 1U) << guard_->log();
  expect_followed("user", "6002");
  expect_followed("item", "6002");
}

TEST_F(ReloadWithPostgres, a_slot_that_nobody_goes_on_from_is_dropped) {
  start_with(kOfUsers);
  reload(yaml(kOfItems + kOfUsers));
  ASSERT_TRUE(becomes_absent("item:5000")) << guard_->log();
  reload(yaml(kOfItems));
  EXPECT_TRUE(is_absent("item:5000")) << "it goes on";
  EXPECT_TRUE(slots_are("0", "1")) << guard_->log();
  expect_followed("item", "6001");
  EXPECT_EQ(loads_of("items"), 1U);
  reload(yaml(kOfUsers + kOfItems));
  EXPECT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_TRUE(slots_are("1", "1"));
  expect_followed("user", "6001");
  EXPECT_EQ(count_in(guard_->log(), "was left on the server"), 0U) << guard_->log();
}

TEST_F(ReloadWithPostgres, other_credentials_go_on_at_the_slot_of_before) {
  start_with(kOfUsers);
  run("CREATE ROLE second LOGIN REPLICATION PASSWORD 'word2';"
      "GRANT SELECT ON ALL TABLES IN SCHEMA public TO second");
  std::string other = yaml(kOfUsers);
  other.replace(other.find("user: guard, password: word"),
                std::string_view("user: guard, password: word").size(),
                "user: second, password: word2");
  reload(other);
  EXPECT_TRUE(becomes_absent("user:5000")) << guard_->log();
  EXPECT_EQ(loads_of("users"), 1U) << guard_->log();
  EXPECT_TRUE(slots_are("1", "0"));
  expect_followed("user", "6001");
}

}  // namespace
}  // namespace cuckooguard::harness
