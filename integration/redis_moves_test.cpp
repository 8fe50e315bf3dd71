// The address of Redis comes to lead to another server while the one before goes on serving (a
// failover by DNS, a virtual address, a balancer; here a link between the two): all that the guard
// does goes to the new one soon, and nothing is answered by what the old one has said.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "harness/bloom_positions.h"
#include "harness/guard_process.h"
#include "harness/ports.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/shop.h"
#include "harness/slow_link.h"

namespace cuckooguard::harness {
namespace {

const std::vector<std::string> kWithOps{"--user", "ops", "on", ">pass", "allcommands", "allkeys"};
constexpr const char* kControl = "username: ops, password: pass";
constexpr milliseconds kNoticedWithin{3000};  // 1.1 s on a machine that is not busy

class RedisMoves : public testing::Test {
 protected:
  RedisMoves() {
    first_.call({"SET", "who", "first"});
    second_.call({"SET", "who", "second"});
  }

  ShopSettings settings() const {
    return {.upstream = "127.0.0.1:" + std::to_string(link_.port()),
            .control = kControl,
            .over_tls = false};
  }
  void start() {
    shop_.emplace(settings());
    ASSERT_TRUE(eventually([&] { return get_absent_anew() == absent_reply(); })) << guards_log();
  }

  // An absent key on a new connection, and what comes of it.
  std::string get_absent_anew() { return shop_->client().call({"GET", absent_user()}); }
  std::string guards_log() const { return shop_->guard().log(); }
  bool has_left() {
    return eventually([&] { return count_in(guards_log(), "event=upstream_changed") == 1; });
  }
  bool is_looked_at_again(int times) {
    const std::uint64_t before = looks();
    return eventually([&] { return looks() >= before + static_cast<std::uint64_t>(times); });
  }
  std::uint64_t looks() const { return first_.calls("auth"); }

  RedisServer first_{kWithOps};
  RedisServer second_{kWithOps};
  SlowLink link_{first_.port()};
  std::optional<Shop> shop_;
};

TEST_F(RedisMoves, a_password_that_only_the_new_server_wants_is_wanted_within_seconds) {
  start();
  second_.call({"CONFIG", "SET", "requirepass", "secret"});
  RawClient early = shop_->client();
  EXPECT_EQ(early.call({"GET", absent_user()}), absent_reply());
  EXPECT_EQ(early.call({"GET", "who"}), bulk("first"));
  link_.lead_to({second_.port()});
  const auto moved_at = SteadyClock::now();
  EXPECT_TRUE(eventually([&] { return get_absent_anew().starts_with("-NOAUTH "); }))
      << guards_log();
  EXPECT_LT(SteadyClock::now() - moved_at, kNoticedWithin);
  ASSERT_TRUE(has_left()) << guards_log();
  if (upstream_mode() == "pinned") {
    EXPECT_EQ(early.read_until_closed(), "") << "it led to the first one";
  } else {
    EXPECT_TRUE(early.call({"GET", "who"}).starts_with("-NOAUTH "));
  }
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(get_absent_anew().starts_with("-NOAUTH "));
  }
  RawClient in = shop_->client();
  EXPECT_EQ(in.call({"AUTH", "secret"}), kOk);
  EXPECT_TRUE(eventually([&] { return in.call({"GET", absent_user()}) == absent_reply(); }));
}

TEST_F(RedisMoves, all_that_a_client_sends_goes_to_the_new_server) {
  start();
  RawClient leasing = shop_->client();
  EXPECT_EQ(leasing.call({"WATCH", "x"}), kOk);
  link_.lead_to({second_.port()});
  ASSERT_TRUE(has_left()) << guards_log();
  EXPECT_EQ(leasing.read_until_closed(), "") << "what it watches is the first one's";
  RawClient client = shop_->client();
  EXPECT_EQ(client.call({"SET", user(1), "one"}), kOk);
  EXPECT_EQ(client.call({"EVAL", "return redis.call('GET', KEYS[1])", "1", user(1)}), bulk("one"));
  EXPECT_EQ(client.call({"ACL", "SETUSER", "default", "resetkeys", "~tag:*"}), kOk);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(client.call({"GET", absent_user()}).starts_with("-NOPERM ")) << "from its OK on";
  }
  EXPECT_EQ(first_.call({"GET", user(1)}), kNil);
}

TEST_F(RedisMoves, an_address_that_is_asked_again_and_leads_to_the_same_server_keeps_everything) {
  start();
  RawClient leasing = shop_->client();
  EXPECT_EQ(leasing.call({"WATCH", "x"}), kOk);
  link_.lead_to({first_.port()});
  EXPECT_TRUE(is_looked_at_again(4));
  EXPECT_EQ(leasing.call({"MULTI"}), kOk);
  EXPECT_EQ(leasing.call({"GET", "who"}), "+QUEUED\r\n");
  EXPECT_EQ(leasing.call({"EXEC"}), "*1\r\n" + bulk("first"));
  EXPECT_EQ(count_in(guards_log(), "event=upstream_changed"), 0U);
}

TEST_F(RedisMoves, two_servers_at_one_time_are_told_once_and_not_followed_in_turn) {
  start();
  std::vector<std::uint16_t> by_turns;
  for (int i = 0; i < 60; ++i) {
    by_turns.push_back(i % 3 == 0 ? second_.port() : first_.port());
  }
  by_turns.push_back(first_.port());
  link_.lead_to(by_turns);
  EXPECT_TRUE(eventually([&] {
    return count_in(guards_log(), "several servers answer at this address") == 1;
  })) << guards_log();
  EXPECT_TRUE(eventually([&] { return get_absent_anew() == kNil; })) << "in doubt it passes";
  EXPECT_TRUE(is_looked_at_again(6));
  EXPECT_EQ(get_absent_anew(), kNil);
  EXPECT_EQ(count_in(guards_log(), "event=upstream_changed"), 0U);
  link_.lead_to({second_.port()});
  EXPECT_TRUE(eventually([&] { return get_absent_anew() == absent_reply(); })) << guards_log();
  EXPECT_EQ(shop_->client().call({"GET", "who"}), bulk("second"));
  EXPECT_EQ(count_in(guards_log(), "event=upstream_changed"), 1U);
  EXPECT_EQ(count_in(guards_log(), "several servers answer at this address"), 1U);
}

TEST_F(RedisMoves, a_server_that_changes_its_role_has_lost_its_clients) {
  start();
  RawClient leasing = shop_->client();
  EXPECT_EQ(leasing.call({"WATCH", "x"}), kOk);
  EXPECT_EQ(first_.call({"REPLICAOF", "127.0.0.1", std::to_string(free_port())}), kOk);
  ASSERT_TRUE(has_left()) << guards_log();
  EXPECT_EQ(leasing.read_until_closed(), "");
  EXPECT_TRUE(eventually([&] { return get_absent_anew() == absent_reply(); })) << guards_log();
  EXPECT_EQ(count_in(guards_log(), "event=upstream_changed"), 1U);
}

// Without a database: who is absent is what the application's own filter says.
class BloomMoves : public RedisMoves {
 protected:
  static constexpr std::uint64_t kBits = 1'000'000;

  static void add(const RedisServer& redis, int id) {
    for (const std::uint64_t bit : go_zero_positions(std::to_string(id), kBits)) {
      redis.call({"SETBIT", "bloom", std::to_string(bit), "1"});
    }
  }
  std::string yaml() const {
    return Configuration{
        .upstream = "{ address: \"127.0.0.1:" + std::to_string(link_.port()) + "\", control: { " +
                    kControl + " } }",
        .source = "type: bloom, format: go-zero, key: bloom, bits: 1000000, max_lag: 400ms",
        .namespaces =
            "  users: { keys: \"user:{id:uint64}\", source: { from: shop }, mode: "
            "enforce, absent_reply: \"bytes:__ABSENT__\", overlay: { pass_at_start: "
            "false } }\n"}
        .yaml();
  }
};

TEST_F(BloomMoves, the_filter_of_the_new_server_counts_and_the_demoted_one_is_left) {
  add(first_, 1);
  add(second_, 2);
  const GuardProcess guard = GuardProcess::on_port(yaml());
  const auto is_absent = [&guard](int id) {
    return guard.call({"GET", "user:" + std::to_string(id)}) == kAnswer;
  };
  EXPECT_TRUE(eventually([&] { return is_absent(2); })) << guard.log();
  link_.lead_to({second_.port()});
  first_.call({"REPLICAOF", "127.0.0.1", std::to_string(second_.port())});
  EXPECT_TRUE(eventually([&] { return is_absent(1); })) << guard.log();
  EXPECT_FALSE(is_absent(2)) << guard.log();
}

}  // namespace
}  // namespace cuckooguard::harness
