// Replies that are promised: their place, and what waits for them.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filled/served/filled_shop.h"
#include "proxied_client.h"
#include "simulation/resp_text.h"

namespace cuckooguard::proxy {
namespace {

using simulation::command;
using std::chrono::milliseconds;

class SessionPromises : public ProxiedClient {
 protected:
  SessionPromises() {
    filled_.filters.apply({.kind = filled::Operation::Kind::create, .filter = "bf:a"});
    filled_.store.does_at_once = false;
  }
  void client_says(std::string_view bytes) {
    client_.send(bytes);
    pass(loop_, milliseconds(5));
  }
  void redis_says(std::string_view bytes) {
    redis_.send(bytes);
    pass(loop_, milliseconds(5));
  }
  void store_does(int changes) {
    for (int i = 0; i < changes; ++i) {
      filled_.store.do_next();
    }
    pass(loop_, milliseconds(5));
  }

  guard::FilledShop filled_{shop_};
};

const std::string kAdd = command({"BF.ADD", "bf:a", "1"});

TEST_F(SessionPromises, leave_in_the_order_of_the_commands) {
  connect_both();
  client_says(kAdd + kAdd + command({"BF.MADD", "bf:a", "1", "2"}));
  EXPECT_EQ(filled_.store.waiting(), 3U) << "none waits for the one before";
  EXPECT_EQ(client_.read(), "");
  store_does(1);
  EXPECT_EQ(client_.read(), ":1\r\n");
  store_does(2);
  EXPECT_EQ(client_.read(), ":0\r\n*2\r\n:0\r\n:1\r\n");
}

// No time passes.
TEST_F(SessionPromises, are_kept_by_a_post) {
  connect_both();
  client_says(kAdd + command({"BF.EXISTS", "bf:a", "1"}));
  EXPECT_FALSE(loop_.step()) << "nobody looks whether it is done";
  filled_.store.do_next();
  loop_.run(milliseconds(0));
  EXPECT_EQ(client_.read(), ":1\r\n:1\r\n");
}

TEST_F(SessionPromises, of_many_are_kept_in_several_batches) {
  connect_both();
  client_says(kAdd);
  store_does(1);
  std::vector<std::unique_ptr<SimPeer>> peers(2 * guard::KnownReplies::kPerTurn);
  for (auto& peer : peers) {
    peer = std::make_unique<SimPeer>(loop_);
    loop_.as_batch([&] { clients_.admit(loop_.accept(*peer)); });
    peer->send(kAdd);
  }
  loop_.run(milliseconds(0));
  while (filled_.store.waiting() != 0) {
    filled_.store.do_next();
  }
  const std::uint64_t before = loop_.batches();
  loop_.run(milliseconds(0));
  EXPECT_EQ(loop_.batches(), before + 2) << "others are served in between";
  for (const auto& peer : peers) {
    ASSERT_EQ(peer->read(), ":0\r\n");
  }
}

TEST_F(SessionPromises, come_behind_what_redis_owes) {
  connect_both();
  client_says(std::string(kExistingGet) + kAdd);
  EXPECT_EQ(redis_.read(), kExistingGet);
  store_does(1);
  EXPECT_EQ(client_.read(), "");
  redis_says("$1\r\nA\r\n");
  EXPECT_EQ(client_.read(), "$1\r\nA\r\n:1\r\n");
}

// Redis would reply before its turn.
TEST_F(SessionPromises, hold_back_whatever_is_for_redis) {
  connect_both();
  const std::string large = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$70000\r\n" + std::string(70'000, 'x');
  for (const std::string& later : {std::string(kExistingGet),
                                   command({"SELECT", "0"}),
                                   command({"BF.ADD", "else", "1"}),
                                   large + "\r\n",
                                   std::string("*1\r\n$-9\r\n")}) {
    client_says(kAdd + later);
    EXPECT_EQ(redis_.read(), "") << later.substr(0, 40);
    store_does(1);
    (void)client_.read();
    std::string sent;
    for (std::string more = redis_.read(); !more.empty(); more = redis_.read()) {
      sent += more;
      pass(loop_, milliseconds(5));
    }
    EXPECT_TRUE(sent == later) << later.substr(0, 40);
    redis_says("+OK\r\n");
    EXPECT_EQ(client_.read(), "+OK\r\n");
  }
}

TEST_F(SessionPromises, hold_back_answers_that_depend_on_them) {
  connect_both();
  client_says(kAdd + command({"BF.EXISTS", "bf:a", "1"}) + std::string(kAbsentGet));
  EXPECT_EQ(client_.read(), "");
  store_does(1);
  EXPECT_EQ(client_.read(), ":1\r\n:1\r\n" + std::string(kNil));
}

TEST_F(SessionPromises, are_kept_for_a_client_that_sends_no_more) {
  connect_both();
  client_says(kAdd);
  client_.finish();
  pass(loop_, milliseconds(5));
  EXPECT_FALSE(client_is_closed());
  store_does(1);
  EXPECT_EQ(client_.read(), ":1\r\n");
}

TEST_F(SessionPromises, that_are_kept_behind_a_late_reply_let_redis_hear_of_the_end) {
  connect_both();
  client_says(std::string(kExistingGet) + kAdd);
  client_.finish();
  store_does(1);
  EXPECT_EQ(redis_.read(), kExistingGet);
  EXPECT_FALSE(redis_.at_end());
  redis_says("$1\r\nA\r\n");
  EXPECT_EQ(client_.read(), "$1\r\nA\r\n:1\r\n");
  EXPECT_TRUE(redis_.at_end());
}

TEST_F(SessionPromises, are_kept_for_a_client_that_is_drained) {
  connect_both();
  client_says(kAdd);
  bool is_empty = false;
  loop_.as_batch([&] { clients_.drain([&] { is_empty = true; }); });
  pass(loop_, milliseconds(50));
  EXPECT_FALSE(client_is_closed());
  store_does(1);
  EXPECT_EQ(client_.read(), ":1\r\n");
  client_.finish();
  pass(loop_, milliseconds(300));
  EXPECT_TRUE(is_empty);
}

// It may be gone when the change is done.
TEST_F(SessionPromises, to_a_client_that_has_gone_are_forgotten) {
  connect_both();
  client_says(kAdd);
  client_.reset();
  pass(loop_, milliseconds(50));
  EXPECT_EQ(sessions(), 0U);
  store_does(1);
}

TEST_F(SessionPromises, a_reply_of_redis_that_nobody_asked_for_ends_the_session) {
  connect_both();
  client_says(kAdd);
  redis_says("+OK\r\n");
  EXPECT_TRUE(client_is_closed());
  EXPECT_EQ(client_.read(), "");
}

TEST_F(SessionPromises, count_as_commands_in_flight) {
  settings_.limits.inflight_per_client = 3;
  connect_both();
  client_says(kAdd + kAdd + kAdd + kAdd + kAdd);
  EXPECT_EQ(filled_.store.waiting(), 3U);
  store_does(3);
  EXPECT_EQ(client_.read(), ":1\r\n:0\r\n:0\r\n");
  store_does(2);
  EXPECT_EQ(client_.read(), ":0\r\n:0\r\n");
}

// --- replies made of what Redis says ---

const std::string kAddNew = command({"BF.ADD", "bf:new", "1"});
const std::string kAsks = command({"EXISTS", "bf:new"});

TEST_F(SessionPromises, of_a_new_filter_begin_with_a_question_to_redis) {
  connect_both();
  client_says(std::string(kExistingGet) + kAddNew + kAddNew + std::string(kExistingGet));
  EXPECT_EQ(redis_.read(), std::string(kExistingGet) + kAsks);
  redis_says("$1\r\nA\r\n:");
  EXPECT_EQ(client_.read(), "$1\r\nA\r\n");
  EXPECT_EQ(filled_.store.waiting(), 0U);
  redis_says("0\r\n");
  EXPECT_EQ(filled_.store.waiting(), 1U) << "the next one waits, since it would ask, too";
  store_does(1);
  EXPECT_EQ(client_.read(), ":1\r\n");
  EXPECT_EQ(redis_.read(), "");
  store_does(1);
  EXPECT_EQ(client_.read(), ":0\r\n");
  EXPECT_EQ(redis_.read(), kExistingGet);
}

TEST_F(SessionPromises, end_with_what_redis_says) {
  connect_both();
  client_says(kAddNew + std::string(kExistingGet));
  EXPECT_EQ(redis_.read(), kAsks);
  redis_says(":1\r\n");
  EXPECT_TRUE(client_.read().starts_with("-WRONGTYPE "));
  EXPECT_EQ(redis_.read(), kExistingGet) << "what waited goes on";
  EXPECT_EQ(filled_.store.waiting(), 0U);
}

// What it adds must not be gone with what was there before.
TEST_F(SessionPromises, of_any_filter_wait_for_what_redis_says) {
  connect_both();
  client_says(command({"FLUSHALL"}) + kAdd + command({"BF.EXISTS", "bf:a", "1"}) + kAddNew);
  EXPECT_EQ(redis_.read(), command({"FLUSHALL"}));
  EXPECT_EQ(filled_.store.waiting(), 0U);
  redis_says("+OK\r\n");
  EXPECT_EQ(client_.read(), "+OK\r\n");
  EXPECT_EQ(redis_.read(), command({"EXISTS", "bf:a"}));
  redis_says(":0\r\n");
  store_does(1);
  EXPECT_EQ(client_.read(), ":1\r\n:1\r\n");
  EXPECT_EQ(redis_.read(), kAsks);
}

// Its row may have been inserted just before.
TEST_F(SessionPromises, let_a_key_pass_that_was_deleted_together_with_a_filter) {
  connect_both();
  client_says(kAbsentGet);
  EXPECT_EQ(client_.read(), kNil);
  client_says(command({"DEL", "bf:a", "user:999"}));
  EXPECT_EQ(redis_.read(), command({"DEL", "user:999"}));
  redis_says(":0\r\n");
  store_does(1);
  EXPECT_EQ(client_.read(), ":1\r\n");
  client_says(kAbsentGet);
  EXPECT_EQ(redis_.read(), kAbsentGet);
}

TEST_F(SessionPromises, of_a_new_filter_are_kept_for_a_client_that_sends_no_more) {
  connect_both();
  client_says(kAddNew);
  client_.finish();
  pass(loop_, milliseconds(5));
  EXPECT_FALSE(client_is_closed());
  EXPECT_EQ(redis_.read(), kAsks);
  redis_says(":0\r\n");
  store_does(1);
  EXPECT_EQ(client_.read(), ":1\r\n");
  EXPECT_TRUE(redis_.at_end());
}

TEST_F(SessionPromises, of_a_client_that_has_gone_are_not_asked_for) {
  connect_both();
  client_says(kAddNew);
  client_.reset();
  redis_says(":0\r\n");
  pass(loop_, milliseconds(50));
  EXPECT_EQ(sessions(), 0U);
  EXPECT_EQ(filled_.store.waiting(), 0U);
}

// It would wait for ever behind replies that Redis is not asked for while it does not read.
TEST_F(SessionPromises, are_kept_for_a_client_that_writes_all_before_it_reads) {
  settings_.limits.client_output_soft = 10'000;
  connect_both();
  const std::string set = command({"SET", "k", std::string(1000, 'x')});
  std::string later;
  while (later.size() < 3 * Session::kHeldBytesMax) {
    later += set;
  }
  std::string gets;
  std::string values;
  for (int i = 0; i < 30; ++i) {
    gets += kExistingGet;
    values += "$100000\r\n" + std::string(100'000, 'v') + "\r\n";
  }
  client_says(gets + kAddNew + later);
  (void)redis_.read();
  redis_says(values + ":0\r\n");
  pass(loop_, milliseconds(100));
  EXPECT_EQ(filled_.store.waiting(), 1U);
}

TEST_F(SessionPromises, inside_multi_are_an_error_that_says_so) {
  connect_both();
  client_says(command({"MULTI"}));
  redis_says("+OK\r\n");
  client_says(kAdd);
  (void)client_.read();
  EXPECT_EQ(redis_.read(), command({"MULTI"}) + command({"GUARD.BF.ADD", "bf:a", "1"}));
  redis_says("-ERR unknown command 'GUARD.BF.ADD'\r\n");
  EXPECT_TRUE(client_.read().starts_with("-ERR 'bf.add' of a filter of the guard is not allowed"));
  client_says(command({"EXEC"}));
  EXPECT_EQ(redis_.read(), command({"EXEC"}));
  redis_says("-EXECABORT Transaction discarded\r\n");
  EXPECT_EQ(client_.read(), "-EXECABORT Transaction discarded\r\n");
  client_says(kAdd);
  store_does(1);
  EXPECT_EQ(client_.read(), ":1\r\n");
}

TEST_F(SessionPromises, behind_multi_are_as_ever_although_its_end_is_in_flight) {
  const std::string transaction = command({"MULTI"}) + command({"EXEC"});
  connect_both();
  client_says(transaction + kAdd + command({"FLUSHALL"}));
  EXPECT_EQ(redis_.read(), transaction);
  redis_says("+OK\r\n*0\r\n");
  store_does(1);
  EXPECT_EQ(client_.read(), "+OK\r\n*0\r\n:1\r\n");
  EXPECT_EQ(redis_.read(), command({"FLUSHALL"}));
  redis_says("+OK\r\n");
  EXPECT_EQ(filled_.filters.totals().filters, 0U);
}

}  // namespace
}  // namespace cuckooguard::proxy
