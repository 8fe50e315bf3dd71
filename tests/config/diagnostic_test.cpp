#include "config/diagnostic.h"

#include <gtest/gtest.h>

namespace cuckooguard::config {
namespace {

TEST(Diagnostic, text_is_what_editors_can_jump_to) {
  EXPECT_EQ((Diagnostic{"guard.yaml", 3, 7, "what"}.text()), "guard.yaml:3:7: what");
  EXPECT_EQ((Diagnostic{"guard.yaml", 0, 0, "what"}.text()), "guard.yaml: what");
}

TEST(Report, gives_diagnostics_in_the_files_order) {
  Report report("f");
  EXPECT_TRUE(report.empty());
  report.add({3, 1}, "third");
  report.add({1, 9}, "second");
  report.add({1, 2}, "first");
  report.add({3, 1}, "third, too");
  EXPECT_FALSE(report.empty());
  const auto sorted = std::move(report).in_file_order();
  ASSERT_EQ(sorted.size(), 4U);
  EXPECT_EQ(sorted[0].what, "first");
  EXPECT_EQ(sorted[1].what, "second");
  EXPECT_EQ(sorted[2].what, "third");
  EXPECT_EQ(sorted[3].what, "third, too");
}

}  // namespace
}  // namespace cuckooguard::config
