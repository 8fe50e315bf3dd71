// Redis as managed services offer it, without some of its commands (docs/managed-services.md).

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/deadline.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

struct Service {
  std::string name;
  std::vector<std::string> removed;
  std::string acl = "ask";

  std::vector<std::string> arguments() const {
    std::vector<std::string> all;
    for (const std::string& command : removed) {
      all.insert(all.end(), {"--rename-command", command, ""});
    }
    return all;
  }
};

class ManagedServices : public testing::TestWithParam<Service> {};

TEST_P(ManagedServices, answer_absent_keys_and_forward_the_rest) {
  Shop shop({.acl = GetParam().acl, .redis_arguments = GetParam().arguments()});
  RawClient client = shop.client();
  EXPECT_TRUE(eventually([&] { return client.call({"GET", absent_user()}) == absent_reply(); }))
      << shop.guard().log();
  EXPECT_EQ(client.call({"SET", "other", "1"}), kOk);
  EXPECT_EQ(client.call({"GET", "other"}), bulk("1"));
  for (const std::string& command : GetParam().removed) {
    EXPECT_THAT(client.call({command, "GET", "x"}), testing::StartsWith("-ERR unknown command"))
        << "as Redis says it";
  }
}

INSTANTIATE_TEST_SUITE_P(Of,
                         ManagedServices,
                         testing::Values(Service{"elasticache_with_users", {"CONFIG"}},
                                         Service{"memorystore", {"CONFIG", "ACL"}, "trust"},
                                         Service{"without_command", {"CONFIG", "COMMAND"}}),
                         [](const auto& each) { return each.param.name; });

TEST(ManagedServicesWithoutAcl, pass_all_keys_until_somebody_says_that_its_users_may_read_them) {
  Shop shop({.redis_arguments = {"--rename-command", "ACL", ""}});
  ASSERT_TRUE(eventually([&] { return shop.guard().log().contains("control_not_allowed"); }));
  EXPECT_THAT(shop.guard().log(), testing::HasSubstr("hint=\"set upstream.acl: trust if"));
  EXPECT_EQ(shop.client().call({"GET", absent_user()}), kNil) << "Redis's own";
}

}  // namespace
}  // namespace cuckooguard::harness
