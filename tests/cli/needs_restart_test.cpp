#include "cli/needs_restart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::cli {
namespace {

TEST(NeedsRestart, is_named_and_stays_as_it_runs_and_the_rest_is_taken) {
  const config::Config running;
  config::Config next;
  next.listen.port = 1;
  next.upstream.address.port = 2;
  next.upstream.mode = config::UpstreamMode::pinned;
  next.upstream.acl = config::Acl::trust;
  next.workers = 3;
  next.admin.address.emplace().host = "::1";
  next.admin.operators = {"ops"};
  next.storage.directory = "/kept";
  next.limits.max_clients = 5;
  EXPECT_THAT(keep_what_needs_a_restart(running, next),
              testing::ElementsAre("listen",
                                   "upstream.address",
                                   "upstream.mode",
                                   "workers",
                                   "admin.address",
                                   "storage.directory"));
  EXPECT_EQ(next.listen, running.listen);
  EXPECT_EQ(next.upstream.address, running.upstream.address);
  EXPECT_EQ(next.upstream.mode, config::UpstreamMode::shared);
  EXPECT_EQ(next.upstream.acl, config::Acl::trust);
  EXPECT_EQ(next.workers, 0U);
  EXPECT_FALSE(next.admin.address);
  EXPECT_THAT(next.admin.operators, testing::ElementsAre("ops"));
  EXPECT_EQ(next.storage.directory, "");
  EXPECT_EQ(next.limits.max_clients, 5U);
  EXPECT_THAT(keep_what_needs_a_restart(running, next), testing::IsEmpty());
}

}  // namespace
}  // namespace cuckooguard::cli
