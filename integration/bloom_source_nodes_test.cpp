// A filter of the application's in a Redis that is several: it is read from the master that the
// Sentinels name, or from the node of a cluster that has its slot, over TLS where upstream is.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "fixtures/guarded_cluster.h"
#include "fixtures/guarded_sentinels.h"
#include "harness/bloom_positions.h"
#include "harness/certificates.h"
#include "harness/redis_command.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

constexpr std::uint64_t kBits = 1'000'000;
constexpr const char* kSource =
    "type: bloom, format: go-zero, key: \"bloom:users\", bits: 1M, max_lag: 400ms";
constexpr const char* kAbsent = "987654321";

std::string namespaces() {
  return "  users: { keys: \"user:{id:uint64}\", source: { from: shop }, mode: enforce, "
         "absent_reply: \"bytes:__ABSENT__\", overlay: { pass_at_start: false } }\n";
}

void add(const RedisServer& redis, int from, int to) {
  std::string all;
  std::size_t replies = 0;
  for (int id = from; id < to; ++id) {
    for (const std::uint64_t bit : go_zero_positions(std::to_string(id), kBits)) {
      all += command({"SETBIT", "bloom:users", std::to_string(bit), "1"});
      ++replies;
    }
  }
  RawClient client = redis.client();
  client.exchange(all, replies);
}

class BloomBehindSentinels : public GuardedSentinels {
 protected:
  BloomBehindSentinels() {
    const RedisServer& master = sentinels_.node(*sentinels_.master());
    add(master, 0, 100);
    // Else who is master next may lack them, and the guard is right to say so.
    RawClient client = master.client();
    client.call({"SET", "last", "1"});
    EXPECT_TRUE(eventually([&] { return client.call({"WAIT", "2", "100"}) == ":2\r\n"; }));
    guard_.emplace(GuardProcess::on_sentinel_ports(
        Configuration{.upstream = "{ sentinels: " + sentinels_.sentinel_addresses() +
                                  ", master: " + RedisSentinels::kMaster + " }",
                      .source = kSource,
                      .namespaces = namespaces()}
            .yaml(),
        0));
  }
  bool is_absent(const std::string& id) const {
    return try_guard({"GET", "user:" + id}) == kAnswer;
  }
};

TEST_F(BloomBehindSentinels, the_filter_of_the_new_master_counts) {
  ASSERT_TRUE(eventually([&] { return is_absent(kAbsent); })) << guard_->log();
  EXPECT_FALSE(is_absent("99"));
  const std::size_t master = fail_over_by_command();
  add(sentinels_.node(master), 100, 200);
  // The old master's filter counts until it is known to be none any more, with or without a pause
  // in which all pass.
  ASSERT_TRUE(eventually([&] {
    return is_absent(kAbsent) && !is_absent("199") && is_absent(kAbsent);
  })) << guard_->log();
  EXPECT_FALSE(is_absent("99")) << guard_->log();
}

const std::filesystem::path& certificates() {
  static const TemporaryDirectory kFolder;
  static const auto kWritten = (write_certificates(kFolder.path()), &kFolder.path());
  return *kWritten;
}

class BloomInCluster : public GuardedCluster {
 protected:
  BloomInCluster() : GuardedCluster({.replicas = 0, .tls_folder = certificates()}) {
    add(cluster_.node(owner_of("bloom:users")), 0, 100);
    guard_->restart(Configuration{
        .upstream = "{ cluster: [ '127.0.0.1:" + std::to_string(cluster_.tls_port(0)) +
                    "' ], tls: { ca: '" + (certificates() / "ca.crt").string() + "' } }",
        .source = kSource,
        .namespaces = namespaces()}
                        .yaml());
    EXPECT_TRUE(eventually([this] { return learn_ports(); })) << guard_->log();
  }
  bool is_absent(const std::string& id) const {
    const std::string key = "user:" + id;
    return try_at(owner_of(key), {"GET", key}) == kAnswer;
  }
};

TEST_F(BloomInCluster, the_node_that_has_its_slot_is_asked_over_tls) {
  ASSERT_TRUE(eventually([&] { return is_absent(kAbsent); })) << guard_->log();
  EXPECT_FALSE(is_absent("99"));
  add(cluster_.node(owner_of("bloom:users")), 100, 200);
  EXPECT_TRUE(eventually([&] { return !is_absent("199"); }));
  EXPECT_TRUE(eventually([&] { return is_absent(kAbsent); })) << guard_->log();
}

}  // namespace
}  // namespace cuckooguard::harness
