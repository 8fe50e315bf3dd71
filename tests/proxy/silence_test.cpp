// A client that sends no more is waited for while anything moves towards it, and then for so long.
#include <memory>

#include <gtest/gtest.h>

#include "proxy/session.h"
#include "simulation/sim_loop.h"

namespace cuckooguard::proxy {
namespace {

using std::chrono::seconds;

class SilenceTest : public ::testing::Test {
 protected:
  void pass(seconds time) {
    bool is_over = false;
    loop_.at(time, [&is_over] { is_over = true; });
    while (!is_over && loop_.step()) {
    }
  }

  simulation::SimLoop loop_{1};
  io::OutputQueue output_{loop_.chunks()};
  int over_ = 0;
};

TEST_F(SilenceTest, is_over_once_and_not_before_its_time) {
  const auto silence = std::make_unique<Silence>(loop_, output_, [this] { ++over_; });
  pass(Silence::kVainAfter - seconds(1));
  EXPECT_FALSE(silence->is_in_vain());
  pass(seconds(2));
  EXPECT_TRUE(silence->is_in_vain());
  EXPECT_EQ(over_, 0);
  pass(Silence::kMax);
  EXPECT_EQ(over_, 1);
}

TEST_F(SilenceTest, begins_anew_with_every_byte_that_moves) {
  const auto silence = std::make_unique<Silence>(loop_, output_, [this] { ++over_; });
  for (int stirs = 0; stirs < 5; ++stirs) {
    pass(Silence::kMax - seconds(1));
    silence->stir();
    EXPECT_FALSE(silence->is_in_vain());
  }
  EXPECT_EQ(over_, 0);
  pass(Silence::kMax + seconds(1));
  EXPECT_EQ(over_, 1);
}

TEST_F(SilenceTest, is_the_clients_while_it_does_not_read) {
  output_.append("+OK\r\n");
  const auto silence = std::make_unique<Silence>(loop_, output_, [this] { ++over_; });
  pass(3 * Silence::kMax);
  EXPECT_FALSE(silence->is_in_vain());
  EXPECT_EQ(over_, 0);
  output_.clear();
  pass(2 * Silence::kMax + seconds(1));
  EXPECT_EQ(over_, 1);
}

}  // namespace
}  // namespace cuckooguard::proxy
