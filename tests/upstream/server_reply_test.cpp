#include "upstream/server_reply.h"

#include <gtest/gtest.h>

#include "reply_text.h"
#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {
namespace {

std::string hello(std::string_view mode, std::string_view role) {
  return array(bulk("server"),
               bulk("redis"),
               bulk("proto"),
               number(2),
               bulk("mode"),
               bulk(mode),
               bulk("role"),
               bulk(role),
               bulk("modules"),
               array());
}

TEST(ServerReply, hello_says_what_kind_of_server_it_is) {
  const auto master = kind_of_hello(*reply_of(hello("standalone", "master")));
  EXPECT_FALSE(master->is_cluster);
  EXPECT_TRUE(master->is_master);
  const auto node = kind_of_hello(*reply_of(hello("cluster", "replica")));
  EXPECT_TRUE(node->is_cluster);
  EXPECT_FALSE(node->is_master);
}

TEST(ServerReply, info_says_it_too) {
  const auto master = kind_of_info(
      *reply_of(bulk("# Replication\r\nrole:master\r\n# Cluster\r\ncluster_enabled:0\r\n")));
  EXPECT_FALSE(master->is_cluster);
  EXPECT_TRUE(master->is_master);
  const auto node = kind_of_info(*reply_of(bulk("role:slave\r\ncluster_enabled:1\r\n")));
  EXPECT_TRUE(node->is_cluster);
  EXPECT_FALSE(node->is_master);
}

TEST(ServerReply, writes_are_taken_by_who_is_known_to_refuse_none) {
  const std::string fine =
      "role:master\r\nrdb_last_bgsave_status:ok\r\naof_last_write_status:ok\r\n";
  EXPECT_TRUE(takes_writes(*reply_of(bulk(fine))));
  EXPECT_FALSE(takes_writes(*reply_of(bulk(fine + "min_slaves_good_slaves:0\r\n"))));
  for (const std::string_view line : {"role:master", "bgsave_status:ok", "write_status:ok"}) {
    std::string other = fine;
    other.replace(other.find(line) + line.find(':') + 1, 1, "x");
    EXPECT_FALSE(takes_writes(*reply_of(bulk(other)))) << other;
  }
  EXPECT_FALSE(takes_writes(*reply_of("-NOPERM no\r\n")));
}

TEST(ServerReply, what_is_not_said_is_not_known) {
  for (const std::string& bytes : kStrange) {
    const Reply reply = reply_of(bytes);
    EXPECT_FALSE(kind_of_hello(*reply)) << bytes;
    EXPECT_FALSE(kind_of_info(*reply)) << bytes;
    EXPECT_FALSE(state_of_info(*reply)) << bytes;
  }
  EXPECT_FALSE(kind_of_info(*reply_of(bulk("not_cluster_enabled:0\r\n"))));
}

TEST(ServerReply, errors_say_that_it_does_not_serve) {
  EXPECT_EQ(state_of_error("LOADING Redis is loading the dataset in memory"),
            redis::Availability::loading);
  EXPECT_EQ(state_of_error("MASTERDOWN Link with MASTER is down and ..."),
            redis::Availability::master_link_down);
  EXPECT_EQ(state_of_error("BUSY Redis is busy running a script."), redis::Availability::busy);
  for (const char* const other :
       {"NOPERM no", "BUSYKEY Target key name already exists.", "ERR", ""}) {
    EXPECT_FALSE(state_of_error(other)) << other;
  }
}

TEST(ServerReply, info_says_whether_it_serves) {
  const auto state = [](std::string_view info) { return state_of_info(*reply_of(bulk(info))); };
  EXPECT_EQ(state("loading:1\r\nasync_loading:0\r\n"), redis::Availability::loading);
  EXPECT_EQ(state("loading:0\r\nrole:master\r\n"), redis::Availability::available);
  EXPECT_EQ(state("loading:0\r\nmaster_link_status:up\r\n"), redis::Availability::available);
  EXPECT_EQ(state("loading:0\r\nmaster_link_status:down\r\n"),
            redis::Availability::master_link_down);
  EXPECT_EQ(state("async_loading:0\r\n"), std::nullopt);
  EXPECT_EQ(state_of_info(*reply_of("-BUSY Redis is busy\r\n")), redis::Availability::busy);
}

}  // namespace
}  // namespace cuckooguard::upstream
