#include "app/machine.h"

#include <thread>

#include <gtest/gtest.h>

namespace cuckooguard::app {
namespace {

TEST(WorkerCount, what_is_configured_is_taken) {
  EXPECT_EQ(worker_count(7), 7U);
}

TEST(WorkerCount, auto_is_at_most_half_of_the_cores_and_at_least_one) {
  const unsigned workers = worker_count(0);
  EXPECT_GE(workers, 1U);
  EXPECT_LE(workers, std::max(1U, std::thread::hardware_concurrency() / 2));
}

}  // namespace
}  // namespace cuckooguard::app
