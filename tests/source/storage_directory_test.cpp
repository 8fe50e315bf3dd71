#include "source/storage_directory.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "harness/temporary_directory.h"

namespace cuckooguard::source {
namespace {

TEST(StorageDirectory, removes_what_one_source_has_kept_and_nothing_else) {
  const harness::TemporaryDirectory directory;
  const auto storage = StorageDirectory::open(directory.file("kept"));
  ASSERT_TRUE(storage) << storage.error();
  const std::string theirs = storage->filter_path("shop.old", "users", "user");
  const std::string also_theirs = storage->filter_path("sho", "users", "user");
  const std::string ours = storage->filter_path("shop", "users", "user");
  const std::string also_ours = storage->filter_path("shop", "a namespace", "a table.filter");
  for (const std::string& path : {theirs, also_theirs, ours, also_ours}) {
    std::ofstream(path) << "rows";
  }
  const auto removed = storage->remove_filters("shop");
  EXPECT_TRUE(removed) << removed.error();
  EXPECT_FALSE(std::filesystem::exists(ours));
  EXPECT_FALSE(std::filesystem::exists(also_ours));
  EXPECT_TRUE(std::filesystem::exists(theirs));
  EXPECT_TRUE(std::filesystem::exists(also_theirs));
  EXPECT_TRUE(std::filesystem::exists(directory.file("kept") + "/secret"));
}

}  // namespace
}  // namespace cuckooguard::source
