// A read whose nil is held back for another client's load: when it waits, what frees it, and what
// its client sees. Who waits for whom: tests/breakdown.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proxied_client.h"
#include "sharing_clients.h"

namespace cuckooguard::proxy {
namespace {

using guard::Misses;
using std::chrono::milliseconds;

const std::string kGet(kExistingGet);
const std::string kNone(kNil);
const std::string kValue = "$2\r\nv7\r\n";
const std::string kPing = "*1\r\n$4\r\nPING\r\n";

// Does as the test says.
class TestLoads final : public guard::Loads {
 public:
  class TestMisses final : public Misses {
   public:
    explicit TestMisses(TestLoads& loads) : loads_(loads) {}
    bool missed(Loads& /*of*/, const Key& key, May may, TimePoint now) override {
      loads_.missed.push_back(key.hash);
      until_ = now + milliseconds(100);
      return loads_.holds && may == May::wait;
    }
    Next next(TimePoint now) override {
      return loads_.next == Next::wait && now >= until_ ? Next::take : loads_.next;
    }
    TimePoint until() const override { return until_; }
    void end(End how, TimePoint /*now*/) override { loads_.ends.push_back(how); }
    void gone(TimePoint /*now*/) override { loads_.is_gone = true; }

   private:
    TestLoads& loads_;
    TimePoint until_{};
  };

  std::uint64_t hash(std::string_view key) const override {
    return std::hash<std::string_view>()(key);
  }
  std::unique_ptr<Misses> connect(text::Network /*network*/,
                                  std::shared_ptr<guard::KnownReplies> known,
                                  void* waiter) override {
    known_ = std::move(known);
    waiter_ = waiter;
    ++connected;
    return std::make_unique<TestMisses>(*this);
  }
  void written(std::uint64_t key, const Misses* by, bool has_value, TimePoint /*now*/) override {
    (has_value ? set : changed).push_back(key);
    is_anonymous |= by == nullptr;
  }
  void close() override {}
  Now now() const override { return {}; }

  void wake(Misses::Next how) {
    next = how;
    guard::KnownReplies::Waiters waiters{waiter_};
    known_->add(waiters);
  }

  bool holds = true;
  Misses::Next next = Misses::Next::wait;
  std::vector<std::uint64_t> missed;
  std::vector<std::uint64_t> set;
  std::vector<std::uint64_t> changed;
  std::vector<Misses::End> ends;
  bool is_gone = false;
  std::size_t connected = 0;
  bool is_anonymous = false;  // what was written

 private:
  std::shared_ptr<guard::KnownReplies> known_;
  void* waiter_ = nullptr;
};

class SessionMissTest : public ProxiedClient {
 protected:
  SessionMissTest() { shop_.spaces[guard::GuardedShop::kUsers].loads = loads_; }
  void SetUp() override { connect_both(); }
  void client_says(std::string_view bytes) {
    client_.send(bytes);
    pass(loop_, milliseconds(1));
  }
  void redis_says(std::string_view bytes) {
    redis_.send(bytes);
    pass(loop_, milliseconds(1));
  }
  void miss() {
    client_says(kGet);
    ASSERT_EQ(redis_.read(), kGet);
    redis_says(kNone);
  }
  void wake(Misses::Next how) {
    loads_->wake(how);
    pass(loop_, milliseconds(1));
  }
  std::uint64_t key() const { return loads_->hash("user:7"); }

  std::shared_ptr<TestLoads> loads_ = std::make_shared<TestLoads>();
};

TEST_F(SessionMissTest, it_is_sent_again_and_the_value_is_its_reply) {
  miss();
  EXPECT_EQ(client_.read(), "");
  wake(Misses::Next::ask);
  EXPECT_EQ(redis_.read(), kGet);
  redis_says(kValue);
  EXPECT_EQ(client_.read(), kValue);
  EXPECT_EQ(loads_->ends, std::vector{Misses::End::value});
  client_says(kPing);
  EXPECT_EQ(redis_.read(), kPing);
  redis_says("+PONG\r\n");
  EXPECT_EQ(client_.read(), "+PONG\r\n");
}

TEST_F(SessionMissTest, one_that_is_nil_again_waits_on) {
  miss();
  wake(Misses::Next::ask);
  redis_.read();
  loads_->next = Misses::Next::wait;
  redis_says(kNone);
  EXPECT_EQ(client_.read(), "");
  EXPECT_EQ(loads_->missed, (std::vector{key(), key()}));
  wake(Misses::Next::take);
  EXPECT_EQ(client_.read(), kNone);
}

TEST_F(SessionMissTest, who_need_not_wait_has_the_nil_at_once) {
  loads_->holds = false;
  miss();
  EXPECT_EQ(client_.read(), kNone);
  EXPECT_EQ(loads_->missed, std::vector{key()});
}

TEST_F(SessionMissTest, nobody_waits_beyond_the_time) {
  miss();
  pass(loop_, milliseconds(90));
  EXPECT_EQ(client_.read(), "");
  pass(loop_, milliseconds(15));
  EXPECT_EQ(client_.read(), kNone);
}

TEST_F(SessionMissTest, who_is_woken_and_has_to_wait_on_is_let_go_in_time) {
  miss();
  pass(loop_, milliseconds(50));
  wake(Misses::Next::wait);
  EXPECT_EQ(client_.read(), "");
  pass(loop_, milliseconds(55));
  EXPECT_EQ(client_.read(), kNone);
}

TEST_F(SessionMissTest, of_a_key_that_nobody_loads_any_more_the_nil_leaves) {
  miss();
  wake(Misses::Next::ask);
  shop_.spaces[guard::GuardedShop::kUsers].loads = nullptr;
  redis_says(kNone);
  EXPECT_EQ(client_.read(), kNone);
  EXPECT_EQ(loads_->ends, std::vector{Misses::End::let_go});
}

TEST_F(SessionMissTest, the_null_of_resp3_is_a_miss) {
  client_says(kGet);
  redis_says("_\r\n");
  EXPECT_EQ(client_.read(), "");
  EXPECT_EQ(loads_->missed, std::vector{key()});
}

TEST_F(SessionMissTest, before_what_redis_says_unasked_the_nil_leaves) {
  miss();
  redis_says("-ERR goodbye\r\n");
  EXPECT_TRUE(client_.read().starts_with(kNone));
  EXPECT_EQ(loads_->ends, std::vector{Misses::End::let_go});
}

TEST_F(SessionMissTest, the_clients_next_byte_frees_it) {
  miss();
  client_says("*");
  EXPECT_EQ(client_.read(), kNone);
  EXPECT_EQ(loads_->ends, std::vector{Misses::End::let_go});
  client_says(kPing.substr(1));
  EXPECT_EQ(redis_.read(), kPing);
}

TEST_F(SessionMissTest, of_a_pipeline_none_waits) {
  client_says(kGet + kGet);
  EXPECT_EQ(redis_.read(), kGet + kGet);
  redis_says(kNone + kNone);
  EXPECT_EQ(client_.read(), kNone + kNone);
  client_says(kGet);
  client_says(kGet);
  redis_says(kNone + kNone);
  EXPECT_EQ(client_.read(), kNone + kNone);
  EXPECT_TRUE(loads_->missed.empty());
  client_says(kGet);
  client_says("*");
  redis_says(kNone);
  EXPECT_EQ(client_.read(), kNone) << "the next command has begun";
}

TEST_F(SessionMissTest, in_a_transaction_nothing_waits) {
  client_says("*1\r\n$5\r\nMULTI\r\n");
  pass(loop_, milliseconds(1));
  redis_.read();
  redis_says("+OK\r\n");
  client_.read();
  client_says(kGet);
  redis_says("+QUEUED\r\n");
  client_says("*1\r\n$4\r\nEXEC\r\n");
  redis_says("*1\r\n" + kNone);
  EXPECT_TRUE(loads_->missed.empty());
}

TEST_F(SessionMissTest, a_key_that_need_not_exist_never_waits) {
  client_says("*2\r\n$3\r\nGET\r\n$8\r\nuser:101\r\n");  // just above the largest id
  redis_says(kNone);
  EXPECT_EQ(client_.read(), kNone);
  client_says("*2\r\n$3\r\nGET\r\n$9\r\nsession:1\r\n");
  redis_says(kNone);
  EXPECT_EQ(client_.read(), kNone);
  EXPECT_TRUE(loads_->missed.empty());
}

TEST_F(SessionMissTest, an_mget_with_one_miss_waits) {
  const std::string mget = "*3\r\n$4\r\nMGET\r\n$6\r\nuser:8\r\n$6\r\nuser:7\r\n";
  client_says(mget);
  redis_.read();
  redis_says("*2\r\n$2\r\nv8\r\n" + kNone);
  EXPECT_EQ(client_.read(), "");
  EXPECT_EQ(loads_->missed, std::vector{key()});
  wake(Misses::Next::ask);
  EXPECT_EQ(redis_.read(), mget);
  redis_says("*2\r\n$2\r\nv8\r\n" + kValue);
  EXPECT_EQ(client_.read(), "*2\r\n$2\r\nv8\r\n" + kValue);
  client_says(mget);
  redis_says("*2\r\n" + kNone + kNone);
  EXPECT_EQ(client_.read(), "*2\r\n" + kNone + kNone) << "of two misses nobody waits";
}

TEST_F(SessionMissTest, only_what_redis_has_carried_out_is_written) {
  const std::string set = "*3\r\n$3\r\nSET\r\n$6\r\nuser:7\r\n$1\r\nx\r\n";
  const std::string set_nx = "*4\r\n$3\r\nSET\r\n$6\r\nuser:7\r\n$1\r\nx\r\n$2\r\nNX\r\n";
  client_says(set);
  redis_says("-OOM command not allowed when used memory > 'maxmemory'.\r\n");
  client_says(set_nx);
  redis_says(kNone);
  EXPECT_TRUE(loads_->set.empty());
  client_says(set_nx);
  redis_says("+OK\r\n");
  EXPECT_EQ(loads_->set.size(), 1);
  client_says("*2\r\n$3\r\nDEL\r\n$6\r\nuser:7\r\n");
  redis_says(":1\r\n");
  EXPECT_EQ(loads_->changed, std::vector{key()});
}

// A pool may send all its SETs on a connection that never reads.
TEST_F(SessionMissTest, a_connection_that_only_writes_is_known) {
  const std::string set = "*3\r\n$3\r\nSET\r\n$6\r\nuser:7\r\n$1\r\nx\r\n";
  client_says(kPing);
  redis_says("+PONG\r\n");
  EXPECT_EQ(loads_->connected, 0);
  client_says(set + set);
  redis_says("+OK\r\n+OK\r\n");
  EXPECT_EQ(loads_->set.size(), 2);
  EXPECT_EQ(loads_->connected, 1);
  EXPECT_FALSE(loads_->is_anonymous);
}

TEST_F(SessionMissTest, one_that_was_queued_is_written_by_exec) {
  client_says("*1\r\n$5\r\nMULTI\r\n");
  pass(loop_, milliseconds(1));
  redis_says("+OK\r\n");
  client_says("*3\r\n$3\r\nSET\r\n$6\r\nuser:7\r\n$1\r\nx\r\n");
  redis_says("+QUEUED\r\n");
  EXPECT_TRUE(loads_->set.empty());
  client_says("*1\r\n$4\r\nEXEC\r\n");
  redis_says("*1\r\n+OK\r\n");
  EXPECT_EQ(loads_->set, std::vector{key()});
}

TEST_F(SessionMissTest, the_frameworks_absent_value_is_a_write_too) {
  shop_.spaces[guard::GuardedShop::kItems].loads = loads_;
  client_says("*3\r\n$3\r\nSET\r\n$9\r\nitem:pear\r\n$1\r\n*\r\n");
  redis_says("+OK\r\n");
  EXPECT_EQ(loads_->set, std::vector{loads_->hash("item:pear")});
}

TEST_F(SessionMissTest, a_client_that_sends_no_more_has_its_nil) {
  miss();
  client_.finish();
  pass(loop_, milliseconds(1));
  EXPECT_EQ(client_.read(), kNone);
}

TEST_F(SessionMissTest, one_that_had_finished_before_does_not_wait) {
  client_says(kGet);
  client_.finish();
  pass(loop_, milliseconds(1));
  redis_says(kNone);
  EXPECT_EQ(client_.read(), kNone);
}

TEST_F(SessionMissTest, who_has_gone_waits_no_more) {
  miss();
  client_.reset();
  pass(loop_, milliseconds(1));
  EXPECT_TRUE(loads_->is_gone);
  EXPECT_EQ(sessions(), 0);
}

TEST_F(SessionMissTest, a_draining_guard_gives_the_nil) {
  miss();
  bool is_empty = false;
  loop_.as_batch([&] { clients_.drain([&] { is_empty = true; }); });
  pass(loop_, milliseconds(5));
  EXPECT_EQ(client_.read(), kNone);
  EXPECT_TRUE(client_.at_end());
}

TEST_F(SessionMissTest, while_the_guard_drains_nobody_begins_to_wait) {
  client_says(kGet);
  redis_.send(kNone);
  loop_.as_batch([&] { clients_.drain([] {}); });
  pass(loop_, milliseconds(1));
  EXPECT_EQ(client_.read(), kNone);
}

TEST_F(SessionMissTest, when_redis_is_lost_the_nil_leaves_before_the_end) {
  miss();
  redis_.finish();
  pass(loop_, milliseconds(1));
  EXPECT_EQ(client_.read(), kNone);
}

TEST_F(SessionMissTest, a_namespace_in_observe_holds_nothing) {
  shop_.spaces[guard::GuardedShop::kUsers].mode = config::Mode::observe;
  miss();
  EXPECT_EQ(client_.read(), kNone);
  EXPECT_EQ(loads_->missed, std::vector{key()}) << "it is counted";
}

// As just after Redis was started again, empty.
TEST_F(SessionMissTest, it_waits_though_nothing_is_known_of_redis) {
  shop_.facts.publish(shop_.facts.epoch(), {.availability = redis::Availability::loading});
  miss();
  ASSERT_EQ(client_.read(), "");
  wake(Misses::Next::take);
  EXPECT_EQ(client_.read(), kNone);
  client_says("*1\r\n$5\r\nMULTI\r\n");
  redis_.read();
  redis_says("+OK\r\n");
  EXPECT_EQ(client_.read(), "+OK\r\n");
  client_says(kGet);
  redis_says("+QUEUED\r\n");
  EXPECT_EQ(client_.read(), "+QUEUED\r\n");
  EXPECT_EQ(loads_->missed.size(), 1);
}

class SharedMissTest : public SharingClients {
 protected:
  SharedMissTest() { shop_.spaces[guard::GuardedShop::kUsers].loads = loads_; }

  std::shared_ptr<TestLoads> loads_ = std::make_shared<TestLoads>();
};

TEST_F(SharedMissTest, it_is_sent_again_among_others_commands) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("GET user:7"));
  send(b, command("ECHO 1"));
  redis_got(0);
  loads_->next = Misses::Next::ask;  // when its time is over
  redis_sends(0, kNone + "$1\r\n1\r\n");
  EXPECT_EQ(got(a), "");
  EXPECT_EQ(got(b), "$1\r\n1\r\n");
  EXPECT_EQ(redis_got(0), command("GET user:7"));
  send(b, command("ECHO 2"));
  redis_sends(0, kValue + "$1\r\n2\r\n");
  EXPECT_EQ(got(a), kValue);
  EXPECT_EQ(got(b), "$1\r\n2\r\n");
}

TEST_F(SharedMissTest, it_is_sent_again_to_another_redis) {
  const auto a = connect();
  const auto b = connect();
  send(a, command("GET user:7"));
  redis_got(0);
  redis(0).send(kNone);
  pass(loop_, milliseconds(1));
  loop_.as_batch([&] { clients_.on_upstream_changed(io::TimePoint::max(), false); });
  peers_.at(b).send(command("ECHO 1"));
  pass(loop_, milliseconds(1));
  loads_->wake(Misses::Next::ask);
  ASSERT_EQ(upstreams(), 2U);
  EXPECT_EQ(redis_got(1), command("ECHO 1") + command("GET user:7"));
  redis_sends(1, "$1\r\n1\r\n" + kValue);
  EXPECT_EQ(got(a), kValue);
}

}  // namespace
}  // namespace cuckooguard::proxy
