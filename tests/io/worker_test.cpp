#include "io/worker.h"

#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "sockets.h"

namespace cuckooguard::io {
namespace {

TEST(Worker, runs_what_is_posted_from_anywhere_on_its_own_thread_within_a_batch) {
  std::thread::id hooked;
  Worker worker({.begin = [&hooked] { hooked = std::this_thread::get_id(); }, .end = {}});
  worker.start();
  std::promise<std::pair<std::thread::id, std::thread::id>> threads;
  worker.loop().post([&] { threads.set_value({std::this_thread::get_id(), hooked}); });
  auto future = threads.get_future();
  ASSERT_EQ(future.wait_for(std::chrono::milliseconds(kPatienceMs)), std::future_status::ready);
  const auto [thread, begun_on] = future.get();
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_EQ(begun_on, thread);
}

TEST(Worker, ends_once_however_often_it_is_asked_and_without_a_start) {
  Worker never_started({});
  never_started.stop_and_join();
  Worker worker({});
  worker.start();
  worker.stop_and_join();
  worker.stop_and_join();
}

}  // namespace
}  // namespace cuckooguard::io
