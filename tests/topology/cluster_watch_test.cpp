// Who is asked what a cluster is like: real nodes.
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "harness/deadline.h"
#include "harness/redis_cluster.h"
#include "harness/redis_command.h"
#include "topology/watch.h"

namespace cuckooguard::topology {
namespace {

config::Address address_of(const harness::RedisServer& redis) {
  return {.host = "127.0.0.1", .port = redis.port(), .unix_path = {}};
}

class ClusterWatches : public testing::Test {
 protected:
  void watch(const config::Upstream& settings) {
    watch_.emplace(settings,
                   ClusterWatch::Calls{.on_known =
                                           [this](Known known) {
                                             const std::lock_guard lock(mutex_);
                                             map_ = std::move(known.map);
                                             ++maps_;
                                           },
                                       .on_silence =
                                           [this](const std::string& why) {
                                             const std::lock_guard lock(mutex_);
                                             silence_ = why;
                                           }},
                   nullptr);
    watch_->start();
  }
  bool knows_owner_of_all(std::size_t nodes) {
    return harness::eventually([&] {
      const std::lock_guard lock(mutex_);
      return map_ && map_->owner_of(0) != nullptr && map_->nodes().size() == nodes;
    });
  }
  // Of an asking that has begun behind this call.
  bool hears_again() {
    const auto heard = [this] {
      const std::lock_guard lock(mutex_);
      return maps_;
    };
    const int before = heard();
    return harness::eventually([&] { return heard() > before + 1; });
  }
  std::string silence() {
    const std::lock_guard lock(mutex_);
    return silence_;
  }

  std::mutex mutex_;
  std::optional<cluster::Map> map_;
  int maps_ = 0;
  std::string silence_;
  std::optional<ClusterWatch> watch_;
};

// Such a node is what del-node leaves behind: it answers, and knows nobody.
TEST_F(ClusterWatches, a_seed_that_is_no_member_any_more_leaves_the_others_to_be_asked) {
  const harness::RedisServer removed({"--cluster-enabled", "yes"});
  const harness::RedisCluster cluster({.masters = 1, .replicas = 0});
  watch({.cluster = {address_of(removed), address_of(cluster.node(0))}});
  EXPECT_TRUE(knows_owner_of_all(1));
}

TEST_F(ClusterWatches, log_in_as_it_is_set_by_now) {
  const harness::RedisCluster cluster({.masters = 1, .replicas = 0});
  config::Upstream settings{.cluster = {address_of(cluster.node(0))}};
  watch(settings);
  ASSERT_TRUE(knows_owner_of_all(1));
  ASSERT_EQ(cluster.call(0, {"CONFIG", "SET", "requirepass", "word"}), harness::kOk);
  settings.control.password = "word";
  watch_->adopt(settings);
  EXPECT_TRUE(hears_again());
  settings.control.password = "other";
  watch_->adopt(settings);
  EXPECT_TRUE(harness::eventually([&] { return silence().contains("WRONGPASS"); }));
}

}  // namespace
}  // namespace cuckooguard::topology
