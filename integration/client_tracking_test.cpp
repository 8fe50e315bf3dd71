// CLIENT TRACKING: Redis must have seen a read to say later that it is no longer true; its word
// comes as a push.

#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/side_by_side.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

class ClientTracking : public SideBySide {
 protected:
  ClientTracking() { client_.expect_answered(); }

  void begin(std::initializer_list<std::string_view> options = {}) {
    std::vector<std::string_view> arguments{"CLIENT", "TRACKING", "ON"};
    arguments.insert(arguments.end(), options);
    client_.same({"HELLO", "3"});
    client_.same(command(arguments), 1);
  }

  static std::string invalidation(std::string_view key) {
    return ">2\r\n" + bulk("invalidate") + "*1\r\n" + bulk(key);
  }

  Connection client_ = connect();
};

// ":17\r\n" -> "17"
std::string id_of(RawClient& client) {
  const std::string reply = client.call({"CLIENT", "ID"});
  return reply.substr(1, reply.size() - 3);
}

TEST_F(ClientTracking, a_key_that_was_absent_is_announced_when_it_is_written) {
  begin();
  client_.same(get_absent() + command({"MGET", absent_user(1), user(1)}) +
                   command({"EXISTS", absent_user(2)}),
               3);
  for (std::uint64_t n = 0; n < 3; ++n) {
    tell_both({"SET", absent_user(n), "written"});
    EXPECT_EQ(client_.same({}, 1), invalidation(absent_user(n)));
  }
  tell_both({"SET", user(1), "other"});
  EXPECT_EQ(client_.same({}, 1), invalidation(user(1)));
  tell_both({"SET", user(1), "again"});  // not read since: no push
  client_.same({"ECHO", "end"});
}

TEST_F(ClientTracking, by_prefixes_all_writes_are_announced) {
  begin({"BCAST", "PREFIX", "user:", "PREFIX", "tag:"});
  for (const std::string& key : {absent_user(), user(1), std::string("tag:new")}) {
    tell_both({"SET", key, "written"});
    EXPECT_EQ(client_.same({}, 1), invalidation(key));
  }
  tell_both({"SET", "plain", "unannounced"});
  client_.same({"GET", user(1)});
}

TEST_F(ClientTracking, optin_tracks_what_follows_caching_yes) {
  begin({"OPTIN"});
  client_.same(get_absent(), 1);
  tell_both({"SET", absent_user(), "unannounced"});
  client_.same({"ECHO", "end"});
  client_.same(command({"CLIENT", "CACHING", "YES"}) + command({"GET", absent_user(1)}) +
                   command({"GET", absent_user(2)}),
               3);
  tell_both({"SET", absent_user(2), "unannounced"});
  tell_both({"SET", absent_user(1), "announced"});
  EXPECT_EQ(client_.same({}, 1), invalidation(absent_user(1)));
}

TEST_F(ClientTracking, optout_tracks_all_but_what_follows_caching_no) {
  begin({"OPTOUT"});
  client_.same(command({"CLIENT", "CACHING", "NO"}) + command({"GET", absent_user(1)}) +
                   command({"GET", absent_user(2)}),
               3);
  tell_both({"SET", absent_user(1), "unannounced"});
  tell_both({"SET", absent_user(2), "announced"});
  EXPECT_EQ(client_.same({}, 1), invalidation(absent_user(2)));
}

TEST_F(ClientTracking, own_writes_are_announced_behind_their_replies_or_not_at_all) {
  begin();
  client_.same_through(
      command({"GET", user(1)}) + command({"SET", user(1), "mine"}) + command({"ECHO", "end"}),
      bulk("end"));
  client_.same({"CLIENT", "TRACKING", "OFF"});
  client_.same({"CLIENT", "TRACKING", "ON", "NOLOOP"});
  client_.same_through(
      command({"GET", user(1)}) + command({"SET", user(1), "mine"}) + command({"ECHO", "end"}),
      bulk("end"));
}

TEST_F(ClientTracking, pushes_do_not_come_within_a_transaction_s_reply) {
  begin();
  client_.same_through(command({"MULTI"}) + command({"GET", user(1)}) + get_absent() +
                           command({"SET", user(1), "mine"}) + command({"GET", user(1)}) +
                           command({"EXEC"}) + command({"ECHO", "end"}),
                       bulk("end"));
}

TEST_F(ClientTracking, an_emptied_db_is_announced_by_a_null) {
  begin();
  client_.same(get_absent(), 1);
  tell_both({"FLUSHALL"});
  EXPECT_EQ(client_.same({}, 1), ">2\r\n" + bulk("invalidate") + "_\r\n");
}

// RESP2 has no pushes: they go to another connection that has subscribed.
TEST_F(ClientTracking, redirected_pushes_go_to_the_connection_that_redis_knows_by_its_id) {
  same_both_ways([](Side& side) {
    RawClient target = side.connect();
    RawClient reader = side.connect();
    const std::string id = id_of(target);
    std::string seen = target.call({"SUBSCRIBE", "__redis__:invalidate"});
    seen += reader.call({"CLIENT", "TRACKING", "ON", "REDIRECT", id});
    seen += reader.exchange(get_absent() + command({"GET", user(1)}), 2);
    seen += reader.call({"CLIENT", "GETREDIR"}) == ":" + id + "\r\n" ? "redirected" : "not";
    seen += std::regex_replace(
        reader.call({"CLIENT", "TRACKINGINFO"}), std::regex(":" + id + "\r\n"), ":ID\r\n");
    for (const std::string& key : {absent_user(), user(1)}) {
      side.redis.call({"SET", key, "written"});
      seen += target.read_reply();
    }
    return seen;
  });
}

TEST_F(ClientTracking, a_target_that_goes_is_announced_as_broken) {
  same_both_ways([](Side& side) {
    RawClient target = side.connect();
    RawClient reader = side.connect();
    const std::string id = id_of(target);
    std::string seen = reader.call({"HELLO", "3"}).substr(0, 2);
    seen += reader.call({"CLIENT", "TRACKING", "ON", "REDIRECT", id});
    seen += reader.exchange(get_absent(), 1);
    target.close();
    EXPECT_TRUE(
        eventually([&] { return side.redis.call({"CLIENT", "LIST", "ID", id}).size() < 10; }));
    side.redis.call({"SET", absent_user(), "written"});
    const std::string broken = reader.read_reply();
    EXPECT_TRUE(broken.contains("tracking-redir-broken")) << shown(broken);
    return seen + std::regex_replace(broken, std::regex(":" + id + "\r\n"), ":ID\r\n");
  });
}

TEST_F(ClientTracking, mistakes_are_redis_own) {
  client_.same({"CLIENT", "TRACKING"});
  client_.same({"CLIENT", "TRACKING", "MAYBE"});
  client_.same({"CLIENT", "TRACKING", "ON", "PREFIX", "a"});
  client_.same({"CLIENT", "TRACKING", "ON", "REDIRECT", "999999"});
  client_.same({"CLIENT", "CACHING", "YES"});
}

TEST_F(ClientTracking, of_one_client_does_not_hold_up_another) {
  begin();
  connect().expect_answered();
  client_.same(get_absent(), 1);
}

TEST_F(ClientTracking, guarding_resumes_after_off) {
  begin();
  client_.same(get_absent(), 1);
  client_.same({"CLIENT", "TRACKING", "OFF"});
  client_.expect_answered();
  begin({"BCAST"});
  tell_both({"SET", "plain", "announced"});
  client_.same({}, 1);
  client_.same({"CLIENT", "TRACKING", "OFF"});
  client_.expect_answered();
}

TEST_F(ClientTracking, guarding_resumes_after_reset) {
  begin();
  client_.same(get_absent(), 1);
  client_.same({"RESET"});
  client_.expect_answered();
}

TEST_F(ClientTracking, guarding_resumes_after_a_mistake) {
  client_.same({"CLIENT", "TRACKING", "ON", "PREFIX", "a"});
  client_.expect_answered();
  client_.same({"CLIENT", "TRACKING", "OFF"});  // it was
  client_.expect_answered();
}

}  // namespace
}  // namespace cuckooguard::harness
