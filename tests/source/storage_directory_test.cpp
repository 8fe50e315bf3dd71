#include "source/storage_directory.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/cuckoo_filter.h"
#include "filter/filter_file.h"
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
  const std::string our_position = storage->position_path("shop");
  const std::string their_position = storage->position_path("shop.old");
  for (const std::string& path :
       {theirs, also_theirs, ours, also_ours, our_position, their_position}) {
    std::ofstream(path) << "rows";
  }
  const auto removed = storage->remove_filters("shop");
  EXPECT_TRUE(removed) << removed.error();
  EXPECT_FALSE(std::filesystem::exists(ours));
  EXPECT_FALSE(std::filesystem::exists(also_ours));
  EXPECT_FALSE(std::filesystem::exists(our_position));
  EXPECT_TRUE(std::filesystem::exists(their_position));
  EXPECT_TRUE(std::filesystem::exists(theirs));
  EXPECT_TRUE(std::filesystem::exists(also_theirs));
  EXPECT_TRUE(std::filesystem::exists(directory.file("kept") + "/secret"));
}

// As those of a fleet's builders, which have one secret in common, and a slot of PostgreSQL each.
TEST(StorageDirectory, has_a_secret_of_its_own_beside_one_that_several_have) {
  const harness::TemporaryDirectory directory;
  const std::string file = directory.file("fleet.secret");
  const auto shared = filter::read_or_create_secret(file);
  const auto one = StorageDirectory::open(directory.file("one"), file);
  const auto other = StorageDirectory::open(directory.file("other"), file);
  const auto alone = StorageDirectory::open(directory.file("alone"));
  ASSERT_TRUE(shared && one && other && alone);
  EXPECT_EQ(one->secret().bytes, shared->bytes);
  EXPECT_EQ(other->secret().bytes, shared->bytes);
  EXPECT_NE(one->own_secret().bytes, shared->bytes);
  EXPECT_NE(one->own_secret().bytes, other->own_secret().bytes);
  EXPECT_EQ(alone->own_secret().bytes, alone->secret().bytes);
}

TEST(StorageDirectory, removes_what_was_not_put_in_its_place) {
  const harness::TemporaryDirectory directory;
  const std::string path = directory.file("kept");
  std::filesystem::create_directory(path);
  const std::vector<std::string> left_over{"/a.b.c.filter.aB3xYz", "/a.position.aB3xYz"};
  const std::vector<std::string> kept{"/a.b.c.filter", "/a.position", "/a.txt.aB3xYz", "/a"};
  for (const auto* const names : {&left_over, &kept}) {
    for (const std::string& name : *names) {
      std::ofstream(path + name) << "rows";
    }
  }
  ASSERT_TRUE(StorageDirectory::open(path));
  for (const std::string& name : left_over) {
    EXPECT_FALSE(std::filesystem::exists(path + name)) << name;
  }
  for (const std::string& name : kept) {
    EXPECT_TRUE(std::filesystem::exists(path + name)) << name;
  }
}

// As in a container whose volume is root's. Root, which may write everywhere, is somebody else for
// as long as this lives; anybody else is who he is.
class AsSomebodyElse {
 public:
  AsSomebodyElse() {
    if (is_root_) {
      EXPECT_EQ(::setegid(kNobody), 0);
      EXPECT_EQ(::seteuid(kNobody), 0);
    }
  }
  AsSomebodyElse(const AsSomebodyElse&) = delete;
  AsSomebodyElse& operator=(const AsSomebodyElse&) = delete;
  ~AsSomebodyElse() {
    if (is_root_) {
      EXPECT_EQ(::seteuid(0), 0);
      EXPECT_EQ(::setegid(0), 0);
    }
  }

 private:
  static constexpr uid_t kNobody = 65534;
  bool is_root_ = ::geteuid() == 0;
};

std::string ids(uid_t user, gid_t group) {
  return std::to_string(user) + ":" + std::to_string(group);
}

class StorageOfAnother : public testing::Test {
 protected:
  StorageOfAnother() {
    std::filesystem::create_directory(kept_);
    EXPECT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
    EXPECT_EQ(::chmod(kept_.c_str(), 0555), 0);
  }

  harness::TemporaryDirectory directory_;
  std::string kept_ = directory_.file("kept");
  std::string owner_ = ids(::geteuid(), ::getegid());
};

TEST_F(StorageOfAnother, is_refused_with_whose_it_is_who_this_is_and_what_to_do) {
  const AsSomebodyElse other;
  const auto storage = StorageDirectory::open(kept_);
  ASSERT_FALSE(storage);
  const std::string process = ids(::geteuid(), ::getegid());
  EXPECT_EQ(storage.error(),
            kept_ + "/lock: cannot open the file: Permission denied: " + kept_ + " belongs to " +
                owner_ + " with mode 0555, and this process runs as " + process + "; " +
                (process == owner_ ? "chmod u+rwX " : "chown -R " + process + " ") + kept_);
}

TEST_F(StorageOfAnother, is_told_of_where_it_cannot_be_made_either) {
  const AsSomebodyElse other;
  const auto storage = StorageDirectory::open(kept_ + "/below");
  ASSERT_FALSE(storage);
  EXPECT_THAT(storage.error(),
              testing::HasSubstr("install -d -m 0700 -o " + std::to_string(::geteuid()) + " -g "));
  EXPECT_THAT(storage.error(), testing::EndsWith(kept_ + "/below"));
  EXPECT_THAT(storage.error(), testing::Not(testing::HasSubstr("chown")));
}

TEST_F(StorageOfAnother, is_told_of_by_the_file_that_is_not_ones_own) {
  EXPECT_EQ(::chmod(kept_.c_str(), 0777), 0);
  harness::write_whole_file(kept_ + "/lock", "");
  EXPECT_EQ(::chmod((kept_ + "/lock").c_str(), 0400), 0);
  const AsSomebodyElse other;
  const auto storage = StorageDirectory::open(kept_);
  ASSERT_FALSE(storage);
  EXPECT_THAT(storage.error(),
              testing::HasSubstr(kept_ + "/lock belongs to " + owner_ + " with mode 0400"));
}

TEST_F(StorageOfAnother, is_told_of_at_a_checkpoint) {
  const filter::CuckooFilter rows(filter::Sizing{}, filter::random_secret());
  const AsSomebodyElse other;
  const auto written = filter::write_filter_file(kept_ + "/shop.users.user.filter", rows, {});
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().what, testing::HasSubstr(kept_ + " belongs to " + owner_));
}

}  // namespace
}  // namespace cuckooguard::source
