// A user whom Redis would refuse gets Redis's refusal, never the guard's "absent"; a user whom
// Redis would serve is answered, whatever else it may not do.
//
// The guard's answer, __ABSENT__, is one that Redis never gives: it tells who has answered.

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/redis_command.h"
#include "harness/shop.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

class AccessControl : public testing::Test {
 protected:
  AccessControl() { shop_.wait_until_it_answers(); }

  // On a connection of its own, as `name`.
  RawClient client_of(std::string_view name) {
    RawClient client = shop_.client();
    EXPECT_EQ(client.call({"AUTH", name, "word"}), kOk);
    return client;
  }
  RawClient client_with(std::initializer_list<std::string_view> rules) {
    set_user(rules);
    return client_of("bob");
  }
  void set_user(std::initializer_list<std::string_view> rules) {
    std::vector<std::string_view> words{"ACL", "SETUSER", "bob", "reset", "on", ">word"};
    words.insert(words.end(), rules);
    EXPECT_EQ(shop_.client().exchange(command(words), 1), kOk);
  }
  static bool becomes(RawClient& client, std::string_view request, std::string_view reply) {
    return eventually([&] { return client.exchange(request, 1) == reply; });
  }
  static bool becomes_answered(RawClient& client) {
    return becomes(client, get_absent(), absent_reply());
  }
  Shop shop_;
};

TEST_F(AccessControl, a_user_with_the_key_prefix_is_answered_for_it_alone) {
  RawClient client = client_with({"+@all", "~user:*"});
  ASSERT_TRUE(becomes_answered(client));
  EXPECT_TRUE(client.call({"GET", "tag:none"}).starts_with("-NOPERM"));
  EXPECT_TRUE(client.call({"MGET", absent_user(), "tag:none"}).starts_with("-NOPERM"));
}

TEST_F(AccessControl, a_user_with_some_commands_is_answered_for_those_alone) {
  RawClient client = client_with({"+get", "+exists", "~*"});
  ASSERT_TRUE(becomes_answered(client));
  EXPECT_EQ(client.call({"EXISTS", absent_user()}), ":0\r\n");
  EXPECT_TRUE(client.call({"MGET", absent_user()}).starts_with("-NOPERM"));
}

TEST_F(AccessControl, leave_to_read_is_enough_and_leave_to_write_is_not) {
  RawClient reader = client_with({"+@all", "%R~user:*"});
  EXPECT_TRUE(becomes_answered(reader));
  set_user({"+@all", "%W~user:*", "%R~tag:*"});
  RawClient writer = client_of("bob");
  ASSERT_TRUE(becomes(writer, command({"GET", "tag:none"}), absent_reply()));
  EXPECT_TRUE(writer.exchange(get_absent(), 1).starts_with("-NOPERM"));
}

TEST_F(AccessControl, what_a_selector_adds_is_left_to_redis) {
  RawClient client = client_with({"+@all", "~tag:*", "(+get ~user:*)"});
  ASSERT_TRUE(becomes(client, command({"GET", "tag:none"}), absent_reply()));
  EXPECT_EQ(client.exchange(get_absent(), 1), kNil) << "Redis's own";
  EXPECT_TRUE(client.call({"EXISTS", absent_user()}).starts_with("-NOPERM"));
}

TEST_F(AccessControl, a_pattern_that_is_no_plain_prefix_is_left_to_redis) {
  RawClient client = client_with({"+@all", "~us[e]r:*", "~tag:*"});
  ASSERT_TRUE(becomes(client, command({"GET", "tag:none"}), absent_reply()));
  EXPECT_EQ(client.exchange(get_absent(), 1), kNil);
}

TEST_F(AccessControl, a_change_through_the_guard_counts_from_the_next_command_on) {
  RawClient admin = shop_.client();
  RawClient bob = client_with({"+@all", "~*"});
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(becomes_answered(bob)) << round;
    // As soon as Redis has said yes to the change, the user's reads are Redis's.
    ASSERT_EQ(admin.call({"ACL", "SETUSER", "bob", "-get"}), kOk);
    ASSERT_TRUE(bob.exchange(get_absent(), 1).starts_with("-NOPERM")) << round;
    ASSERT_EQ(admin.call({"ACL", "SETUSER", "bob", "+@all"}), kOk);
  }
  ASSERT_TRUE(becomes_answered(admin)) << "the others are answered again";
}

TEST_F(AccessControl, a_change_inside_multi_counts_from_exec_on) {
  RawClient bob = client_with({"+@all", "~*"});
  ASSERT_TRUE(becomes_answered(bob));
  RawClient admin = shop_.client();
  admin.exchange(command({"MULTI"}) + command({"ACL", "SETUSER", "bob", "-get"}), 2);
  ASSERT_TRUE(becomes_answered(bob)) << "nothing has changed yet";
  admin.call({"EXEC"});
  EXPECT_TRUE(bob.exchange(get_absent(), 1).starts_with("-NOPERM"));
}

TEST_F(AccessControl, a_change_by_another_way_is_found_by_itself) {
  RawClient bob = client_with({"+@all", "~*"});
  ASSERT_TRUE(becomes_answered(bob));
  shop_.redis().call({"ACL", "SETUSER", "bob", "-get"});
  EXPECT_TRUE(eventually([&] { return bob.exchange(get_absent(), 1).starts_with("-NOPERM"); }));
}

TEST_F(AccessControl, a_deleted_user_is_closed_by_redis) {
  RawClient bob = client_with({"+@all", "~*"});
  ASSERT_TRUE(becomes_answered(bob));
  EXPECT_EQ(shop_.guard().call({"ACL", "DELUSER", "bob"}), ":1\r\n");
  EXPECT_EQ(bob.read_until_closed(), "");
}

TEST_F(AccessControl, a_password_set_while_connected_counts_for_new_clients_at_once) {
  RawClient admin = shop_.client();
  EXPECT_EQ(admin.call({"CONFIG", "SET", "requirepass", "word"}), kOk);
  EXPECT_TRUE(shop_.client().exchange(get_absent(), 1).starts_with("-NOAUTH"));
  if (upstream_mode() == "pinned") {
    EXPECT_EQ(admin.exchange(get_absent(), 1), kNil) << "Redis still serves it: forwarded";
  }
  EXPECT_EQ(admin.call({"CONFIG", "SET", "requirepass", ""}), kOk);
  EXPECT_TRUE(becomes_answered(admin));
}

TEST_F(AccessControl, questions_about_acl_do_not_stop_the_guard) {
  RawClient client = shop_.client();
  for (int i = 0; i < 20; ++i) {
    client.exchange(command({"ACL", "WHOAMI"}) + command({"CONFIG", "GET", "maxmemory"}) +
                        command({"ACL", "LIST"}),
                    3);
    ASSERT_EQ(client.exchange(get_absent(), 1), absent_reply());
  }
}

TEST_F(AccessControl, an_acl_load_that_redis_refuses_changes_nothing) {
  EXPECT_TRUE(shop_.guard().call({"ACL", "LOAD"}).starts_with("-ERR")) << "there is no ACL file";
  EXPECT_EQ(shop_.client().exchange(get_absent(), 1), absent_reply());
}

TEST(AccessControlSettings, acl_load_replaces_all_users) {
  const TemporaryDirectory folder;
  const std::string path = folder / "users.acl";
  const std::string others = "user default on nopass ~* &* +@all\n";
  std::ofstream(path) << others << "user bob on >word ~* &* +@all\n";
  Shop shop({.redis_arguments = {"--aclfile", path}});
  shop.wait_until_it_answers();
  RawClient bob = shop.client();
  EXPECT_EQ(bob.call({"AUTH", "bob", "word"}), kOk);
  EXPECT_TRUE(eventually([&] { return bob.exchange(get_absent(), 1) == absent_reply(); }));

  std::ofstream(path) << others << "user bob on >word ~* &* +@all -get\n";
  EXPECT_EQ(shop.guard().call({"ACL", "LOAD"}), kOk);
  RawClient again = shop.client();  // Redis closes clients of users that it replaces
  EXPECT_EQ(again.call({"AUTH", "bob", "word"}), kOk);
  EXPECT_TRUE(again.exchange(get_absent(), 1).starts_with("-NOPERM"));
}

TEST(AccessControlSettings, a_renamed_command_is_not_answered) {
  Shop shop({.redis_arguments = {"--rename-command", "MGET", "FETCH"}});
  shop.wait_until_it_answers();
  const std::string error = shop.guard().call({"MGET", absent_user()});
  EXPECT_TRUE(error.starts_with("-ERR unknown command")) << error;
  EXPECT_EQ(shop.guard().call({"FETCH", absent_user()}), "*1\r\n$-1\r\n");
}

TEST(AccessControlSettings, trust_answers_whom_redis_has_accepted_and_nobody_before) {
  Shop shop({.acl = "trust", .redis_arguments = {"--requirepass", "word"}, .password = "word"});
  shop.redis().call({"ACL", "SETUSER", "bob", "on", ">word", "+get", "~nothing"});
  RawClient bob = shop.client();
  EXPECT_EQ(bob.call({"AUTH", "bob", "word"}), kOk);
  EXPECT_TRUE(eventually([&] { return bob.exchange(get_absent(), 1) == absent_reply(); }));
  RawClient nobody = shop.client();
  EXPECT_TRUE(nobody.exchange(get_absent(), 1).starts_with("-NOAUTH"));
}

TEST(AccessControlSettings, without_rights_for_the_control_user_nobody_is_answered) {
  Shop shop({.control = "username: ops, password: word",
             .redis_arguments = {"--user", "ops", "on", ">word", "+ping"}});
  ASSERT_TRUE(eventually([&] { return shop.guard().log().contains("event=upstream_up"); }));
  ASSERT_TRUE(
      eventually([&] { return !shop.redis().info("errorstats", "errorstat_NOPERM").empty(); }));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(shop.guard().call({"GET", absent_user()}), kNil);
  }
}

}  // namespace
}  // namespace cuckooguard::harness
