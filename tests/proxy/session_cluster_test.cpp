// Clients of a cluster's node in `mode: shared`: what they have told the node is told on whatever
// connection they travel.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "sharing_clients.h"

namespace cuckooguard::proxy {
namespace {

class ClusterSession : public SharingClients {};

const std::string kOk = "+OK\r\n";
const std::string kPong = "+PONG\r\n";

TEST_F(ClusterSession, who_reads_a_cluster_s_replica_shares_with_its_like) {
  const auto a = connect();
  send(a, command("READONLY"));
  redis_sends(0, kOk);
  EXPECT_EQ(redis_got(1), command("READONLY"));
  redis_sends(1, kOk);
  send(a, command("GET x"));
  EXPECT_EQ(redis_got(1), command("GET x"));
  redis_sends(1, "$-1\r\n");
  const auto b = connect();
  send(b, command("GET x"));
  EXPECT_EQ(redis_got(1), "") << "it would get the replica's value in place of -MOVED";
}

// The user may be allowed READONLY alone.
TEST_F(ClusterSession, who_reads_from_masters_gets_no_connection_that_reads_from_replicas) {
  const auto a = connect();
  send(a, command("READONLY"));
  redis_sends(0, kOk);
  redis_sends(1, kOk);
  const auto b = connect();
  send(b, command("MULTI"));
  EXPECT_EQ(redis_got(0), command("READONLY"));
  ASSERT_EQ(upstreams(), 3U);
  EXPECT_EQ(redis_got(2), command("MULTI"));
}

TEST_F(ClusterSession, asking_and_the_command_behind_it_travel_together) {
  const auto a = connect();
  const auto b = connect();
  send(b, command("PING"));
  EXPECT_EQ(redis_got(0), command("PING"));
  redis_sends(0, kPong);
  send(a, command("ASKING"));
  const std::size_t own = upstreams() - 1;
  ASSERT_EQ(redis_got(own), command("ASKING"));
  ASSERT_NE(own, 0U);
  redis_sends(own, kOk);
  send(a, command("GET x"));
  EXPECT_EQ(redis_got(own), command("GET x"));
  redis_sends(own, "$-1\r\n");
  send(a, command("GET x"));
  EXPECT_EQ(redis_got(own), "") << "it holds for one command alone";
  EXPECT_EQ(redis_got(0), command("GET x"));
}

}  // namespace
}  // namespace cuckooguard::proxy
