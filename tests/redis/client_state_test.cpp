#include "redis/client_state.h"

#include <gtest/gtest.h>

#include "redis/facts.h"

namespace cuckooguard::redis {
namespace {

using resp::Version;

void run(ClientState& client, const StateChange& change, char reply_type) {
  client.sent(change);
  client.replied(change, reply_type);
}

StateChange select(int db) {
  return {.kind = ChangeKind::select, .db = db};
}
StateChange auth(std::string user) {
  return {.kind = ChangeKind::auth, .authenticates = true, .user = std::move(user)};
}
StateChange hello3() {
  return {.kind = ChangeKind::hello, .version = Version::resp3};
}
StateChange hello3(std::string user) {
  return {.kind = ChangeKind::hello,
          .version = Version::resp3,
          .authenticates = true,
          .user = std::move(user)};
}
StateChange plain(ChangeKind kind) {
  return {.kind = kind};
}

PubSubFrame confirmed(ChannelKind channels, std::uint32_t count) {
  return {PubSubFrame::Kind::confirmation, channels, count};
}

class ClientStateTest : public testing::Test {
 protected:
  ClientStateTest() {
    facts_.publish_users(facts_.epoch(),
                         {.unrestricted = {"default", "alice"}, .default_needs_no_password = true});
  }
  bool is_unrestricted() {
    const UserAccess* const access = client_.access(*facts_.snapshot(), facts_);
    return access != nullptr && access->is_unrestricted;
  }

  Facts facts_;
  ClientState client_;
};

TEST_F(ClientStateTest, what_was_told_is_remembered_if_it_is_asked_to) {
  ClientState forgetful;
  ClientState state;
  state.remember_what_was_told();
  for (ClientState* each : {&forgetful, &state}) {
    const StateChange hello{.kind = ChangeKind::hello,
                            .version = resp::Version::resp3,
                            .authenticates = true,
                            .user = "shop",
                            .secret = "word",
                            .label = Label::name,
                            .label_text = "web"};
    each->sent(hello);
    EXPECT_FALSE(each->is_transferable());
    each->replied(hello, '%');
    EXPECT_TRUE(each->is_transferable());
  }
  EXPECT_EQ(state.told(),
            (resp::ConnectionState{.version = resp::Version::resp3,
                                   .login = resp::Login{.user = "shop", .secret = "word"},
                                   .labels = {.name = "web"}}));
  EXPECT_EQ(forgetful.told(), (resp::ConnectionState{.version = resp::Version::resp3}));
  const StateChange reset{.kind = ChangeKind::reset};
  state.sent(reset);
  state.replied(reset, '+');
  EXPECT_EQ(state.told(), resp::ConnectionState{});
}

TEST_F(ClientStateTest, in_the_middle_of_something_it_cannot_go_elsewhere) {
  for (const ChangeKind kind :
       {ChangeKind::multi, ChangeKind::watch, ChangeKind::tracking_on, ChangeKind::unknown}) {
    ClientState state;
    state.sent({.kind = kind});
    state.replied({.kind = kind}, '+');
    EXPECT_FALSE(state.is_transferable()) << static_cast<int>(kind);
  }
  ClientState subscribed;
  subscribed.confirmed({.kind = PubSubFrame::Kind::confirmation, .count = 1});
  EXPECT_FALSE(subscribed.is_transferable());
  subscribed.confirmed({.kind = PubSubFrame::Kind::confirmation, .count = 0});
  EXPECT_TRUE(subscribed.is_transferable());
  ClientState half_refused;
  const StateChange hello{.kind = ChangeKind::hello, .authenticates = true, .user = "shop"};
  half_refused.sent(hello);
  half_refused.replied(hello, '-');
  EXPECT_FALSE(half_refused.is_transferable()) << "who it is now nobody knows";
}

TEST_F(ClientStateTest, who_reads_replicas_does_so_on_any_connection_until_it_says_otherwise) {
  run(client_, plain(ChangeKind::readonly), '-');
  EXPECT_FALSE(client_.reads_replica()) << "this Redis is in no cluster";
  run(client_, plain(ChangeKind::readonly), '+');
  EXPECT_TRUE(client_.reads_replica());
  EXPECT_TRUE(client_.is_settled() && client_.is_transferable());
  EXPECT_TRUE(client_.told().reads_replica);
  run(client_, plain(ChangeKind::readwrite), '+');
  EXPECT_FALSE(client_.reads_replica());
  run(client_, plain(ChangeKind::readonly), '+');
  run(client_, plain(ChangeKind::reset), '+');
  EXPECT_FALSE(client_.told().reads_replica);
}

TEST_F(ClientStateTest, asking_holds_for_the_next_command_which_goes_the_same_way) {
  EXPECT_TRUE(client_.next_has_reply());
  run(client_, plain(ChangeKind::asking), '+');
  EXPECT_FALSE(client_.is_settled());
  EXPECT_FALSE(client_.is_transferable());
  EXPECT_TRUE(client_.can_be_answered()) << "GUARD.* is nothing that Redis hears of";
  EXPECT_TRUE(client_.next_has_reply());
  EXPECT_TRUE(client_.is_settled() && client_.is_transferable());
}

TEST_F(ClientStateTest, asking_whose_command_has_been_sent_behind_it_holds_for_no_other) {
  client_.sent(plain(ChangeKind::asking));
  EXPECT_FALSE(client_.is_settled());
  EXPECT_TRUE(client_.next_has_reply());
  client_.replied(plain(ChangeKind::asking), '+');
  EXPECT_TRUE(client_.is_settled());
}

TEST_F(ClientStateTest, begins_as_redis_begins) {
  EXPECT_TRUE(client_.is_settled());
  EXPECT_FALSE(client_.has_unread_replies());
  EXPECT_EQ(client_.db(), 0);
  EXPECT_EQ(client_.version(), Version::resp2);
  EXPECT_TRUE(is_unrestricted());
}

TEST_F(ClientStateTest, is_not_settled_until_every_change_has_its_reply) {
  client_.sent(select(1));
  client_.sent(hello3());
  EXPECT_FALSE(client_.is_settled());
  client_.replied(select(1), '+');
  EXPECT_FALSE(client_.is_settled());
  client_.replied(hello3(), '%');
  EXPECT_TRUE(client_.is_settled());
  EXPECT_EQ(client_.db(), 1);
  EXPECT_EQ(client_.version(), Version::resp3);
}

TEST_F(ClientStateTest, a_refused_change_changes_nothing) {
  for (const char refused : {'-', '!'}) {
    run(client_, select(1), refused);
    run(client_, auth("bob"), refused);
    run(client_, hello3(), refused);
    run(client_, plain(ChangeKind::multi), refused);
    run(client_, plain(ChangeKind::watch), refused);
    run(client_, plain(ChangeKind::unknown), refused);
    EXPECT_TRUE(client_.is_settled());
    EXPECT_EQ(client_.db(), 0);
    EXPECT_EQ(client_.version(), Version::resp2);
    EXPECT_TRUE(is_unrestricted());
  }
}

// Redis 7.0.15: HELLO 3 AUTH bob pw SETNAME "a b" gives an error, and ACL WHOAMI then says bob.
TEST_F(ClientStateTest, after_a_refused_hello_with_a_user_nobody_knows_who_it_is) {
  EXPECT_TRUE(is_unrestricted());
  run(client_, hello3("bob"), '-');
  EXPECT_FALSE(is_unrestricted());
  EXPECT_EQ(client_.version(), Version::resp2);
  run(client_, auth("alice"), '-');
  EXPECT_FALSE(is_unrestricted());
  run(client_, auth("alice"), '+');
  EXPECT_TRUE(is_unrestricted());
}

TEST_F(ClientStateTest, the_user_is_whom_redis_accepted_last) {
  run(client_, auth("bob"), '+');
  EXPECT_FALSE(is_unrestricted());
  run(client_, hello3("alice"), '%');
  EXPECT_TRUE(is_unrestricted());
  run(client_, hello3(), '%');
  EXPECT_TRUE(is_unrestricted());
}

TEST_F(ClientStateTest, new_permissions_count_at_once) {
  run(client_, auth("alice"), '+');
  EXPECT_TRUE(is_unrestricted());
  facts_.publish_users(facts_.epoch(), {.unrestricted = {"default"}});
  EXPECT_FALSE(is_unrestricted());
  facts_.publish_users(facts_.epoch(), {.unrestricted = {"alice"}});
  EXPECT_TRUE(is_unrestricted());
}

TEST_F(ClientStateTest, the_initial_user_counts_only_while_it_needs_no_password) {
  facts_.publish_users(facts_.epoch(),
                       {.unrestricted = {"default"}, .default_needs_no_password = false});
  EXPECT_FALSE(is_unrestricted());
  run(client_, auth("default"), '+');
  EXPECT_TRUE(is_unrestricted());
  run(client_, plain(ChangeKind::reset), '+');
  EXPECT_FALSE(is_unrestricted());
}

TEST_F(ClientStateTest, multi_lasts_until_exec_or_discard_is_accepted) {
  for (const char end_reply : {'*', '_', '+', '$'}) {
    client_.sent(plain(ChangeKind::multi));
    EXPECT_TRUE(client_.may_be_in_multi());
    client_.replied(plain(ChangeKind::multi), '+');
    EXPECT_TRUE(client_.may_be_in_multi());
    EXPECT_FALSE(client_.is_settled());
    client_.sent(plain(ChangeKind::end_multi));
    EXPECT_TRUE(client_.may_be_in_multi());
    client_.replied(plain(ChangeKind::end_multi), end_reply);
    EXPECT_FALSE(client_.may_be_in_multi());
    EXPECT_TRUE(client_.is_settled());
  }
}

TEST_F(ClientStateTest, a_refused_end_is_no_proof_that_multi_has_ended) {
  run(client_, plain(ChangeKind::multi), '+');
  run(client_, plain(ChangeKind::end_multi), '-');
  EXPECT_FALSE(client_.is_settled());
  EXPECT_TRUE(client_.may_be_in_multi());
  run(client_, plain(ChangeKind::multi), '+');
  run(client_, plain(ChangeKind::end_multi), '*');
  EXPECT_TRUE(client_.is_settled());
}

TEST_F(ClientStateTest, a_whole_transaction_in_one_pipeline_is_settled_with_its_last_reply) {
  client_.sent(plain(ChangeKind::multi));
  client_.sent(plain(ChangeKind::end_multi));
  client_.replied(plain(ChangeKind::multi), '+');
  EXPECT_FALSE(client_.is_settled());
  client_.replied(plain(ChangeKind::end_multi), '*');
  EXPECT_TRUE(client_.is_settled());
}

TEST_F(ClientStateTest, watch_lasts_until_unwatch_or_the_end_of_multi) {
  run(client_, plain(ChangeKind::watch), '+');
  EXPECT_FALSE(client_.is_settled());
  run(client_, plain(ChangeKind::unwatch), '-');
  EXPECT_FALSE(client_.is_settled());
  run(client_, plain(ChangeKind::unwatch), '+');
  EXPECT_TRUE(client_.is_settled());

  run(client_, plain(ChangeKind::watch), '+');
  run(client_, plain(ChangeKind::multi), '+');
  run(client_, plain(ChangeKind::end_multi), '*');
  EXPECT_TRUE(client_.is_settled());
}

TEST_F(ClientStateTest, a_change_accepted_inside_multi_leaves_nothing_certain_until_reset) {
  run(client_, plain(ChangeKind::unknown), '+');
  EXPECT_FALSE(client_.is_settled());
  run(client_, select(0), '+');
  run(client_, plain(ChangeKind::end_multi), '*');
  EXPECT_FALSE(client_.is_settled());
  run(client_, plain(ChangeKind::reset), '+');
  EXPECT_TRUE(client_.is_settled());
}

TEST_F(ClientStateTest, an_unclear_change_leaves_nothing_certain_even_if_refused) {
  run(client_, plain(ChangeKind::unclear), '-');
  EXPECT_FALSE(client_.is_settled());
}

TEST_F(ClientStateTest, reset_goes_back_to_how_the_connection_began) {
  run(client_, select(3), '+');
  run(client_, hello3("bob"), '%');
  run(client_, plain(ChangeKind::watch), '+');
  run(client_, plain(ChangeKind::multi), '+');
  run(client_, plain(ChangeKind::reset), '-');
  EXPECT_FALSE(client_.is_settled());
  EXPECT_EQ(client_.db(), 3);
  run(client_, plain(ChangeKind::reset), '+');
  EXPECT_TRUE(client_.is_settled());
  EXPECT_FALSE(client_.may_be_in_multi());
  EXPECT_EQ(client_.db(), 0);
  EXPECT_EQ(client_.version(), Version::resp2);
  EXPECT_TRUE(is_unrestricted());
}

// Valkey 9.1.2: CLIENT LIST shows `capa=r` also after RESET.
TEST_F(ClientStateTest, reset_does_not_undo_what_it_is_not_known_to) {
  run(client_, plain(ChangeKind::lasting), '-');
  EXPECT_TRUE(client_.is_settled()) << "it was refused";
  run(client_, plain(ChangeKind::lasting), '+');
  EXPECT_FALSE(client_.is_settled());
  run(client_, plain(ChangeKind::reset), '+');
  EXPECT_FALSE(client_.is_settled());
  EXPECT_TRUE(client_.can_be_answered()) << "it may ask the guard why";
  EXPECT_NE(client_.why_unsettled(), "");
}

// Valkey's: what a replica says to its reads is no longer what it says to others.
TEST_F(ClientStateTest, a_client_that_wants_to_be_redirected_is_settled_and_known_for_it) {
  run(client_, plain(ChangeKind::redirects), '-');
  EXPECT_FALSE(client_.is_redirected());
  run(client_, plain(ChangeKind::redirects), '+');
  EXPECT_TRUE(client_.is_settled());
  EXPECT_EQ(client_.why_unsettled(), "");
  run(client_, plain(ChangeKind::reset), '+');
  EXPECT_TRUE(client_.is_redirected());
  run(client_, plain(ChangeKind::readonly), '+');
  EXPECT_FALSE(client_.is_redirected()) << "it reads there knowingly";
}

TEST_F(ClientStateTest, reset_does_not_undo_what_was_sent_behind_it) {
  client_.sent(plain(ChangeKind::reset));
  client_.sent(plain(ChangeKind::multi));
  client_.replied(plain(ChangeKind::reset), '+');
  EXPECT_FALSE(client_.is_settled());
  EXPECT_TRUE(client_.may_be_in_multi());
  client_.replied(plain(ChangeKind::multi), '+');
  EXPECT_TRUE(client_.may_be_in_multi());
}

TEST_F(ClientStateTest, a_subscribed_resp2_client_is_not_settled_until_all_has_ended) {
  client_.confirmed(confirmed(ChannelKind::plain, 1));
  client_.confirmed(confirmed(ChannelKind::pattern, 2));
  client_.confirmed(confirmed(ChannelKind::plain, 1));  // the pattern is left
  EXPECT_FALSE(client_.is_settled());
  client_.confirmed(confirmed(ChannelKind::shard, 1));
  client_.confirmed(confirmed(ChannelKind::pattern, 0));
  EXPECT_FALSE(client_.is_settled());
  client_.confirmed(confirmed(ChannelKind::shard, 0));
  EXPECT_TRUE(client_.is_settled());
}

TEST_F(ClientStateTest, is_one_of_its_users_clients_until_it_is_another_or_has_ended) {
  const auto asks_for_alice = [this] {
    facts_.epoch();
    facts_.epoch();
    return facts_.asks_for("alice");
  };
  const auto leaves_by = [&](const StateChange& change, char reply) {
    run(client_, auth("alice"), '+');
    EXPECT_TRUE(is_unrestricted());
    facts_.withdraw_users();
    EXPECT_FALSE(is_unrestricted()) << "asked for once more, and still one client";
    EXPECT_TRUE(asks_for_alice());
    run(client_, change, reply);
    EXPECT_FALSE(asks_for_alice());
    facts_.publish_users(facts_.epoch(), {.unrestricted = {"alice"}});
  };
  leaves_by(auth("bob"), '+');
  leaves_by(hello3("bob"), '-');
  leaves_by(plain(ChangeKind::reset), '+');
  run(client_, auth("alice"), '+');
  EXPECT_TRUE(is_unrestricted());
  client_.ended();
  client_.ended();
  EXPECT_FALSE(asks_for_alice());
}

TEST_F(ClientStateTest, in_resp3_a_subscribed_client_is_as_settled_as_any) {
  run(client_, hello3(), '%');
  client_.confirmed(confirmed(ChannelKind::plain, 1));
  EXPECT_TRUE(client_.is_settled());
  run(client_, {.kind = ChangeKind::hello, .version = Version::resp2}, '*');
  EXPECT_FALSE(client_.is_settled());
  run(client_, plain(ChangeKind::reset), '+');
  EXPECT_TRUE(client_.is_settled());
  EXPECT_FALSE(client_.subscriptions().any());
}

TEST_F(ClientStateTest, skip_skips_one_reply_and_off_all_until_on) {
  client_.set_reply_mode(ReplyMode::skip);
  EXPECT_FALSE(client_.next_has_reply());  // SKIP itself
  EXPECT_FALSE(client_.is_settled());
  EXPECT_FALSE(client_.next_has_reply());
  EXPECT_TRUE(client_.is_settled());
  EXPECT_TRUE(client_.next_has_reply());
  client_.set_reply_mode(ReplyMode::off);
  client_.set_reply_mode(ReplyMode::skip);
  for (int command = 0; command < 3; ++command) {
    EXPECT_FALSE(client_.next_has_reply());
  }
  EXPECT_FALSE(client_.is_settled());
  client_.set_reply_mode(ReplyMode::on);
  EXPECT_TRUE(client_.next_has_reply());
  EXPECT_TRUE(client_.is_settled());
}

TEST_F(ClientStateTest, unread_replies_are_for_good) {
  client_.stop_reading_replies();
  run(client_, plain(ChangeKind::reset), '+');
  EXPECT_TRUE(client_.has_unread_replies());
}

}  // namespace
}  // namespace cuckooguard::redis
