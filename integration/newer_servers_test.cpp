// What newer servers than Redis 7.0 let a client be, and the guard must know of. Where the server
// that is installed lacks it, its test is skipped.

#include <string>

#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

class NewerServers : public testing::Test {
 protected:
  NewerServers() { shop_.wait_until_it_answers(); }

  RawClient client_of(std::string_view user) {
    RawClient client = shop_.client();
    EXPECT_EQ(client.call({"AUTH", user, "word"}), kOk);
    return client;
  }

  Shop shop_;
};

TEST_F(NewerServers, a_user_who_is_kept_out_of_the_database_gets_the_servers_refusal) {
  RawClient redis = shop_.redis().client();
  const auto set_user = [&redis](std::string_view name, std::string_view databases) {
    return redis.call({"ACL", "SETUSER", name, "on", ">word", "+@all", "~*", databases});
  };
  SKIP_UNLESS(set_user("ann", "db=1") == kOk,
              "this server has no rules for databases (Valkey 9.1: ACL SETUSER ann db=1)");
  EXPECT_EQ(set_user("bob", "alldbs"), kOk);
  RawClient ann = client_of("ann");
  EXPECT_TRUE(ann.exchange(get_absent(), 1).starts_with("-NOPERM"));
  RawClient bob = client_of("bob");
  ASSERT_TRUE(eventually([&] { return bob.exchange(get_absent(), 1) == absent_reply(); }));
  // Of both the same has been asked.
  EXPECT_TRUE(ann.exchange(get_absent(), 1).starts_with("-NOPERM"));
}

TEST_F(NewerServers, a_client_that_follows_redirections_is_redirected_also_after_reset) {
  RawClient client = shop_.client();
  SKIP_UNLESS(client.call({"CLIENT", "CAPA", "redirect"}) == kOk,
              "this server redirects nobody (Valkey 8: CLIENT CAPA redirect)");
  RedisServer primary;
  EXPECT_EQ(shop_.redis().call({"REPLICAOF", "127.0.0.1", std::to_string(primary.port())}), kOk);
  ASSERT_TRUE(
      eventually([&] { return shop_.redis().info("replication", "master_link_status") == "up"; }));
  const std::string redirection = "-REDIRECT " + primary.address() + "\r\n";
  EXPECT_EQ(client.exchange(get_absent(), 1), redirection);
  EXPECT_EQ(client.call({"RESET"}), "+RESET\r\n");
  RawClient other = shop_.client();
  ASSERT_TRUE(eventually([&] { return other.exchange(get_absent(), 1) == absent_reply(); }));
  EXPECT_EQ(client.exchange(get_absent(), 1), redirection);
}

// Each names keys where the table says so: what it has written is not hidden.
TEST_F(NewerServers, what_their_writes_have_written_is_found) {
  RawClient client = shop_.client();
  SKIP_UNLESS(client.call({"COMMAND", "INFO", "HSETEX"}) != "*1\r\n$-1\r\n",
              "this server has no HSETEX (Redis 8.0, Valkey 9.0)");
  const auto keys = shop_.find_absent_users(3);
  EXPECT_EQ(client.call({"HSETEX", keys[0], "FIELDS", "1", "field", "one"}), ":1\r\n");
  EXPECT_EQ(client.call({"HGETEX", keys[0], "FIELDS", "1", "field"}), "*1\r\n$3\r\none\r\n");
  EXPECT_EQ(client.call({"HTTL", keys[0], "FIELDS", "1", "field"}), "*1\r\n:-1\r\n");
  const std::string replies =
      client.exchange(command({"MSETEX", "2", keys[1], "one", keys[2], "two", "EX", "60"}) +
                          command({"MGET", keys[1], keys[2]}),
                      2);
  EXPECT_TRUE(replies == ":1\r\n*2\r\n$3\r\none\r\n$3\r\ntwo\r\n" ||
              replies.starts_with("-ERR unknown command"))
      << replies << "(Redis 8.0 has no MSETEX)";
}

}  // namespace
}  // namespace cuckooguard::harness
