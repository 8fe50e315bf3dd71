// A read of an absent key that waits for a proof: who waits with it, who does not, and when it goes
// to Redis after all.
#include <string>

#include <gtest/gtest.h>

#include "proxied_client.h"
#include "proxy/session.h"
#include "sharing_clients.h"

namespace cuckooguard::proxy {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

std::string get(std::string_view key) {
  return "*2\r\n$3\r\nGET\r\n$" + std::to_string(key.size()) + "\r\n" + std::string(key) + "\r\n";
}
const std::string kPing = "*1\r\n$4\r\nPING\r\n";
const std::string kPlum = get("item:plum");
const std::string kFig = get("item:fig");
const std::string kPear = get("item:pear");
const std::string kStar = "$1\r\n*\r\n";
const std::string kNone = "$-1\r\n";

class SessionStrictTest : public ProxiedClient {
 protected:
  SessionStrictTest() {
    guard::GuardedNamespace& items = shop_.spaces[guard::GuardedShop::kItems];
    items.consistency = config::Consistency::strict;
    items.questions = &questions_;
    prove(loop_.now());
  }

  filter::LiveFilter& items() { return *shop_.filters[guard::GuardedShop::kItems]; }
  void prove(io::TimePoint at) { items().prove(at, std::chrono::seconds(60)); }
  // A question that began at `at` has been answered; the worker hears of it.
  void proven(io::TimePoint at) {
    prove(at);
    if (clients_.proofs().is_to_hear()) {
      loop_.as_batch([this] { clients_.proofs().on_proven(); });
    }
    loop_.run(milliseconds(0));
  }
  void proven() { proven(loop_.now() + nanoseconds(1)); }
  void client_says(std::string_view bytes) {
    client_.send(bytes);
    pass(loop_, milliseconds(1));
  }
  void redis_says(std::string_view bytes) {
    redis_.send(bytes);
    pass(loop_, milliseconds(1));
  }

  filter::Questions questions_;
};

TEST_F(SessionStrictTest, an_absent_key_is_answered_when_a_question_from_after_the_read_is) {
  connect_both();
  const io::TimePoint before = loop_.now();
  pass(loop_, milliseconds(1));
  client_says(kPlum);
  EXPECT_TRUE(questions_.is_wanted());
  proven(before);
  EXPECT_EQ(client_.read(), "") << "a question from before";
  proven();
  EXPECT_EQ(client_.read(), kStar);
  EXPECT_EQ(redis_.read(), "");
  EXPECT_EQ(shop_.count(guard::GuardedShop::kItems, guard::Verdict::absent), 1);
}

TEST_F(SessionStrictTest, a_proof_from_after_the_read_that_is_there_already_is_enough) {
  connect_both();
  prove(loop_.now() + milliseconds(5));
  client_says(kPlum);
  EXPECT_EQ(client_.read(), kStar);
  EXPECT_FALSE(questions_.is_wanted());
}

TEST_F(SessionStrictTest, a_row_that_has_come_meanwhile_is_looked_for_in_redis) {
  connect_both();
  client_says(kPlum);
  items().insert(items().writable()->hash("plum"));
  proven();
  EXPECT_EQ(client_.read(), "");
  EXPECT_EQ(redis_.read(), kPlum);
  redis_says(kNone);
  EXPECT_EQ(client_.read(), kNone) << "and a nil of it is Redis's";
}

TEST_F(SessionStrictTest, after_strict_hold_it_goes_to_redis) {
  connect_both();
  client_says(kPlum);
  pass(loop_, milliseconds(18));
  EXPECT_EQ(redis_.read(), "");
  pass(loop_, milliseconds(4));
  EXPECT_EQ(redis_.read(), kPlum);
  redis_says(kNone);
  EXPECT_EQ(client_.read(), kNone);
  EXPECT_EQ(shop_.count(guard::GuardedShop::kItems, guard::Verdict::unproven), 1);
}

TEST_F(SessionStrictTest, its_nil_is_replaced_if_the_proof_has_come_before_it) {
  connect_both();
  client_says(kPlum);
  pass(loop_, milliseconds(25));
  ASSERT_EQ(redis_.read(), kPlum);
  proven();
  redis_says(kNone);
  EXPECT_EQ(client_.read(), kStar);
}

TEST_F(SessionStrictTest, a_pipeline_of_absent_keys_waits_for_one_proof) {
  connect_both();
  std::string pipeline;
  std::string replies;
  for (int i = 0; i < 64; ++i) {
    pipeline += i % 2 == 0 ? kPlum : kFig;
    replies += kStar;
  }
  client_says(pipeline);
  EXPECT_EQ(client_.read(), "");
  proven();
  EXPECT_EQ(client_.read(), replies);
  EXPECT_EQ(redis_.read(), "");
  EXPECT_EQ(shop_.count(guard::GuardedShop::kItems, guard::Verdict::absent), 64);
}

TEST_F(SessionStrictTest, of_reads_alike_the_later_one_needs_a_proof_of_its_own) {
  connect_both();
  client_says("*2\r\n$6\r\nEXISTS\r\n$8\r\nitem:fig\r\n" + kPlum);
  const io::TimePoint between = loop_.now();
  pass(loop_, milliseconds(1));
  client_says(kFig);
  proven(between);
  EXPECT_EQ(client_.read(), ":0\r\n" + kStar);
  proven();
  EXPECT_EQ(client_.read(), kStar);
  EXPECT_EQ(redis_.read(), "");
}

TEST_F(SessionStrictTest, nobody_waits_who_has_sent_something_else_behind_it) {
  connect_both();
  client_says(kPlum + kPing);
  EXPECT_EQ(redis_.read(), kPlum + kPing);
  proven();
  redis_says(kNone + "+PONG\r\n");
  EXPECT_EQ(client_.read(), kStar + "+PONG\r\n");
}

TEST_F(SessionStrictTest, something_else_that_comes_later_ends_the_wait) {
  connect_both();
  client_says(kPlum + kFig);
  client_says(kPlum);
  EXPECT_EQ(redis_.read(), "");
  client_says(kPing.substr(0, 6));
  EXPECT_EQ(redis_.read(), "") << "nobody knows yet what it is";
  client_says(kPing.substr(6));
  EXPECT_EQ(redis_.read(), kPlum + kFig + kPlum + kPing);
  redis_says(kNone + kNone + kNone + "+PONG\r\n");
  EXPECT_EQ(client_.read(), kNone + kNone + kNone + "+PONG\r\n");
}

TEST_F(SessionStrictTest, a_key_that_may_exist_behind_it_does_not_wait_either) {
  connect_both();
  client_says(kPlum);
  client_says(kPear);
  EXPECT_EQ(redis_.read(), kPlum + kPear);
}

TEST_F(SessionStrictTest, a_read_behind_one_that_redis_is_asked_for_goes_there_at_once) {
  connect_both();
  client_says(kPear);
  client_says(kPlum);
  EXPECT_EQ(redis_.read(), kPear + kPlum);
  EXPECT_TRUE(questions_.is_wanted());
  proven();
  redis_says("$1\r\np\r\n" + kNone);
  EXPECT_EQ(client_.read(), "$1\r\np\r\n" + kStar);
}

TEST_F(SessionStrictTest, what_comes_while_a_read_waits_needs_a_later_question) {
  connect_both();
  client_says(kPlum);
  const io::TimePoint between = loop_.now();
  client_says(kFig);
  proven(between);
  EXPECT_EQ(client_.read(), kStar) << "the first alone";
  proven();
  EXPECT_EQ(client_.read(), kStar);
  EXPECT_EQ(redis_.read(), "");
}

TEST_F(SessionStrictTest, one_that_never_stops_sending_is_answered_all_the_same) {
  connect_both();
  std::size_t answered = 0;
  client_says(kPlum);
  for (int i = 0; i < 50; ++i) {
    const io::TimePoint asked_at = loop_.now();
    client_says(kPlum);
    proven(asked_at);
    answered += client_.read().size() / kStar.size();
  }
  EXPECT_GE(answered, 49U);
  EXPECT_EQ(redis_.read(), "");
}

TEST_F(SessionStrictTest, a_client_that_sends_no_more_hears_its_answer) {
  connect_both();
  client_says(kPlum);
  client_.finish();
  pass(loop_, milliseconds(1));
  proven();
  pass(loop_, milliseconds(1));
  EXPECT_EQ(client_.read(), kStar);
}

TEST_F(SessionStrictTest, a_client_that_goes_away_while_it_waits_is_gone_at_once) {
  connect_both();
  client_says(kPlum);
  client_.reset();
  pass(loop_, milliseconds(2));
  EXPECT_EQ(sessions(), 0U);
  proven();
  pass(loop_, milliseconds(30));
}

TEST_F(SessionStrictTest, a_drain_ends_the_wait) {
  connect_both();
  client_says(kPlum);
  loop_.as_batch([this] { clients_.drain([] {}); });
  pass(loop_, milliseconds(3));
  EXPECT_EQ(redis_.read(), kPlum);
  redis_says(kNone);
  EXPECT_EQ(client_.read(), kNone);
}

TEST_F(SessionStrictTest, nobody_is_looked_at_any_more_when_nobody_waits) {
  connect_both();
  client_says(kPlum);
  proven();
  EXPECT_EQ(client_.read(), kStar);
  pass(loop_, milliseconds(5));
  EXPECT_FALSE(clients_.proofs().is_to_hear() && clients_.proofs().is_to_hear());
  const io::TimePoint before = loop_.now();
  loop_.run();
  EXPECT_EQ(loop_.now(), before) << "no timer is left";
}

// What a question knows of Redis is of the moment at which it was asked; what is looked at behind
// it must not take that away.
TEST_F(SessionStrictTest, what_is_known_of_redis_may_change_while_it_is_looked_behind_it) {
  connect_both();
  client_says(kPlum);
  shop_.facts.publish_users(shop_.facts.epoch(),
                            {.unrestricted = {"default"}, .default_needs_no_password = true});
  client_says(kFig + kPlum + kPing);
  EXPECT_EQ(redis_.read(), kPlum + kFig + kPlum + kPing);
}

TEST_F(SessionStrictTest, a_proof_of_something_else_does_not_have_it_judged_again) {
  connect_both();
  client_says(kPlum + kFig);
  const auto looked_up = [this] { return questions_.is_wanted(); };
  questions_.begin();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(i > 0 || clients_.proofs().is_to_hear());
    loop_.as_batch([this] { clients_.proofs().on_proven(); });
  }
  EXPECT_FALSE(looked_up()) << "who is judged unproven wants a question";
  proven();
  EXPECT_EQ(client_.read(), kStar + kStar);
}

TEST_F(SessionStrictTest, a_long_command_that_comes_byte_by_byte_behind_it_is_taken_all_the_same) {
  connect_both();
  client_says(kPlum);
  std::string many = "*201\r\n$4\r\nMGET\r\n";
  for (int i = 0; i < 200; ++i) {
    many += "$9\r\nitem:pear\r\n";
  }
  loop_.as_batch([] {});
  for (const char byte : many) {
    client_.send(std::string_view(&byte, 1));
    loop_.run(milliseconds(0));
  }
  pass(loop_, milliseconds(30));
  EXPECT_EQ(redis_.read(), kPlum + many);
}

TEST_F(SessionStrictTest, an_own_command_behind_it_comes_in_its_turn) {
  connect_both();
  client_says(kPlum + "GUARD.PING\r\n");
  redis_says(kNone);
  EXPECT_EQ(client_.read(), kNone + "+PONG\r\n");
}

// --- an absent key needs no way to Redis ---

class UpstreamHeldUp : public SharingClients {};

TEST_F(UpstreamHeldUp, an_absent_key_is_answered_while_the_login_probe_is_not) {
  login_probe_reply_.clear();
  const std::size_t client = connect();
  send(client, kAbsentGet);
  EXPECT_EQ(got(client), kNil);
  send(client, kExistingGet);
  EXPECT_EQ(got(client), "");
}

TEST_F(UpstreamHeldUp, an_absent_key_is_answered_while_no_connection_can_be_made) {
  redis_takes_connections_ = false;
  const std::size_t client = connect();
  send(client, kAbsentGet);
  EXPECT_EQ(got(client), kNil);
}

}  // namespace
}  // namespace cuckooguard::proxy
