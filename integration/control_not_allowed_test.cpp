// A guard that Redis does not let in, or does not let ask, says so wherever somebody looks, with
// the remedy; and when it is over.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/admin_client.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

bool logs(const Shop& shop, const std::string& line) {
  return eventually([&] { return shop.guard().log().contains(line); });
}

TEST(ControlNotAllowed, without_a_login_is_told_wherever_somebody_looks) {
  Shop shop({.more = std::string(kAdmin),
             .redis_arguments = {"--requirepass", "word"},
             .password = "word"});
  ASSERT_TRUE(
      logs(shop,
           "error event=control_not_allowed why=\"NOAUTH Authentication required.\" hint=\"set "
           "upstream.control (username, password_file); until then all keys pass\""))
      << shop.guard().log();
  RawClient client = shop.client();
  ASSERT_EQ(client.call({"AUTH", "word"}), kOk);
  EXPECT_THAT(client.call({"GUARD.INFO"}),
              AllOf(HasSubstr("\r\nredis_role:unknown\r\ncontrol:not_allowed\r\n"),
                    HasSubstr("\r\ncontrol_why:NOAUTH Authentication required.\r\n"),
                    HasSubstr("\r\ncontrol_hint:set upstream.control (username")));
  EXPECT_EQ(client.call({"GUARD.EXPLAIN", absent_user()}),
            "-ERR rights unknown: Redis does not let the guard read user permissions (see "
            "upstream.control): NOAUTH Authentication required.; set upstream.control (username, "
            "password_file); until then all keys pass\r\n");
  EXPECT_THAT(client.call({"GUARD.INFO"}),
              HasSubstr("\r\n"
                        "advice:Redis denies the guard permissions that it needs (NOAUTH "
                        "Authentication required.): set upstream.control (username, "
                        "password_file); until then all keys pass; "));
  AdminClient admin(admin_port(shop.guard()));
  EXPECT_THAT(admin.get("/status").body,
              AllOf(HasSubstr("\"role\":null"),
                    HasSubstr("\"control\":{\"state\":\"not_allowed\",\"why\":\"NOAUTH ")));
  EXPECT_THAT(admin.get("/metrics").body,
              HasSubstr("\ncuckooguard_control_state{state=\"not_allowed\"} 1\n"));

  shop.redis().call({"CONFIG", "SET", "requirepass", ""});
  EXPECT_TRUE(logs(shop, "event=control_allowed")) << shop.guard().log();
  shop.wait_until_it_answers();
  EXPECT_THAT(client.call({"GUARD.INFO"}),
              HasSubstr("\r\nredis_role:master\r\ncontrol:allowed\r\ncontrol_why:\r\n"));
}

// A Redis that the guard cannot work with, whoever asks: it looks ready nowhere.
TEST(ControlNotAllowed,
     a_cluster_is_refused_in_one_sentence_wherever_somebody_looks_and_served_by_itself) {
  const std::string why =
      "this Redis is a cluster node (cluster_enabled:1), but upstream.address is for a Redis "
      "without cluster mode";
  const std::string hint =
      "set upstream.cluster and listen.nodes; until then the guard forwards every command and "
      "answers nothing itself";
  const std::string sentence = why + ": " + hint;
  for (const char* const acl : {"ask", "trust"}) {
    Shop shop(
        {.acl = acl, .more = std::string(kAdmin), .redis_arguments = {"--cluster-enabled", "yes"}});
    ASSERT_TRUE(logs(shop, "error event=upstream_refused why=\"" + why + "\" hint="))
        << shop.guard().log();
    EXPECT_THAT(shop.guard().log(), HasSubstr(hint));
    RawClient client = shop.client();
    EXPECT_THAT(client.call({"GET", absent_user()}), StartsWith("-CLUSTERDOWN"));
    EXPECT_EQ(client.call({"GUARD.EXPLAIN", absent_user()}),
              "-ERR rights unknown: " + sentence + "\r\n");
    EXPECT_THAT(client.call({"GUARD.INFO"}),
                AllOf(HasSubstr("\r\ncontrol:unsupported\r\ncontrol_why:" + why + "\r\n"),
                      HasSubstr("\r\ncontrol_hint:" + hint + "\r\n"),
                      HasSubstr("\r\nadvice:" + sentence + "; ")));
    const AdminClient admin(admin_port(shop.guard()));
    EXPECT_THAT(admin.get("/status").body,
                AllOf(HasSubstr("\"state\":\"unsupported\""),
                      HasSubstr("\"why_keys_pass\":\"" + sentence + "\""),
                      HasSubstr("\"advice\":\"" + sentence + "; ")));
    EXPECT_THAT(admin.get("/metrics").body,
                HasSubstr("\ncuckooguard_control_state{state=\"unsupported\"} 1\n"));
  }
}

TEST(ControlNotAllowed, for_want_of_a_right_is_no_refusal_of_what_redis_allows) {
  Shop shop({.control = "username: ops, password: word",
             .redis_arguments = {
                 "--user", "ops", "on", ">word", "+acl|getuser", "+command", "+info", "+dbsize"}});
  EXPECT_TRUE(
      logs(shop,
           "warning event=control_not_allowed why=\"NOPERM this user has no permissions to "
           "run the 'config|get' command\" hint=\"ACL SETUSER ops +config|get; until then "));
  shop.wait_until_it_answers();
  shop.redis().call({"ACL", "SETUSER", "bob", "on", ">word", "+get", "~*"});
  RawClient bob = shop.client();
  ASSERT_EQ(bob.call({"AUTH", "bob", "word"}), kOk);
  EXPECT_EQ(bob.call({"GET", absent_user()}), kNil) << "Redis's own";
  EXPECT_TRUE(eventually(
      [&] { return bob.call({"GUARD.EXPLAIN", absent_user()}).contains("'acl|dryrun'"); }));
  EXPECT_THAT(
      bob.call({"GUARD.EXPLAIN", absent_user()}),
      AllOf(StartsWith("-ERR rights unknown: Redis does not let the guard read user permissions"),
            HasSubstr("; ACL SETUSER ops +acl|dryrun +config|get; until then all keys pass for "
                      "users who may not run all commands")));
  shop.redis().call({"ACL", "SETUSER", "ops", "+acl|dryrun"});
  EXPECT_TRUE(eventually([&] { return bob.call({"GET", absent_user()}) == absent_reply(); }));
  shop.redis().kill();
  shop.redis().start_again_as({}, "");
  EXPECT_TRUE(logs(shop, "error event=control_not_allowed why=\"WRONGPASS invalid "))
      << shop.guard().log();
}

}  // namespace
}  // namespace cuckooguard::harness
