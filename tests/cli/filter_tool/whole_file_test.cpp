#include "filter_tool/whole_file.h"

#include <filesystem>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "harness/temporary_directory.h"

namespace cuckooguard::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

std::size_t files_in(const std::filesystem::path& folder) {
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder)) {
    ++files;
  }
  return files;
}

class WholeFile : public testing::Test {
 protected:
  harness::TemporaryDirectory folder_;
  std::string path_ = folder_.file("filter");
};

TEST_F(WholeFile, is_the_old_one_until_it_is_the_new_one) {
  harness::write_whole_file(path_, "old");
  ::chmod(path_.c_str(), 0640);
  auto replacement = FileReplacement::begin(path_, Existing::replaced);
  ASSERT_TRUE(replacement) << replacement.error();
  EXPECT_EQ(read_whole_file(path_, 3), "old");
  ASSERT_TRUE(replacement->commit("new one"));
  EXPECT_EQ(read_whole_file(path_, 100), "new one");
  struct stat now{};
  ::stat(path_.c_str(), &now);
  EXPECT_EQ(now.st_mode & 0777U, 0640U);
  EXPECT_EQ(files_in(folder_.path()), 1);
}

TEST_F(WholeFile, stays_as_it_was_if_nothing_is_committed) {
  harness::write_whole_file(path_, "old");
  {
    ASSERT_TRUE(FileReplacement::begin(path_, Existing::replaced));
  }
  EXPECT_EQ(read_whole_file(path_, 3), "old");
  EXPECT_EQ(files_in(folder_.path()), 1);
}

TEST_F(WholeFile, is_replaced_by_one_at_a_time) {
  {
    auto first = FileReplacement::begin(path_, Existing::replaced);
    ASSERT_TRUE(first);
    EXPECT_THAT(FileReplacement::begin(path_, Existing::replaced).error(),
                EndsWith("filter: another command is writing this file"));
    ASSERT_TRUE(first->commit("1")) << "and the other one has left it alone";
  }
  EXPECT_EQ(read_whole_file(path_, 1), "1");
  EXPECT_TRUE(FileReplacement::begin(path_, Existing::replaced)) << "and then by the next one";
}

TEST_F(WholeFile, that_exists_can_be_refused) {
  harness::write_whole_file(path_, "old");
  EXPECT_THAT(FileReplacement::begin(path_, Existing::refused).error(),
              EndsWith(": the file already exists"));
  EXPECT_EQ(read_whole_file(path_, 3), "old");
  EXPECT_EQ(files_in(folder_.path()), 1);
}

// Of a command that was interrupted.
TEST_F(WholeFile, is_written_over_what_was_left_beside_it) {
  harness::write_whole_file(path_ + ".cuckooguard-new", "half of another one");
  auto replacement = FileReplacement::begin(path_, Existing::refused);
  ASSERT_TRUE(replacement) << replacement.error();
  ASSERT_TRUE(replacement->commit("new"));
  EXPECT_EQ(read_whole_file(path_, 100), "new");
}

TEST_F(WholeFile, what_cannot_be_done_is_said_of_the_path) {
  EXPECT_THAT(read_whole_file(path_, 1).error(), HasSubstr("filter: No such file"));
  harness::write_whole_file(path_, "old");
  EXPECT_THAT(read_whole_file(path_, 2).error(), HasSubstr(", the maximum"));
  EXPECT_THAT(FileReplacement::begin(folder_.file("no/folder"), Existing::replaced).error(),
              HasSubstr("No such file"));
  std::filesystem::create_symlink(path_, path_ + "2.cuckooguard-new");
  EXPECT_FALSE(FileReplacement::begin(path_ + "2", Existing::replaced)) << "it leads elsewhere";
  EXPECT_EQ(read_whole_file(path_, 3), "old");
}

}  // namespace
}  // namespace cuckooguard::cli
