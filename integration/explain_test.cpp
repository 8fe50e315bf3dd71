// `cuckooguard explain KEY`, by a configuration and by a guard that runs.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;

TEST(ExplainCommand, reads_templates_without_a_guard) {
  const TemporaryDirectory directory;
  const Shop shop;
  const std::string file = (directory / "shop.yaml").string();
  write_whole_file(file, shop.yaml());
  const Ended known = run_guard({"explain", "user:42", "--config", file});
  EXPECT_EQ(known.exit_code, 0) << known.standard_error;
  EXPECT_THAT(known.standard_output,
              HasSubstr("namespace: users\ntemplate: user:{id:uint64}\nid: \"42\"\n"));
  const Ended other = run_guard({"explain", "usr:42", "--config", file});
  EXPECT_EQ(other.exit_code, 0) << other.standard_error;
  EXPECT_THAT(other.standard_output, HasSubstr("nearest: user:{id:uint64} of namespace users\n"));
}

TEST(ExplainCommand, asks_a_guard_that_runs) {
  Shop shop(
      {.acl = "trust", .redis_arguments = {"--requirepass", "hunter2"}, .password = "hunter2"});
  RawClient client = shop.client();
  ASSERT_EQ(client.call({"AUTH", "hunter2"}), "+OK\r\n");
  ASSERT_TRUE(eventually([&] { return shop.answers_absent(client); })) << shop.guard().log();
  const std::string address = "127.0.0.1:" + std::to_string(shop.guard().port());
  const Ended refused = run_guard({"explain", absent_user(), "--address", address});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.standard_error, HasSubstr("NOAUTH"));
  ::setenv("REDISCLI_AUTH", "hunter2", 1);  // NOLINT(concurrency-mt-unsafe)
  const Ended told = run_guard({"explain", absent_user(), "--address", address});
  EXPECT_EQ(told.exit_code, 0) << told.standard_error;
  EXPECT_THAT(told.standard_output, HasSubstr("\nverdict: absent\nwhy: no row has this key\n"));
}

// Nothing is known of the user before its first command, which is this one.
TEST(ExplainCommand, asks_as_a_user_and_waits_until_its_rights_are_known) {
  const TemporaryDirectory directory;
  Shop shop({.redis_arguments = {
                 "--user", "bob", "on", ">secret", "~user:*", "+get", "+auth", "+hello"}});
  shop.wait_until_it_answers();
  const std::string file = (directory / "password").string();
  write_whole_file(file, "secret\n");
  const std::string address = "127.0.0.1:" + std::to_string(shop.guard().port());
  const auto explained = [&](const std::string& key) {
    return run_guard(
        {"explain", key, "--address", address, "--user", "bob", "--password-file", file});
  };
  const Ended told = explained(shop.find_absent_users(1).front());
  EXPECT_EQ(told.exit_code, 0) << told.standard_error;
  EXPECT_THAT(told.standard_output, HasSubstr("\nverdict: absent\nwhy: no row has this key\n"));
  EXPECT_THAT(explained("users:1").standard_output,
              HasSubstr("nearest: user:{id:uint64} of namespace users: at byte 4, before \"s:1\""));
  EXPECT_THAT(explained("tag:x").standard_error, HasSubstr("NOPERM"));
}

TEST(ExplainCommand, says_that_nobody_is_there) {
  const Ended ended = run_guard({"explain", "user:1", "--address", "unix:/nonexistent.sock"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.standard_error, HasSubstr("unix:/nonexistent.sock: cannot connect"));
}

}  // namespace
}  // namespace cuckooguard::harness
