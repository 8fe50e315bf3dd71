// One port for clients that know nothing of clusters: through it six Redis are one, while slots
// move and nodes change their roles.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/child_process.h"
#include "harness/configuration.h"
#include "harness/database.h"
#include "harness/guard_process.h"
#include "harness/ports.h"
#include "harness/redis_cluster.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/seed.h"
#include "harness/shop.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kCrossSlot =
    "-CROSSSLOT Keys in request don't hash to the same slot\r\n";
constexpr std::string_view kQueued = "+QUEUED\r\n";

class OnePort : public testing::TestWithParam<const char*> {
 protected:
  OnePort() : database_(directory_ / "shop.db", Journal::wal) {
    database_.insert_users(1, kUsers);
    guard_.emplace(GuardProcess::on_port(yaml()));
    EXPECT_TRUE(eventually([this] { return try_call({"GET", absent_user()}) == absent_reply(); }))
        << guard_->log();
  }

  std::string yaml() const {
    const std::string node = std::to_string(free_port());
    return "listen: [ 127.0.0.1:" + std::to_string(port_) + ", { nodes: '127.0.0.1:" + node + "-" +
           node + "' } ]\n" +
           Configuration{.upstream = "{ cluster: [ '" + cluster_.address(4) +
                                     "' ], mode: " + GetParam() + " }",
                         .source = sqlite_source(directory_ / "shop.db", ", max_lag: 10m")}
               .yaml();
  }

  RawClient client() const { return RawClient::to_port(port_); }
  // Empty: it closes.
  std::string try_call(std::initializer_list<std::string_view> arguments) const {
    try {
      return client().call(arguments);
    } catch (const std::runtime_error&) {
      return {};
    }
  }
  std::uint64_t slot_of(std::string_view key) const {
    return std::stoull(cluster_.call(1, {"CLUSTER", "KEYSLOT", key}).substr(1));
  }
  std::size_t owner_of(std::string_view key) const {
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
      if (!cluster_.call(i, {"SET", "{" + std::string(key) + "}owner", "1"}).starts_with('-')) {
        return i;
      }
    }
    throw std::runtime_error("nobody has it");
  }
  // By the slots alone.
  std::size_t owner_index_of(std::string_view key) const {
    const std::uint64_t slot = slot_of(key);
    return slot <= 5460 ? 0 : slot <= 10922 ? 1 : 2;
  }
  void begin_move(std::string_view key, std::size_t from, std::size_t to) const {
    const std::string slot = std::to_string(slot_of(key));
    EXPECT_EQ(cluster_.call(to, {"CLUSTER", "SETSLOT", slot, "IMPORTING", cluster_.id(from)}), kOk);
    EXPECT_EQ(cluster_.call(from, {"CLUSTER", "SETSLOT", slot, "MIGRATING", cluster_.id(to)}), kOk);
  }
  void move_key(std::string_view key, std::size_t from, std::size_t to) const {
    cluster_.call(from,
                  {"MIGRATE", "127.0.0.1", std::to_string(cluster_.port(to)), key, "0", "5000"});
  }
  void end_move(std::string_view key, std::size_t to) const {
    const std::string slot = std::to_string(slot_of(key));
    for (const std::size_t node : {to, std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
      EXPECT_EQ(cluster_.call(node, {"CLUSTER", "SETSLOT", slot, "NODE", cluster_.id(to)}), kOk);
    }
  }

  TemporaryDirectory directory_;
  Database database_;
  RedisCluster cluster_;
  std::uint16_t port_ = free_port();
  std::optional<GuardProcess> guard_;
};

TEST_P(OnePort, answers_for_absent_keys_of_any_slot) {
  RawClient client = this->client();
  EXPECT_EQ(client.call({"SET", user(1), "one"}), kOk);
  std::uint64_t asked = 0;
  for (std::size_t i = 0; i < cluster_.size(); ++i) {
    asked += cluster_.node(i).calls("get") + cluster_.node(i).calls("mget");
  }
  for (std::uint64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(client.call({"GET", absent_user(i)}), absent_reply());
  }
  EXPECT_EQ(client.call({"MGET", absent_user(1), absent_user(2), absent_user(3)}),
            "*3\r\n" + absent_reply() + absent_reply() + absent_reply());
  std::uint64_t asked_then = 0;
  for (std::size_t i = 0; i < cluster_.size(); ++i) {
    asked_then += cluster_.node(i).calls("get") + cluster_.node(i).calls("mget");
  }
  EXPECT_EQ(asked_then, asked);
  EXPECT_EQ(client.call({"MGET", absent_user(1), user(1), user(2)}),
            "*3\r\n" + absent_reply() + bulk("one") + std::string(kNil));
  EXPECT_EQ(client.call({"EXISTS", absent_user(1), user(1), user(2)}), ":1\r\n");
}

TEST_P(OnePort, follows_a_slot_that_moves_and_no_client_sees_it) {
  const std::string tag = "{moving}";
  const std::size_t from = owner_of("moving");
  const std::size_t to = (from + 1) % 3;
  RawClient client = this->client();
  std::vector<std::int64_t> counts(10);
  const auto count_all = [&] {
    std::string bytes;
    std::string wanted;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      bytes += command({"INCR", tag + std::to_string(i)});
      wanted += ":" + std::to_string(++counts[i]) + "\r\n";
    }
    ASSERT_EQ(client.exchange(bytes, counts.size()), wanted);
  };
  count_all();
  begin_move("moving", from, to);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    count_all();
    move_key(tag + std::to_string(i), from, to);
  }
  count_all();
  EXPECT_GT(cluster_.node(to).calls("asking"), 0U);
  EXPECT_EQ(client.call({"SET", tag + "new", "1"}), kOk) << "where it is going";
  move_key(tag + "owner", from, to);
  end_move("moving", to);
  count_all();
  EXPECT_EQ(client.call({"MGET", tag + "new", tag + "0"}),
            "*2\r\n" + bulk("1") + bulk(std::to_string(counts[0])));
}

// Redis has ended MULTI with it: what the client writes from then on is learned as ever.
TEST_P(OnePort, an_exec_that_is_led_elsewhere_is_the_end_of_its_transaction) {
  const std::size_t from = owner_of("moving");
  const std::size_t to = (from + 1) % 3;
  RawClient client = this->client();
  EXPECT_EQ(client.call({"MULTI"}), kOk);
  EXPECT_EQ(client.call({"SET", "{moving}", "1"}), kQueued);
  begin_move("moving", from, to);
  move_key("{moving}owner", from, to);
  end_move("moving", to);
  EXPECT_THAT(client.call({"EXEC"}), StartsWith("-TRYAGAIN "));
  EXPECT_EQ(client.call({"SET", absent_user(7), "written"}), kOk);
  EXPECT_EQ(try_call({"GET", absent_user(7)}), bulk("written"));
}

TEST_P(OnePort, what_one_node_has_done_of_a_split_command_counts_although_another_refuses) {
  cluster_.call(owner_index_of(absent_user(1)), {"CONFIG", "SET", "min-replicas-to-write", "9"});
  std::uint64_t other = 2;
  const std::size_t refusing = owner_index_of(absent_user(1));
  while (owner_index_of(absent_user(other)) == refusing) {
    ++other;
  }
  EXPECT_EQ(try_call({"GET", absent_user(other)}), absent_reply());
  EXPECT_THAT(client().call({"DEL", absent_user(other), absent_user(1)}),
              StartsWith("-NOREPLICAS "));
  EXPECT_EQ(try_call({"GET", absent_user(other)}), kNil) << "a row may be there from now on";
}

TEST_P(OnePort, watch_as_the_first_command_inside_multi_is_refused_as_by_redis) {
  RedisServer single;
  RawClient direct = single.client();
  for (const std::string_view key : {"a", "b", "c", "d"}) {  // of all masters
    RawClient client = this->client();
    for (const std::string& words : {command({"MULTI"}),
                                     command({"WATCH", key}),
                                     command({"PING"}),
                                     command({"SET", "x", "1"}),
                                     command({"EXEC"})}) {
      EXPECT_EQ(client.exchange(words, 1), direct.exchange(words, 1)) << key;
    }
  }
}

TEST_P(OnePort, counts_on_through_a_failover_by_command) {
  RawClient client = this->client();
  const std::size_t master = owner_of("counter");
  ASSERT_LT(master, 3U);
  std::int64_t count = 0;
  const auto count_some = [&](int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_EQ(client.call({"INCR", "counter"}), ":" + std::to_string(++count) + "\r\n");
    }
  };
  count_some(50);
  const std::size_t replica = master + 3;
  EXPECT_EQ(cluster_.call(replica, {"CLUSTER", "FAILOVER"}), kOk);
  EXPECT_TRUE(eventually([&] {
    count_some(20);
    return HasFatalFailure() || cluster_.node(replica).info("replication", "role") == "master";
  }));
  count_some(200);
  EXPECT_GT(cluster_.node(replica).calls("incr"), 0U);
}

TEST_P(OnePort, goes_on_when_a_master_was_killed_and_another_has_its_slots) {
  const std::size_t master = owner_of("counter");
  RawClient client = this->client();
  EXPECT_EQ(client.call({"SET", "counter", "1"}), kOk);
  EXPECT_EQ(client.call({"WAITAOF", "0", "0", "0"}).front(), '-') << "refused, and no harm";
  cluster_.wait_until_ok();
  cluster_.kill(master);
  EXPECT_TRUE(eventually([&] { return try_call({"SET", "counter", "2"}) == kOk; }));
  EXPECT_EQ(try_call({"GET", "counter"}), bulk("2"));
}

TEST_P(OnePort, runs_transactions_of_one_slot) {
  RawClient client = this->client();
  for (const std::string_view key : {"a", "b", "c", "d"}) {  // of all masters
    EXPECT_EQ(client.exchange(command({"MULTI"}) + command({"SET", key, "1"}) +
                                  command({"INCR", key}) + command({"EXEC"}),
                              4),
              "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:2\r\n");
    EXPECT_EQ(client.call({"MULTI"}), kOk);
    EXPECT_EQ(client.call({"PING"}), kQueued);
    EXPECT_EQ(client.call({"GET", key}), kQueued);
    EXPECT_EQ(client.call({"EXEC"}), "*2\r\n+PONG\r\n" + bulk("2"));
    EXPECT_EQ(client.call({"MULTI"}), kOk);
    EXPECT_EQ(client.call({"SET", key, "9"}), kQueued);
    EXPECT_EQ(client.call({"SET", "{of another}" + std::string(key), "9"}), kCrossSlot);
    EXPECT_THAT(client.call({"EXEC"}), StartsWith("-EXECABORT "));
    EXPECT_EQ(client.call({"GET", key}), bulk("2"));
    EXPECT_EQ(client.exchange(command({"MULTI"}) + command({"SET", key, "9"}) +
                                  command({"DISCARD"}) + command({"GET", key}),
                              4),
              "+OK\r\n+QUEUED\r\n+OK\r\n" + bulk("2"));
  }
  EXPECT_EQ(client.call({"EXEC"}), "-ERR EXEC without MULTI\r\n");
}

TEST_P(OnePort, watches_what_others_change) {
  RawClient client = this->client();
  RawClient other = this->client();
  for (const std::string_view key : {"a", "b", "c", "d"}) {
    EXPECT_EQ(client.call({"WATCH", key}), kOk);
    EXPECT_EQ(client.call({"MULTI"}), kOk);
    EXPECT_EQ(client.call({"SET", key, "mine"}), kQueued);
    EXPECT_EQ(other.call({"SET", key, "theirs"}), kOk);
    EXPECT_EQ(client.call({"EXEC"}), "*-1\r\n");
    EXPECT_EQ(client.call({"WATCH", key}), kOk);
    EXPECT_EQ(client.call({"WATCH", "{another}" + std::string(key)}), kCrossSlot);
    EXPECT_EQ(client.exchange(command({"MULTI"}) + command({"SET", key, "mine"}) +
                                  command({"EXEC"}) + command({"GET", key}),
                              4),
              "+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n" + bulk("mine"));
  }
}

TEST_P(OnePort, subscribes_on_one_node_and_to_a_slot_s_channels_on_its) {
  RawClient reader = client();
  RawClient writer = client();
  EXPECT_EQ(reader.call({"SUBSCRIBE", "news"}),
            "*3\r\n" + bulk("subscribe") + bulk("news") + ":1\r\n");
  EXPECT_THAT(reader.call({"GET", "a"}), StartsWith("-ERR Can't execute 'get'"));
  EXPECT_TRUE(eventually([&] { return writer.call({"PUBLISH", "news", "hello"}).front() == ':'; }));
  EXPECT_EQ(reader.read_reply(), "*3\r\n" + bulk("message") + bulk("news") + bulk("hello"));
  EXPECT_EQ(reader.call({"UNSUBSCRIBE"}), "*3\r\n" + bulk("unsubscribe") + bulk("news") + ":0\r\n");
  for (const std::string_view channel : {"a", "b", "c", "d"}) {
    EXPECT_EQ(writer.call({"SET", channel, "1"}), kOk);
    EXPECT_EQ(reader.call({"GET", channel}), bulk("1")) << "as before";
    EXPECT_EQ(reader.call({"SSUBSCRIBE", channel}),
              "*3\r\n" + bulk("ssubscribe") + bulk(channel) + ":1\r\n");
    EXPECT_EQ(writer.call({"SPUBLISH", channel, "hello"}), ":1\r\n");
    EXPECT_EQ(reader.read_reply(), "*3\r\n" + bulk("smessage") + bulk(channel) + bulk("hello"));
    EXPECT_EQ(reader.call({"SUNSUBSCRIBE", channel}),
              "*3\r\n" + bulk("sunsubscribe") + bulk(channel) + ":0\r\n");
  }
}

TEST_P(OnePort, refuses_in_words_what_one_node_cannot_say_of_all) {
  RawClient client = this->client();
  for (const std::string_view what : {"SAVE", "BGREWRITEAOF", "SWAPDB", "FAILOVER"}) {
    EXPECT_THAT(client.call({what, "0"}), StartsWith("-ERR this port serves a whole cluster"))
        << what;
  }
  EXPECT_EQ(client.call({"CLUSTER", "NODES"}),
            "-ERR This instance has cluster support disabled\r\n");
  EXPECT_EQ(client.call({"MSET", "a", "1", "b", "2"}), kCrossSlot);
  EXPECT_EQ(client.call({"RENAME", "a", "b"}), kCrossSlot);
  EXPECT_EQ(client.call({"PING"}), kPong);
}

TEST_P(OnePort, says_that_it_is_no_cluster) {
  RawClient client = this->client();
  for (const std::string_view section : {"server", "cluster", "everything", "all", "default"}) {
    EXPECT_THAT(client.call({"INFO", section}), Not(HasSubstr("redis_mode:cluster"))) << section;
    EXPECT_THAT(client.call({"INFO", section}), Not(HasSubstr("cluster_enabled:1"))) << section;
  }
  EXPECT_THAT(
      client.call({"INFO", "server", "cluster"}),
      testing::AllOf(HasSubstr("redis_mode:standalone\r\n"), HasSubstr("cluster_enabled:0\r\n")));
  for (const std::string_view version : {"2", "3"}) {
    EXPECT_THAT(client.call({"HELLO", version}), HasSubstr("mode\r\n$10\r\nstandalone\r\n"));
    EXPECT_THAT(client.call({"INFO"}), HasSubstr("redis_mode:standalone\r\n"));
  }
}

TEST_P(OnePort, publish_counts_those_who_subscribe_at_this_port) {
  std::vector<RawClient> readers;
  for (std::uint64_t i = 0; i < 4; ++i) {
    readers.push_back(client());
    (void)readers.back().call({"SUBSCRIBE", "news"});
    EXPECT_EQ(client().call({"PUBLISH", "news", "hello"}), ":" + std::to_string(i + 1) + "\r\n");
  }
}

TEST_P(OnePort, asks_all_masters_what_concerns_all_keys) {
  RawClient client = this->client();
  EXPECT_EQ(client.call({"RANDOMKEY"}), kNil);
  std::set<std::string> keys;
  for (int i = 0; i < 30; ++i) {
    keys.insert("key" + std::to_string(i));
    EXPECT_EQ(client.call({"SET", "key" + std::to_string(i), "1"}), kOk);
  }
  EXPECT_EQ(client.call({"DBSIZE"}), ":30\r\n");
  EXPECT_THAT(client.call({"KEYS", "key*"}), StartsWith("*30\r\n"));
  EXPECT_EQ(client.call({"KEYS", "none*"}), "*0\r\n");
  EXPECT_THAT(client.call({"RANDOMKEY"}), HasSubstr("key"));
  EXPECT_EQ(client.call({"WAIT", "1", "5000"}), ":1\r\n") << "each master has one replica";
  EXPECT_THAT(client.call({"SCRIPT", "KILL"}), StartsWith("-NOTBUSY "));
  EXPECT_EQ(client.exchange(command({"MULTI"}) + command({"DBSIZE"}) + command({"EXEC"}), 3)
                .substr(0, 15),
            "+OK\r\n-ERR this ");
  EXPECT_EQ(client.call({"FLUSHALL"}), kOk);
  EXPECT_EQ(client.call({"DBSIZE"}), ":0\r\n");
}

TEST_P(OnePort, loads_scripts_on_all_masters) {
  RawClient client = this->client();
  const std::string sha = client.call({"SCRIPT", "LOAD", "return redis.call('GET', KEYS[1])"});
  ASSERT_EQ(sha.size(), 47U);
  for (const std::string_view key : {"a", "b", "c", "d"}) {
    EXPECT_EQ(client.call({"SET", key, key}), kOk);
    EXPECT_EQ(client.call({"EVALSHA", sha.substr(5, 40), "1", key}), bulk(key));
  }
}

// Keys that are there all the time, and what SCAN has returned of them at its end.
class OnePortScan : public OnePort {
 protected:
  static constexpr int kKeys = 600;

  OnePortScan() {
    RawClient client = this->client();
    for (int i = 0; i < kKeys; ++i) {
      keys_.insert("k" + std::to_string(i));
      EXPECT_EQ(client.call({"SET", "k" + std::to_string(i), "1"}), kOk);
    }
  }
  // `between` pages something happens.
  void expect_all_returned(const std::function<void(int page)>& between) const {
    RawClient client = this->client();
    std::set<std::string> returned;
    std::string cursor = "0";
    int page = 0;
    do {
      const std::string reply = client.call({"SCAN", cursor, "COUNT", "20", "TYPE", "string"});
      ASSERT_THAT(reply, StartsWith("*2\r\n"));
      std::istringstream lines(reply);
      std::vector<std::string> texts;
      for (std::string line; std::getline(lines, line);) {
        line.pop_back();
        texts.push_back(line);
      }
      cursor = texts[2];
      for (std::size_t i = 5; i < texts.size(); i += 2) {
        returned.insert(texts[i]);
      }
      between(page++);
    } while (cursor != "0");
    EXPECT_EQ(returned, keys_);
  }

  std::set<std::string> keys_;
};

// From one master to another, as when nodes are rebalanced.
TEST_P(OnePortScan, returns_each_key_while_slots_move) {
  std::mt19937_64 random(seed_of_this_run());
  std::map<std::uint64_t, std::size_t> owners;
  for (std::size_t to = 0; to < 3; ++to) {
    const std::size_t from = (to + 2) % 3;
    cluster_.wait_until_ok();
    expect_all_returned([&](int page) {
      for (int tries = 0; page < 60 && tries < 20; ++tries) {
        const std::string key = "k" + std::to_string(random() % kKeys);
        const std::uint64_t slot = slot_of(key);
        std::size_t& owner = owners.try_emplace(slot, owner_index_of(key)).first->second;
        if (owner == from) {
          cluster_.move_slot(static_cast<std::uint16_t>(slot), from, to);
          owner = to;
          return;
        }
      }
    });
  }
  RawClient client = this->client();
  for (const std::string& key : keys_) {
    EXPECT_EQ(client.call({"GET", key}), bulk("1")) << "Redis has lost it";
  }
}

// Whose table of keys has other cursors: also of the master that is being scanned.
TEST_P(OnePortScan, returns_each_key_although_replicas_become_masters) {
  cluster_.wait_until_ok();
  expect_all_returned([&](int page) {
    for (const std::size_t replica : {3U, 4U, 5U}) {
      if (page == 5) {
        cluster_.fail_over_to(replica);
        EXPECT_TRUE(eventually([&] {
          (void)client().call({"DBSIZE"});
          return cluster_.node(replica).calls("dbsize") > 0;
        }));
      }
    }
  });
}

TEST_P(OnePort, serves_a_plain_client_library) {
  const std::string python = "/usr/bin/python3";
  SKIP_IF_MISSING(missing_packages("python3-redis", {python, "-c", "import redis"}));
  const std::string program = R"py(
import redis, sys
r = redis.Redis(port=int(sys.argv[1]))
for i in range(100):
    r.set(f"key:{i}", i)
assert r.mget([f"key:{i}" for i in range(100)]) == [str(i).encode() for i in range(100)]
with r.pipeline(transaction=False) as p:
    for i in range(100):
        p.incr(f"key:{i}")
    assert p.execute() == [i + 1 for i in range(100)]
with r.pipeline() as p:
    p.set("{t}a", 1); p.incr("{t}a"); p.get("{t}b")
    assert p.execute() == [True, 2, None]
s = r.pubsub()
s.subscribe("news")
assert s.get_message(timeout=5)["type"] == "subscribe"
r.publish("news", "hello")
assert s.get_message(timeout=5)["data"] == b"hello"
assert r.register_script("return redis.call('INCR', KEYS[1])")(keys=["{t}c"]) == 1
assert r.delete(*[f"key:{i}" for i in range(100)]) == 100
)py";
  EXPECT_EQ(ChildProcess({python, "-c", program, std::to_string(port_)},
                         {directory_ / "output", directory_ / "errors"})
                .exit_code(),
            0)
      << read_whole_file(directory_ / "errors");
}

constexpr auto kName = [](const auto& mode) { return std::string(mode.param); };
INSTANTIATE_TEST_SUITE_P(Mode, OnePort, testing::Values("pinned", "shared"), kName);
INSTANTIATE_TEST_SUITE_P(Mode, OnePortScan, testing::Values("pinned", "shared"), kName);

}  // namespace
}  // namespace cuckooguard::harness
