#include "app/machine.h"

#include <array>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include "harness/temporary_directory.h"

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

TEST(Container, is_known_by_one_of_its_marks) {
  const harness::TemporaryDirectory folder;
  const std::array<std::string, 2> marks{folder.file(".dockerenv"), folder.file(".containerenv")};
  EXPECT_FALSE(is_container_of_its_own(marks, false));
  harness::write_whole_file(marks[1], "");
  EXPECT_TRUE(is_container_of_its_own(marks, false));
}

TEST(Container, of_a_pod_has_not_a_network_of_its_own) {
  const harness::TemporaryDirectory folder;
  const std::array<std::string, 1> marks{folder.file(".dockerenv")};
  harness::write_whole_file(marks[0], "");
  EXPECT_FALSE(is_container_of_its_own(marks, true));
}

TEST(HugePages, are_given_where_the_kernel_says_always_or_when_asked) {
  const harness::TemporaryDirectory folder;
  const std::string setting = folder.file("enabled");
  EXPECT_FALSE(has_huge_pages(setting)) << "a kernel without them has no such file";
  harness::write_whole_file(setting, "always madvise [never]\n");
  EXPECT_FALSE(has_huge_pages(setting));
  for (const char* const on : {"[always] madvise never\n", "always [madvise] never\n"}) {
    harness::write_whole_file(setting, on);
    EXPECT_TRUE(has_huge_pages(setting)) << on;
  }
}

TEST(HugePages, are_not_given_to_a_process_that_was_started_without_them) {
  const harness::TemporaryDirectory folder;
  const std::string setting = folder.file("enabled");
  harness::write_whole_file(setting, "[always] madvise never\n");
  ASSERT_EQ(::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
  EXPECT_FALSE(has_huge_pages(setting));
  ASSERT_EQ(::prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
}

TEST(Loopback, is_what_others_do_not_reach) {
  for (const char* const host : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) {
    EXPECT_TRUE(is_loopback({.host = host, .port = 1, .unix_path = {}})) << host;
  }
  for (const char* const host : {"0.0.0.0", "::", "10.0.0.1", "guard"}) {
    EXPECT_FALSE(is_loopback({.host = host, .port = 1, .unix_path = {}})) << host;
  }
  EXPECT_FALSE(is_loopback({.host = {}, .port = 0, .unix_path = "/run/guard.sock"}))
      << "it may be in a folder that others have, too";
}

}  // namespace
}  // namespace cuckooguard::app
