#include <vector>

#include <gtest/gtest.h>

#include "proxy/client_lists.h"
#include "simulation/sim_loop.h"

namespace cuckooguard::proxy {
namespace {

using simulation::SimLoop;
using std::chrono::milliseconds;

class HeldClientsTest : public ::testing::Test {
 protected:
  struct Member final : HeldClients::Member {
    void on_tick() override {
      ++ticks;
      if (leaves_at == ticks) {
        held->remove(*this);
      }
    }
    HeldClients* held = nullptr;
    int ticks = 0;
    int leaves_at = 0;
  };

  std::vector<Member> members(std::size_t count) {
    std::vector<Member> all(count);
    for (Member& member : all) {
      member.held = &held_;
    }
    return all;
  }

  // Lets virtual time pass, and what happens in it.
  void pass(milliseconds time) {
    bool is_over = false;
    loop_.at(time, [&is_over] { is_over = true; });
    while (!is_over && loop_.step()) {
    }
    loop_.run(milliseconds(0));  // what is due at this very moment
  }

  SimLoop loop_{1};
  HeldClients held_{loop_};
};

TEST_F(HeldClientsTest, each_is_asked_every_tick_until_it_is_removed) {
  auto all = members(3);
  for (Member& member : all) {
    held_.add(member);
    held_.add(member);
  }
  all[1].leaves_at = 2;
  pass(milliseconds(5));
  held_.remove(all[2]);
  held_.remove(all[2]);
  pass(milliseconds(5));
  EXPECT_EQ(all[0].ticks, 10);
  EXPECT_EQ(all[1].ticks, 2);
  EXPECT_EQ(all[2].ticks, 5);
}

TEST_F(HeldClientsTest, the_loop_has_no_timer_when_nobody_is_held) {
  auto all = members(1);
  all[0].leaves_at = 1;
  held_.add(all[0]);
  pass(milliseconds(2));
  EXPECT_FALSE(loop_.step()) << "nothing is left to happen";
  held_.add(all[0]);  // and begins anew
  pass(milliseconds(3));
  EXPECT_EQ(all[0].ticks, 4);
}

TEST_F(HeldClientsTest, more_than_a_tick_takes_are_asked_in_turn) {
  auto all = members(2 * HeldClients::kPerTick);
  for (Member& member : all) {
    held_.add(member);
  }
  pass(milliseconds(4));
  for (const Member& member : all) {
    EXPECT_EQ(member.ticks, 2);
  }
}

}  // namespace
}  // namespace cuckooguard::proxy
