#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/map.h"

namespace cuckooguard::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Map map_of(const std::string& text) {
  auto view = parse_nodes(text, "");
  if (!view) {
    throw std::runtime_error(view.error());
  }
  view->is_ok = true;
  return merge({&*view, 1});
}

std::string line(std::string_view id, std::string_view rest) {
  return std::string(id) + " 10.0.0.1:7000@17000 " + std::string(rest) + "\n";
}

// "a->b 100", of a failover "a=>b 100".
std::vector<std::string> told(const Map& before, const Map& after) {
  std::vector<std::string> all;
  for (const Handover& each : handovers(before, after)) {
    all.push_back((each.from != nullptr ? each.from->id : "none") +
                  (each.is_failover ? "=>" : "->") + (each.to != nullptr ? each.to->id : "none") +
                  " " + std::to_string(each.slots));
  }
  return all;
}

const std::string kMaster = line("a", "myself,master - 0 0 1 connected 0-99");
const std::string kReplica = line("b", "slave a 0 0 1 connected");
const std::string kOther = line("c", "master - 0 0 2 connected 100-199");

TEST(Handovers, of_what_stays_as_it_is_there_are_none) {
  const Map before = map_of(kMaster + kReplica + kOther);
  EXPECT_THAT(told(before, before), IsEmpty());
  // A node that fails has its slots until another has them; one that joins has none.
  EXPECT_THAT(told(before,
                   map_of(line("a", "master,fail - 0 0 1 connected 0-99") + kReplica +
                          line("c", "myself,master - 0 0 2 connected 100-199") +
                          line("d", "master - 0 0 3 connected"))),
              IsEmpty());
}

TEST(Handovers, a_replica_in_place_of_its_master_is_a_failover) {
  EXPECT_THAT(told(map_of(kMaster + kReplica + kOther),
                   map_of(line("a", "master,fail - 0 0 1 connected") +
                          line("b", "myself,master - 0 0 3 connected 0-99") + kOther)),
              ElementsAre("a=>b 100"));
}

TEST(Handovers, slots_between_masters_are_none_and_are_told_by_pair) {
  EXPECT_THAT(told(map_of(kMaster + kReplica + kOther),
                   map_of(line("a", "myself,master - 0 0 1 connected 10-99 150") + kReplica +
                          line("c", "master - 0 0 3 connected 0-9 100-149 151-199"))),
              ElementsAre("a->c 10", "c->a 1"));
  EXPECT_THAT(told(map_of(kMaster), map_of(line("a", "myself,master - 0 0 1 connected 1-100"))),
              ElementsAre("none->a 1", "a->none 1"));
}

// As one of another master, or one that is told to forget its master.
TEST(Handovers, a_replica_that_is_master_of_nothing_is_none_while_its_master_is_well) {
  EXPECT_THAT(
      told(map_of(kMaster + kReplica), map_of(kMaster + line("b", "master - 0 0 0 connected"))),
      IsEmpty());
}

// As a master with replicas is, where there is no cluster.
TEST(Handovers, without_slots_a_failover_is_one_too) {
  const Map before = map_of(line("a", "myself,master - 0 0 1 connected") + kReplica);
  EXPECT_THAT(told(before,
                   map_of(line("a", "slave b 0 0 1 connected") +
                          line("b", "myself,master - 0 0 2 connected"))),
              ElementsAre("a=>b 0"));
  EXPECT_THAT(told(before, map_of(line("b", "myself,master - 0 0 2 connected"))),
              ElementsAre("a=>b 0"));
  EXPECT_THAT(told(before,
                   map_of(line("a", "myself,master - 0 0 1 connected") +
                          line("b", "master - 0 0 2 connected"))),
              IsEmpty());
}

}  // namespace
}  // namespace cuckooguard::cluster
