// `order: redis-first`: Redis is asked first. What it has comes as it is, and only its nil to a GET
// of an absent key becomes the absent reply.
#include <string>

#include <gtest/gtest.h>

#include "harness/guard_process.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

class RedisFirst : public testing::Test {
 protected:
  RedisFirst() {
    RawClient client = shop_.client();
    EXPECT_TRUE(eventually([&] { return client.call({"GET", absent_user()}) == absent_reply(); }))
        << shop_.guard().log();
  }

  // Behind the guard's back.
  std::string to_redis(std::initializer_list<std::string_view> arguments) {
    return shop_.redis().client().call(arguments);
  }
  std::string info(const std::string& field) { return info_field(shop_.guard(), "users", field); }

  Shop shop_{{.more_namespace = ", order: redis-first"}};
};

TEST_F(RedisFirst, what_only_redis_has_comes_as_it_is_also_large_and_in_pieces) {
  RawClient client = shop_.client();
  to_redis({"SET", absent_user(7), "only here"});
  const std::string large(3'000'000, 'x');
  to_redis({"SET", absent_user(8), large});
  EXPECT_EQ(client.call({"GET", absent_user(7)}), bulk("only here"));
  EXPECT_EQ(client.call({"GET", absent_user(8)}), bulk(large));
  EXPECT_EQ(client.call({"GET", absent_user(9)}), absent_reply());
}

TEST_F(RedisFirst, a_nil_is_replaced_for_absent_keys_alone_in_both_versions) {
  RawClient client = shop_.client();
  for (const char* const version : {"2", "3"}) {
    client.call({"HELLO", version});
    const std::string nil = version[0] == '3' ? "_\r\n" : std::string(kNil);
    EXPECT_EQ(client.call({"GET", absent_user(7)}), absent_reply());
    EXPECT_EQ(client.call({"GET", user(1)}), nil) << "the row is there, Redis has not cached it";
    EXPECT_EQ(client.call({"GET", "other"}), nil);
  }
}

TEST_F(RedisFirst, all_other_reads_are_redis_own) {
  RawClient client = shop_.client();
  EXPECT_EQ(client.call({"EXISTS", absent_user(7)}), ":0\r\n");
  EXPECT_EQ(client.call({"MGET", absent_user(7), user(1)}), "*2\r\n$-1\r\n$-1\r\n");
  to_redis({"SET", absent_user(7), "v"});
  EXPECT_EQ(client.call({"EXISTS", absent_user(7)}), ":1\r\n");
  EXPECT_EQ(client.call({"MGET", absent_user(7), user(1), absent_user(8)}),
            "*3\r\n$1\r\nv\r\n$-1\r\n$-1\r\n");
  EXPECT_EQ(client.call({"STRLEN", absent_user(7)}), ":1\r\n");
}

TEST_F(RedisFirst, a_long_pipeline_keeps_its_order) {
  to_redis({"SET", user(1), "row"});
  RawClient client = shop_.client();
  std::string request;
  std::string expected;
  constexpr std::uint64_t kRounds = 500;  // fewer than may be in flight
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    request += command({"GET", i % 3 == 0 ? absent_user(i) : user(1)}) + command({"ECHO", "x"});
    expected += (i % 3 == 0 ? absent_reply() : bulk("row")) + bulk("x");
  }
  EXPECT_EQ(client.exchange(request, 2 * kRounds), expected);
}

TEST_F(RedisFirst, values_that_only_redis_has_are_counted) {
  to_redis({"SET", absent_user(7), "only here"});
  RawClient client = shop_.client();
  const std::string before = info("keys_contradicted");
  client.call({"GET", absent_user(7)});
  EXPECT_EQ(before, "0");
  EXPECT_EQ(info("keys_contradicted"), "1");
  EXPECT_EQ(info("order"), "redis-first");
}

}  // namespace
}  // namespace cuckooguard::harness
