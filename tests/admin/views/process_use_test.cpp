#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "views/model.h"

namespace cuckooguard::views {
namespace {

TEST(ProcessUse, is_what_this_process_uses) {
  const ProcessUse before = process_use();
  EXPECT_GT(before.resident_bytes, 1e6);
  EXPECT_GT(before.virtual_bytes, before.resident_bytes);
  EXPECT_GT(before.open_descriptors, 2.0);
  EXPECT_GT(before.descriptors_max, before.open_descriptors);
  const auto now = static_cast<double>(::time(nullptr));
  EXPECT_LE(before.start_time_seconds, now + 1);
  EXPECT_GT(before.start_time_seconds, now - 3600) << "tests do not run for an hour";
  std::vector<std::ifstream> files(5);
  for (std::ifstream& file : files) {
    file.open("/proc/self/stat");
  }
  volatile double work = 0;
  while (process_use().cpu_seconds <= before.cpu_seconds) {
    work = work + 1;
  }
  EXPECT_EQ(process_use().open_descriptors, before.open_descriptors + 5);
}

}  // namespace
}  // namespace cuckooguard::views
