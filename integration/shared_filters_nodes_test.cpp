// Filters that several guards share by way of a Redis that is several: their log is at the master
// that the Sentinels name, or in the node of a cluster that has its slot, and goes on at the next.

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "fixtures/guarded_cluster.h"
#include "fixtures/guarded_sentinels.h"
#include "harness/configuration.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/raw_client.h"
#include "harness/redis_command.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

constexpr std::string_view kYes = ":1\r\n";
constexpr std::string_view kNo = ":0\r\n";
constexpr const char* kLogKey = "{cuckooguard:filters}:log";

std::string with_shared_filters(const std::string& upstream, const TemporaryDirectory& folder) {
  const std::string secret = folder.file("secret");
  std::ofstream(secret) << "a secret of this test alone\n";
  return Configuration{.upstream = upstream,
                       .more =
                           "filters:\n"
                           "  named: { ids: { kind: cuckoo, deletes: exact } }\n"
                           "  durability: redis\n"
                           "  secret_file: '" +
                           secret + "'\n"}
      .yaml();
}

// Two guards, as applications see them.
class Pair {
 public:
  // They have so many ports, of which the node of one may be down.
  Pair(const GuardProcess& one, const GuardProcess& other, std::size_t ports)
      : guards_{&one, &other}, ports_(ports) {}

  // Each knows all that there is, and takes more. What was refused meanwhile may have been done.
  void expect_to_share(int round) const {
    for (const std::string name : {"one", "other"}) {
      const GuardProcess& writer = *guards_.at(name == "one" ? 0 : 1);
      const GuardProcess& reader = *guards_.at(name == "one" ? 1 : 0);
      const std::string item = name + std::to_string(round);
      std::string reply;
      ASSERT_TRUE(eventually([&] {
        reply = call(writer, {"CF.ADDNX", "ids", item});
        return reply == kYes || reply == kNo;
      })) << reply
          << writer.log();
      ASSERT_TRUE(eventually([&] {
        return call(reader, {"CF.EXISTS", "ids", item}) == kYes &&
               call(reader, {"CF.EXISTS", "ids", "never"}) == kNo;
      })) << reader.log();
      EXPECT_EQ(call(reader, {"CF.ADDNX", "ids", item}), kNo) << reader.log();
    }
    for (const GuardProcess* const guard : guards_) {
      for (int before = 0; before < round; ++before) {
        EXPECT_EQ(call(*guard, {"CF.COUNT", "ids", "one" + std::to_string(before)}), kYes);
        EXPECT_EQ(call(*guard, {"CF.COUNT", "ids", "other" + std::to_string(before)}), kYes);
      }
    }
  }

 private:
  // Empty: all close.
  std::string call(const GuardProcess& guard,
                   std::initializer_list<std::string_view> arguments) const {
    for (std::size_t i = 0; i < ports_; ++i) {
      try {
        return RawClient::to_port(static_cast<std::uint16_t>(guard.port() + i)).call(arguments);
      } catch (const std::runtime_error&) {
        continue;
      }
    }
    return {};
  }

  std::array<const GuardProcess*, 2> guards_;
  std::size_t ports_;
};

class FiltersBehindSentinels : public GuardedSentinels {
 protected:
  FiltersBehindSentinels()
      : shared_(with_shared_filters("{ sentinels: " + sentinels_.sentinel_addresses() +
                                        ", master: " + RedisSentinels::kMaster + " }",
                                    directory_)),
        other_(GuardProcess::on_sentinel_ports(shared_, 0)) {
    guard_.emplace(GuardProcess::on_sentinel_ports(shared_, 0));
  }
  // What a replica has not got is lost with its master.
  void wait_until_all_have_the_log() const {
    const std::string length = sentinels_.node(*sentinels_.master()).call({"XLEN", kLogKey});
    for (std::size_t i = 0; i < sentinels_.size(); ++i) {
      EXPECT_TRUE(eventually([&] { return sentinels_.node(i).call({"XLEN", kLogKey}) == length; }));
    }
  }

  std::string shared_;
  GuardProcess other_;
};

TEST_F(FiltersBehindSentinels, go_on_at_the_next_master_with_all_that_they_had) {
  const Pair pair(*guard_, other_, 1);
  pair.expect_to_share(0);
  wait_until_all_have_the_log();
  const std::size_t master = fail_over_by_command();
  sentinels_.wait_until_ok();  // nobody takes the old one for a master any more
  pair.expect_to_share(1);
  EXPECT_EQ(sentinels_.master(), master);
  wait_until_all_have_the_log();
  fail_over_by_crash();
  pair.expect_to_share(2);
}

class FiltersInCluster : public GuardedCluster {
 protected:
  FiltersInCluster()
      : shared_(with_shared_filters("{ cluster: [ '" + cluster_.address(1) + "' ] }", directory_)),
        other_(GuardProcess::on_node_ports(shared_, kPorts)) {
    guard_.emplace(GuardProcess::on_node_ports(shared_, kPorts));
  }
  std::string length_at(std::size_t node) const {
    RawClient client = cluster_.node(node).client();
    client.call({"READONLY"});
    return client.call({"XLEN", kLogKey});
  }

  std::string shared_;
  GuardProcess other_;
};

TEST_F(FiltersInCluster, follow_the_slot_of_their_log) {
  const Pair pair(*guard_, other_, 2);
  pair.expect_to_share(0);
  const std::size_t owner = owner_of(kLogKey);
  const std::size_t replica = owner + kMasters;
  cluster_.fail_over_to(replica);
  pair.expect_to_share(1);
  cluster_.wait_until_ok();

  const std::size_t next = (owner + 1) % kMasters;
  cluster_.move_slot(slot_of(kLogKey), replica, next);
  pair.expect_to_share(2);
  EXPECT_TRUE(length_at(replica).starts_with("-MOVED "));

  const std::string length = length_at(next);
  EXPECT_TRUE(eventually([&] { return length_at(next + kMasters) == length; }));
  cluster_.kill(next);
  EXPECT_TRUE(eventually([&] { return cluster_.is_master(next + kMasters); }));
  pair.expect_to_share(3);
}

}  // namespace
}  // namespace cuckooguard::harness
