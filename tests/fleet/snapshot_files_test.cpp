#include "builder/snapshot_files.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "fleet/layout.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::fleet {
namespace {

class SnapshotFilesTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.file(name), std::ios::binary) << text;
    return folder_.file(name);
  }
  std::size_t count() const { return directory_.snapshots("shop").size(); }

  harness::TemporaryDirectory folder_;
  source::StorageDirectory directory_ =
      source::StorageDirectory::open(folder_.file("kept")).value();
  SnapshotFiles files_{directory_, "shop"};
  source::TimePoint now_{};
};

TEST_F(SnapshotFilesTest, a_snapshot_stays_as_it_is_when_another_takes_its_files_place) {
  const std::string path = write("checkpoint", "before");
  ASSERT_TRUE(files_.keep(path, "a1"));
  std::filesystem::rename(write("next", "after"), path);
  EXPECT_EQ(files_.piece("a1", 0), "before");
  EXPECT_TRUE(files_.has("a1"));
  EXPECT_FALSE(files_.has("a2"));
  EXPECT_FALSE(files_.keep(folder_.file("none"), "a2")) << "there is no such file";
}

TEST_F(SnapshotFilesTest, has_pieces_of_one_mebibyte_and_a_last_one) {
  std::string bytes(2 * kPieceBytes + 3, 'a');
  bytes[kPieceBytes] = 'b';
  bytes.back() = 'c';
  ASSERT_TRUE(files_.keep(write("checkpoint", bytes), "a1"));
  EXPECT_EQ(files_.piece("a1", 0), bytes.substr(0, kPieceBytes));
  EXPECT_EQ(files_.piece("a1", 1), bytes.substr(kPieceBytes, kPieceBytes));
  EXPECT_EQ(files_.piece("a1", 2), "aac");
  EXPECT_EQ(files_.piece("a1", 3), std::nullopt);
  EXPECT_EQ(files_.piece("a1", 0xFFFFFFFF), std::nullopt);
  EXPECT_EQ(files_.piece("a2", 0), std::nullopt);
}

TEST_F(SnapshotFilesTest, whoever_asks_is_shown_no_other_file) {
  write("x.snapshot", "another one's");
  write("kept/x.snapshot", "another one's");
  for (const char* const name : {"../x", "../../x", "/x", "", ".", "x", "../kept/x"}) {
    EXPECT_EQ(files_.piece(name, 0), std::nullopt) << name;
  }
}

TEST_F(SnapshotFilesTest, what_nobody_needs_goes_after_a_while_and_nothing_else) {
  const std::string path = write("checkpoint", "bytes");
  const SnapshotFiles of_another(directory_, "shop2");
  ASSERT_TRUE(of_another.keep(path, "a1"));
  ASSERT_TRUE(files_.keep(path, "a1"));
  ASSERT_TRUE(files_.keep(path, "a2"));
  files_.tidy({"a1", "a2"}, now_);
  now_ += SnapshotFiles::kOldStays;
  files_.tidy({"a2"}, now_);
  EXPECT_EQ(count(), 2U) << "somebody may be reading it";
  now_ += SnapshotFiles::kOldStays / 2;
  files_.tidy({"a1", "a2"}, now_);
  now_ += SnapshotFiles::kOldStays / 2;
  files_.tidy({"a2"}, now_);
  EXPECT_EQ(count(), 2U) << "it was needed again";
  now_ += SnapshotFiles::kOldStays;
  files_.tidy({"a2"}, now_);
  EXPECT_EQ(count(), 1U);
  EXPECT_TRUE(files_.has("a2"));
  EXPECT_TRUE(of_another.has("a1"));
  SnapshotFiles next(directory_, "shop");
  next.tidy({}, now_);
  next.tidy({}, now_ + SnapshotFiles::kOldStays);
  EXPECT_EQ(count(), 0U) << "a former run has left it";
  EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace cuckooguard::fleet
