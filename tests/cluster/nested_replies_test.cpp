// EXEC's replies: of the elements only those that were asked for, and redirects.

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "cluster/topology_reply.h"
#include "made_replies.h"

namespace cuckooguard::cluster {
namespace {

class NestedReplies : public ::testing::Test {
 protected:
  Rewritten rewritten(const std::string& reply) const {
    constexpr std::array kNested{Nested{1, TopologyReply::slots},
                                 Nested{3, TopologyReply::replicas}};
    return rewrite(TopologyReply::exec, reply, made_addresses(), made_client(), kNested);
  }
  static std::string slots(std::string_view host, int port) {
    return array(array(integer(0), integer(9), array(bulk(host), integer(port), bulk("aa"))));
  }
  static std::string replicas(std::string_view address) {
    return array(bulk("bb " + std::string(address) + "@1 slave aa 0 0 1 connected"));
  }
};

TEST_F(NestedReplies, are_rewritten_where_they_were_asked_for) {
  const std::string value = slots("10.0.0.1", 7001);  // of a list, say
  const Rewritten done = rewritten(array(value,
                                         slots("10.0.0.1", 7001),
                                         bulk("10.0.0.1:7001"),
                                         replicas("10.0.0.2:7002"),
                                         replicas("10.0.0.2:7002")));
  EXPECT_EQ(done.reply,
            array(value,
                  slots("guard", 7101),
                  bulk("10.0.0.1:7001"),
                  replicas("guard:7102"),
                  replicas("10.0.0.2:7002")));
  EXPECT_EQ(done.replaced, 2);
  EXPECT_FALSE(done.is_malformed);
}

TEST_F(NestedReplies, may_be_redirects_and_errors) {
  const std::string moved = "-MOVED 1 10.0.0.2:7002\r\n";
  const std::string told = "-MOVED 1 guard:7102\r\n";
  const std::string error = "-ERR unknown command\r\n";
  EXPECT_EQ(rewritten(array(moved, error, error, moved, bulk(moved), array(moved))).reply,
            array(told, error, error, told, bulk(moved), array(moved)))
      << "what is deeper is a value";
  EXPECT_EQ(rewritten(array(bulk("x"), error, "-ASK 1 10.0.0.9:1\r\n")).unknown, 1);
}

TEST_F(NestedReplies, that_are_not_understood_leave_the_others) {
  const Rewritten done = rewritten(
      array(integer(1), integer(2), integer(3), replicas("h"), "-MOVED 1 10.0.0.1:7001\r\n"));
  EXPECT_EQ(done.reply,
            array(integer(1), integer(2), integer(3), replicas("h"), "-MOVED 1 guard:7101\r\n"));
  EXPECT_TRUE(done.is_malformed);
  EXPECT_EQ(done.unknown, 0);
}

TEST_F(NestedReplies, need_an_array) {
  for (const std::string reply :
       {"*-1\r\n", "_\r\n", "-EXECABORT x\r\n", "*0\r\n", "*1\r\n$1\r\nx\r\n"}) {
    EXPECT_EQ(rewritten(reply).reply, reply);
    EXPECT_FALSE(rewritten(reply).is_malformed) << reply;
  }
  const std::string cut = "*2\r\n$1\r\nx\r\n";
  EXPECT_EQ(rewritten(cut).reply, cut);
  EXPECT_TRUE(rewritten(cut).is_malformed);
}

TEST_F(NestedReplies, may_be_deep_beside_them) {
  constexpr std::size_t kDepth = 100'000;
  std::string deep;
  for (std::size_t i = 0; i < kDepth; ++i) {
    deep += "*1\r\n";
  }
  deep += ":1\r\n";
  EXPECT_EQ(rewritten(array(deep, slots("10.0.0.1", 7001))).reply,
            array(deep, slots("guard", 7101)));
  EXPECT_EQ(rewritten(array(deep, deep)).reply, array(deep, deep));
}

}  // namespace
}  // namespace cuckooguard::cluster
