#include "config/read_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/parse.h"

namespace cuckooguard::config {
namespace {

using testing::config_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ReadConfig, a_list_to_listen_on_has_one_at_least_and_has_an_end) {
  EXPECT_THAT(testing::errors_of("listen: []\n"),
              ElementsAre(::testing::HasSubstr("1:9: listen: the list is empty")));
  std::string many = "listen: [ 'unix:/0'";
  for (std::size_t i = 1; i < kListenMax; ++i) {
    many += ", 'unix:/" + std::to_string(i) + "'";
  }
  EXPECT_EQ(config_of(many + " ]\n").listen.size(), kListenMax);
  EXPECT_THAT(testing::errors_of(many + ", 'unix:/one-more' ]\n"),
              ElementsAre(::testing::HasSubstr("listen: the list can have at most 64 entries")));
}

// Else one that is encrypted would no longer be, where another address now has its place.
TEST(ReadConfig, all_that_listens_stays_as_it_is_if_the_list_becomes_another) {
  const Config running =
      config_of("listen: [ { address: 'unix:/1', tls: { cert: c, key: k } }, 'unix:/2' ]\n");
  for (const char* const other : {"[ 'unix:/2', { address: 'unix:/1', tls: { cert: c, key: k } } ]",
                                  "[ 'unix:/1' ]",
                                  "[ 'unix:/1', 'unix:/2', 'unix:/3' ]",
                                  "[ 'unix:/3', 'unix:/2' ]"}) {
    Config next = config_of("listen: " + std::string(other) + "\n");
    EXPECT_THAT(keep_what_needs_a_restart(running, next), ElementsAre("listen")) << other;
    EXPECT_EQ(next.listen, running.listen) << other;
  }
  Config next =
      config_of("listen: [ { address: 'unix:/1', tls: { cert: c, key: l } }, 'unix:/2' ]\n");
  EXPECT_THAT(keep_what_needs_a_restart(running, next), ::testing::IsEmpty());
  EXPECT_EQ(next.listen.front().tls->key, "l");
}

TEST(ReadConfig, what_needs_a_restart_is_named_and_stays_as_it_runs_and_the_rest_is_taken) {
  const Config running;
  Config next = testing::config_of(
      "listen: 127.0.0.1:1\n"
      "upstream: { address: '127.0.0.1:2', mode: pinned, acl: trust }\n"
      "workers: 3\n"
      "admin: { address: '[::1]:3', operators: ops }\n"
      "storage: { directory: /kept }\n"
      "filters: { max_filters: 7 }\n"
      "limits: { max_clients: 5 }\n");
  EXPECT_THAT(keep_what_needs_a_restart(running, next),
              ElementsAre("listen",
                          "upstream.address",
                          "upstream.mode",
                          "storage.directory",
                          "admin.address",
                          "workers",
                          "filters"));
  EXPECT_EQ(next.filters, running.filters);
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
