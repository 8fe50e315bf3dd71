// Cluster clients as users have them, python-redis and ioredis, in front of a cluster: they do the
// same through the guard and straight, and while slots move, nodes join and leave and masters
// change, no reply is wrong and no acknowledged write is lost that would not be lost without the
// guard. They never come to know a node's own address: seen on their sockets, and in their lists.
//
// CUCKOOGUARD_ROUNDS changes the cluster as many times.

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "exactness/rounds.h"
#include "fixtures/client_program.h"
#include "fixtures/guarded_cluster.h"
#include "fixtures/skip.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

class ClusterClients : public GuardedCluster {
 protected:
  // Enough for every node that joins: none gets the port of one that has left.
  ClusterClients() : GuardedCluster({}, kPorts + rounds_of_this_run(1)) {}

  void expect_only_the_guard_is_reached(const ClientProgram& client) const {
    EXPECT_FALSE(client.peers().empty());
    EXPECT_GE(client.known_ports().size(), kMasters);
    for (const auto& ports : {client.peers(), client.known_ports()}) {
      for (const std::uint16_t port : ports) {
        EXPECT_TRUE(is_guard_port(port)) << port;
      }
    }
  }

  // So that it is known that who goes there is seen.
  void expect_only_nodes_are_reached(const ClientProgram& client) const {
    EXPECT_GE(client.peers().size(), kMasters);
    for (const std::uint16_t port : client.peers()) {
      EXPECT_FALSE(is_guard_port(port)) << port;
    }
  }

  void same_in_program(const ClientLibrary& library) {
    ClientProgram straight(library, cluster_.port(0), directory_ / "straight");
    straight.finish();
    EXPECT_EQ(straight.number("absent_answered"), 0U);
    expect_only_nodes_are_reached(straight);
    ClientProgram guarded(library, ports_[0], directory_ / "guarded");
    guarded.finish();
    const std::uint64_t asked = guarded.number("absent_asked");
    const std::uint64_t answered = guarded.number("absent_answered");
    EXPECT_EQ(asked, straight.number("absent_asked"));
    EXPECT_EQ(guarded.number("checks"), straight.number("checks") + answered);
    EXPECT_GE(asked, 300U);
    EXPECT_GE(answered, asked - asked / 20);
    expect_only_the_guard_is_reached(guarded);
  }

  // Both write at the same time, to keys of their own.
  void lose_no_more_than_without_the_guard(const ClientLibrary& library);
};

TEST_F(ClusterClients, python_redis_does_the_same) {
  const ClientLibrary library = ClientLibrary::python();
  SKIP_IF_MISSING(library.missing());
  same_in_program(library);
}

TEST_F(ClusterClients, ioredis_does_the_same) {
  const ClientLibrary library = ClientLibrary::ioredis();
  SKIP_IF_MISSING(library.missing());
  same_in_program(library);
}

// Changes the cluster under two writers: one through the guard, and one straight.
class Changes {
 public:
  Changes(RedisCluster& cluster, ClientProgram& guarded, ClientProgram& straight)
      : cluster_(cluster), guarded_(guarded), straight_(straight) {}

  void wait_for_both() const {
    guarded_.wait_for_progress();
    straight_.wait_for_progress();
  }

  // There and back, by way of a node that joins for it.
  void move_slots(std::uint16_t guarded, std::uint16_t straight) {
    const std::size_t from = master_of(0);
    const std::size_t to = master_of(2);
    const std::size_t added = cluster_.add();
    const auto move_both = [&](std::size_t one, std::size_t other) {
      asked_guarded_ += move_slot(guarded, one, other);
      asked_straight_ += move_slot(straight, one, other);
      wait_for_both();
    };
    move_both(from, to);
    move_both(to, added);
    move_both(added, from);  // a master that has lost all its slots becomes a replica
    cluster_.remove(added);
    wait_for_both();
  }

  void change_master_by_command() const {
    cluster_.fail_over_to(replica_of(0));
    wait_for_both();
  }

  void kill_a_master() {
    const std::size_t killed = master_of(1);
    const std::size_t replica = replica_of(1);
    cluster_.kill(killed);
    ++kills_;
    require("its replica takes over", [&] { return cluster_.is_master(replica); });
    wait_for_both();
    cluster_.start_again(killed);
    require("it is a replica", [&] { return !cluster_.is_master(killed); });
    cluster_.wait_until_ok();
    wait_for_both();
  }

  std::uint64_t asked_guarded() const { return asked_guarded_; }
  std::uint64_t asked_straight() const { return asked_straight_; }
  std::uint64_t kills() const { return kills_; }

 private:
  template <typename Condition>
  static void require(const std::string& what, const Condition& holds) {
    if (!eventually(holds)) {
      throw std::runtime_error("not in time: " + what);
    }
  }

  std::size_t master_of(std::size_t shard) const {
    return cluster_.is_master(shard) ? shard : shard + 3;
  }
  std::size_t replica_of(std::size_t shard) const {
    return cluster_.is_master(shard) ? shard + 3 : shard;
  }

  std::uint64_t asks_of(std::size_t node) const {
    const std::string told = cluster_.node(node).info("errorstats", "errorstat_ASK");  // count=3
    return told.empty() ? 0 : std::stoull(told.substr(told.find('=') + 1));
  }
  // Goes on when some commands have been told -ASK by the node that the slot leaves. How many were.
  std::uint64_t move_slot(std::uint16_t slot, std::size_t from, std::size_t to) const {
    constexpr std::uint64_t kAsksMin = 2;
    const std::uint64_t before = asks_of(from);
    cluster_.move_slot(slot, from, to, [&] {
      require("clients are told -ASK", [&] { return asks_of(from) >= before + kAsksMin; });
    });
    return asks_of(from) - before;
  }

  RedisCluster& cluster_;
  ClientProgram& guarded_;
  ClientProgram& straight_;
  std::uint64_t asked_guarded_ = 0;
  std::uint64_t asked_straight_ = 0;
  std::uint64_t kills_ = 0;
};

void ClusterClients::lose_no_more_than_without_the_guard(const ClientLibrary& library) {
  constexpr std::uint64_t kFirst = 1;  // of the writers' users
  constexpr std::uint64_t kFirstStraight = 101;
  ClientProgram guarded(library, ports_[0], kFirst, directory_ / "guarded");
  ClientProgram straight(library, cluster_.port(0), kFirstStraight, directory_ / "straight");
  Changes changes(cluster_, guarded, straight);
  // Of the keys of one of the two: so it is known who was told -ASK.
  const auto slot_of_writer = [&](std::uint64_t first, std::uint64_t number) {
    for (std::uint64_t id = first;; ++id) {
      if (owner_of(user(id)) == 0 && number-- == 0) {
        return slot_of(user(id));
      }
    }
  };
  const unsigned rounds = rounds_of_this_run(1);
  constexpr unsigned kSlotsTried = 20;
  for (unsigned round = 0; round < rounds; ++round) {
    changes.wait_for_both();
    changes.move_slots(slot_of_writer(kFirst, round % kSlotsTried),
                       slot_of_writer(kFirstStraight, round % kSlotsTried));
    changes.change_master_by_command();
    changes.kill_a_master();
  }
  guarded.tell_to_end();
  straight.tell_to_end();
  guarded.finish();
  straight.finish();
  std::printf("rounds: %u, told -ASK: %llu with and %llu without the guard\n",
              rounds,
              static_cast<unsigned long long>(changes.asked_guarded()),
              static_cast<unsigned long long>(changes.asked_straight()));
  for (const ClientProgram* const client : {&guarded, &straight}) {
    EXPECT_EQ(client->number("wrong"), 0U);
    EXPECT_GT(client->number("operations"), 100U);
  }
  // A master that dies may have acknowledged the one write that a client has under way, and not
  // have passed it on. All other changes lose nothing.
  EXPECT_LE(guarded.number("lost"), straight.number("lost") + changes.kills());
  // Each change may find one command more under way.
  constexpr std::uint64_t kChanges = 3;
  EXPECT_LE(guarded.total("errors"), straight.total("errors") + kChanges * rounds);
  EXPECT_GT(guarded.number("absent_answered"), guarded.number("absent_asked") * 9 / 10);
  EXPECT_EQ(straight.number("absent_answered"), 0U);
  expect_only_the_guard_is_reached(guarded);
  expect_only_nodes_are_reached(straight);
}

TEST_F(ClusterClients, python_redis_reads_what_it_wrote_while_the_cluster_changes) {
  const ClientLibrary library = ClientLibrary::python();
  SKIP_IF_MISSING(library.missing());
  lose_no_more_than_without_the_guard(library);
}

TEST_F(ClusterClients, ioredis_reads_what_it_wrote_while_the_cluster_changes) {
  const ClientLibrary library = ClientLibrary::ioredis();
  SKIP_IF_MISSING(library.missing());
  lose_no_more_than_without_the_guard(library);
}

}  // namespace
}  // namespace cuckooguard::harness
