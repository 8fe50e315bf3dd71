// Before a namespace is enforced, and while it is: what the guard calls absent is compared with
// Redis, and a key that Redis has is looked up in the database. A row that the guard does not know
// is found, and so is a template that is too wide; what only looks like one of them is not
// reported.
#include <csignal>
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_mariadb.h"
#include "harness/guard_process.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;
using testing::Not;

class Watched : public testing::Test {
 protected:
  explicit Watched(ShopSettings settings) : shop_(std::move(settings)) {
    EXPECT_TRUE(eventually([this] { return info("fresh") == "1"; })) << shop_.guard().log();
  }

  // Behind the guard's back: what it hears of passes for a while.
  void to_redis(std::initializer_list<std::string_view> arguments) {
    shop_.redis().call(arguments);
  }
  std::string info(const std::string& field) { return info_field(shop_.guard(), "users", field); }
  bool becomes(const std::string& field, const std::string& value) {
    return eventually([&] { return info(field) == value; });
  }
  // The guard's source follows by triggers, and does not hear of this row.
  void insert_unheard(std::uint64_t id) {
    shop_.database().run_without_triggers("INSERT INTO user (id, name) VALUES (" +
                                          std::to_string(id) + ", 'unheard')");
  }

  Shop shop_;
};

class Observe : public Watched {
 protected:
  Observe()
      : Watched({.max_lag = "400ms",
                 .guarding = "observe",
                 .source = "follow: triggers, install_triggers: true"}) {}
};

TEST_F(Observe, everything_is_redis_own_and_what_would_have_been_stopped_is_counted) {
  RawClient client = shop_.client();
  for (std::uint64_t n = 0; n < 8; ++n) {
    EXPECT_EQ(client.call({"GET", absent_user(n)}), kNil);
    EXPECT_EQ(client.call({"GET", user(n + 1)}), kNil);
  }
  EXPECT_EQ(info("keys_observed_absent"), "8");
  EXPECT_EQ(info("keys_verified"), "8");
  EXPECT_EQ(info("keys_contradicted"), "0");
  EXPECT_THAT(
      info("advice"),
      HasSubstr(", 0 hidden rows, 50 % of look-ups would have been stopped; not enough data yet"));
}

TEST_F(Observe, a_row_that_the_guard_does_not_know_is_found) {
  const std::string key = user(3'000'000);
  insert_unheard(3'000'000);
  to_redis({"SET", key, "cached"});
  EXPECT_EQ(shop_.client().call({"GET", key}), bulk("cached"));
  ASSERT_TRUE(becomes("hidden_rows", "1")) << shop_.guard().log();
  EXPECT_EQ(info("hidden_values"), "0");
  EXPECT_THAT(info("advice"), HasSubstr(", 1 hidden row, "));
  EXPECT_THAT(info("advice"), HasSubstr("do not enforce; see event=hidden_row in the log"));
  const std::string log = shop_.guard().log();
  EXPECT_THAT(log, HasSubstr("event=hidden_row namespace=users key_hash="));
  EXPECT_THAT(log, Not(HasSubstr("3000000"))) << "keys are nobody's business";
  const std::string hash = log.substr(log.find("key_hash=") + 9, 16);
  EXPECT_THAT(shop_.client().call({"GUARD.EXPLAIN", key}), HasSubstr(hash)) << log;
}

TEST_F(Observe, a_template_that_is_wider_than_the_table_is_found_by_any_read) {
  to_redis({"SET", absent_user(1), "a session, say"});
  to_redis({"HSET", absent_user(2), "field", "value"});
  to_redis({"SET", absent_user(3), "more"});
  to_redis({"SET", absent_user(4), "and more"});
  RawClient client = shop_.client();
  EXPECT_EQ(client.call({"GET", absent_user(1)}), bulk("a session, say"));
  EXPECT_EQ(client.call({"HGETALL", absent_user(2)}), "*2\r\n" + bulk("field") + bulk("value"));
  EXPECT_EQ(client.call({"MGET", user(1), absent_user(9), absent_user(3)}),
            "*3\r\n$-1\r\n$-1\r\n" + bulk("more"));
  EXPECT_EQ(client.call({"EXISTS", absent_user(4)}), ":1\r\n");
  EXPECT_EQ(info("keys_contradicted"), "4");
  ASSERT_TRUE(becomes("hidden_values", "4")) << shop_.guard().log();
  EXPECT_EQ(info("hidden_rows"), "0");
  EXPECT_THAT(info("advice"), HasSubstr(", 4 hidden values, "));
  EXPECT_THAT(shop_.guard().log(), HasSubstr("event=hidden_value namespace=users key_hash="));
}

TEST_F(Observe, what_the_application_caches_for_no_such_row_is_no_contradiction) {
  to_redis({"SET", absent_user(1), kAbsentText});
  EXPECT_EQ(shop_.client().call({"GET", absent_user(1)}), absent_reply());
  EXPECT_EQ(info("keys_verified"), "1");
  EXPECT_EQ(info("keys_contradicted"), "0");
}

TEST_F(Observe, values_of_an_application_without_absent_reply_are_forgotten_when_it_is_set) {
  const std::string yaml = shop_.yaml();
  const std::string line = ", absent_reply: \"bytes:" + std::string(kAbsentText) + "\"";
  const auto reload = [&](const std::string& instead) {
    std::string next = yaml;
    const std::size_t logged = shop_.guard().log().size();
    shop_.guard().set_configuration(next.replace(next.find(line), line.size(), instead));
    shop_.guard().send_signal(SIGHUP);
    return eventually(
        [&] { return shop_.guard().log().find("event=reloaded", logged) != std::string::npos; });
  };
  to_redis({"SET", absent_user(1), "none"});
  ASSERT_TRUE(reload("")) << shop_.guard().log();
  EXPECT_EQ(shop_.client().call({"GET", absent_user(1)}), bulk("none"));
  ASSERT_TRUE(becomes("hidden_values", "1")) << shop_.guard().log();
  EXPECT_THAT(info("advice"), HasSubstr("or your own placeholders: set absent_reply now"));
  ASSERT_TRUE(reload(", absent_reply: \"bytes:none\"")) << shop_.guard().log();
  EXPECT_EQ(info("hidden_values"), "0");
  EXPECT_EQ(shop_.client().call({"GET", absent_user(1)}), bulk("none"));
  EXPECT_EQ(info("contradictions_open"), "0");
  EXPECT_THAT(info("advice"), HasSubstr("; not enough data yet: "));
}

TEST_F(Observe, of_a_template_that_matches_no_read_is_said_what_may_be_meant) {
  RawClient client = shop_.client();
  for (std::uint64_t n = 1; n <= 20; ++n) {
    client.call({"GET", "users:" + std::to_string(n)});
  }
  const std::string text =
      "no read matched this template; 20 unguarded reads begin with `users:`; try `cuckooguard "
      "explain KEY`";
  EXPECT_EQ(info("advice"), text);
  shop_.guard().send_signal(SIGTERM);
  EXPECT_EQ(shop_.guard().exit_code(), 0);
  EXPECT_THAT(shop_.guard().log(),
              HasSubstr(" warning event=advice namespace=users text=\"" + text + "\""));
}

// They are read before the guard has heard of them, if it is slow enough.
TEST_F(Observe, rows_that_have_just_come_or_gone_are_no_hidden_rows) {
  RawClient client = shop_.client();
  RawClient redis = shop_.redis().client();
  for (std::uint64_t n = 0; n < 50; ++n) {
    const std::uint64_t id = 4'000'000 + 1000 * n;  // not in the window of fresh ids
    redis.call({"SET", user(id), "cached"});
    shop_.database().insert_user(id);
    EXPECT_EQ(client.call({"GET", user(id)}), bulk("cached"));
    if (n % 10 == 0) {  // of these it may have to be asked: once per second
      shop_.database().delete_user(id);
      redis.call({"DEL", user(id)});
    }
  }
  ASSERT_TRUE(becomes("contradictions_open", "0")) << shop_.guard().log();
  EXPECT_EQ(info("hidden_rows"), "0") << shop_.guard().log();
}

TEST_F(Observe, the_sentence_is_in_the_log_when_the_process_ends) {
  shop_.client().call({"GET", absent_user(1)});
  shop_.guard().send_signal(SIGTERM);
  EXPECT_EQ(shop_.guard().exit_code(), 0);
  EXPECT_THAT(shop_.guard().log(), HasSubstr("event=advice namespace=users text=\""));
}

class Enforce : public Watched {
 protected:
  Enforce()
      : Watched({.max_lag = "400ms",
                 .verify_sample = "100%",
                 .source = "follow: triggers, install_triggers: true"}) {}
};

TEST_F(Enforce, a_sampled_key_has_the_value_that_redis_has_or_the_absent_reply) {
  RawClient client = shop_.client();
  ASSERT_TRUE(eventually([&] { return client.call({"GET", absent_user(1)}) == absent_reply(); }));
  to_redis({"SET", absent_user(2), "only here"});
  EXPECT_EQ(client.call({"GET", absent_user(2)}), bulk("only here"));
  EXPECT_EQ(client.call({"MGET", absent_user(1), absent_user(2)}),
            "*2\r\n" + absent_reply() + bulk("only here"));
  ASSERT_TRUE(becomes("hidden_values", "1")) << shop_.guard().log();
}

TEST_F(Enforce, a_row_that_the_guard_does_not_know_is_found_by_a_sample) {
  RawClient client = shop_.client();
  ASSERT_TRUE(eventually([&] { return client.call({"GET", absent_user(1)}) == absent_reply(); }));
  insert_unheard(3'000'000);
  to_redis({"SET", user(3'000'000), "cached"});
  EXPECT_EQ(client.call({"GET", user(3'000'000)}), bulk("cached"));
  ASSERT_TRUE(becomes("hidden_rows", "1")) << shop_.guard().log();
  EXPECT_THAT(info("advice"), HasSubstr("switch back to observe"));
}

class ObserveMariaDb : public GuardedMariaDb {
 protected:
  void prepare() override {
    run("CREATE TABLE user (id BIGINT PRIMARY KEY AUTO_INCREMENT, deleted_at DATETIME)");
    run("CREATE TABLE item (shop INT, code VARCHAR(20) COLLATE utf8mb4_nopad_bin, "
        "PRIMARY KEY (shop, code))");
    run("INSERT INTO user (id) VALUES (1), (2)");
    run("INSERT INTO item VALUES (7, 'apple')");
    const Guarded users{.table = "user, where: deleted_at IS NULL",
                        .mode = "",
                        .fresh_ids = "",
                        .absent_reply = "",
                        .filter = ""};
    Guarded items = users;
    items.name = "items";
    items.keys = "item:{shop:uint64}:{code}";
    items.table = "item";
    start(configuration(users.yaml() + items.yaml()));
  }
  bool becomes(const std::string& ns, const std::string& field, const std::string& value) {
    return eventually([&] { return info_field(*guard_, ns, field) == value; });
  }
  void cache_and_read(const std::string& key) {
    redis_->call({"SET", key, "cached"});
    EXPECT_EQ(guard_->call({"GET", key}), bulk("cached"));
  }
};

// What is not logged is not heard of.
TEST_F(ObserveMariaDb, rows_that_never_were_in_the_log_are_found_and_deleted_ones_told_apart) {
  ASSERT_TRUE(becomes("users", "fresh", "1")) << guard_->log();
  ASSERT_TRUE(becomes("items", "fresh", "1")) << guard_->log();
  run("SET sql_log_bin = 0");
  run("INSERT INTO user (id, deleted_at) VALUES (500000, NULL), (600000, NOW())");
  run("INSERT INTO item VALUES (7, 'pe''ar')");
  run("SET sql_log_bin = 1");
  cache_and_read("user:500000");
  cache_and_read("user:600000");
  cache_and_read("user:700000");
  cache_and_read("item:7:pe'ar");
  cache_and_read("item:8:apple");
  EXPECT_TRUE(becomes("users", "hidden_rows", "1")) << guard_->log();
  EXPECT_TRUE(becomes("users", "hidden_values", "2")) << guard_->log();
  EXPECT_TRUE(becomes("items", "hidden_rows", "1")) << guard_->log();
  EXPECT_TRUE(becomes("items", "hidden_values", "1")) << guard_->log();
}

}  // namespace
}  // namespace cuckooguard::harness
