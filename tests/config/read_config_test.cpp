#include "config/read_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/parse.h"

namespace cuckooguard::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ReadConfig, what_needs_a_restart_is_named_and_stays_as_it_runs_and_the_rest_is_taken) {
  const Config running;
  Config next = testing::config_of(
      "listen: 127.0.0.1:1\n"
      "upstream: { address: '127.0.0.1:2', mode: pinned, acl: trust }\n"
      "workers: 3\n"
      "admin: { address: '[::1]:3', operators: ops }\n"
      "storage: { directory: /kept }\n"
      "limits: { max_clients: 5 }\n");
  EXPECT_THAT(keep_what_needs_a_restart(running, next),
              ElementsAre("listen.address",
                          "upstream.address",
                          "upstream.mode",
                          "storage.directory",
                          "admin.address",
                          "workers"));
  EXPECT_EQ(next.listen, running.listen);
  EXPECT_EQ(next.upstream.address, running.upstream.address);
  EXPECT_EQ(next.upstream.mode, UpstreamMode::shared);
  EXPECT_EQ(next.upstream.acl, Acl::trust);
  EXPECT_EQ(next.workers, 0U);
  EXPECT_FALSE(next.admin.address);
  EXPECT_THAT(next.admin.operators, ElementsAre("ops"));
  EXPECT_EQ(next.storage.directory, "");
  EXPECT_EQ(next.limits.max_clients, 5U);
  EXPECT_THAT(keep_what_needs_a_restart(running, next), IsEmpty());
}

}  // namespace
}  // namespace cuckooguard::config
