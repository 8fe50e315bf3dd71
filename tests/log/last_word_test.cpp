#include "log/last_word.h"

#include <array>
#include <cstdlib>
#include <new>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace cuckooguard::log {
namespace {

// Standard error from here on.
void be_read_by_nobody() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    return;
  }
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const std::array<char, 4096> bytes{};
  while (::write(ends[1], bytes.data(), bytes.size()) > 0) {
  }
  ::fcntl(ends[1], F_SETFL, 0);
  ::dup2(ends[1], STDERR_FILENO);
}

TEST(LastWordDeathTest, a_process_that_cannot_go_on_ends_although_nobody_reads_why) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        be_read_by_nobody();
        prepare_last_word(config::LogFormat::text);
        std::thread([] { throw std::bad_alloc(); }).join();
      },
      testing::ExitedWithCode(EXIT_FAILURE),
      "");
}

TEST(LastWordDeathTest, says_why) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        prepare_last_word(config::LogFormat::text);
        std::thread([] { throw std::bad_alloc(); }).join();
      },
      testing::ExitedWithCode(EXIT_FAILURE),
      "error event=out_of_memory why=");
}

}  // namespace
}  // namespace cuckooguard::log
