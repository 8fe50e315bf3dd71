#include "builder/uploads.h"

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/temporary_directory.h"

namespace cuckooguard::fleet {
namespace {

constexpr TableId kTable = 7;

// Has what was set there.
class SetRedis final : public source::RedisSession {
 public:
  using RedisSession::ask;
  Answer ask(std::span<const std::string_view> command) override {
    if (command[0] == "SET") {
      keys[std::string(command[1])] = command[2];
    }
    return resp::Value{.kind = resp::Value::Kind::number,
                       .number = keys.contains(std::string(command[1])) ? 1 : 0};
  }
  std::map<std::string, std::string> keys;
};

class UploadsTest : public testing::Test {
 protected:
  // One that is published: its hash is known.
  Snapshot put(Uploads& uploads, const std::string& name, bool is_at_builder) {
    uploads.add({.table = kTable, .version = 1, .name = name, .is_at_builder = is_at_builder},
                std::ifstream(path_, std::ios::binary));
    while (!uploads.is_idle()) {
      EXPECT_TRUE(uploads.step(redis_));
    }
    return uploads.standing().at(kTable);
  }

  harness::TemporaryDirectory folder_;
  source::StorageDirectory directory_ =
      source::StorageDirectory::open(folder_.file("kept")).value();
  SnapshotFiles files_{directory_, "shop"};
  std::string path_ = [this] {
    std::ofstream(folder_.file("checkpoint"), std::ios::binary)
        << std::string(kPieceBytes + 1, 'x');
    return folder_.file("checkpoint");
  }();
  Keys keys_{"fleet", "shop"};
  SetRedis redis_;
};

TEST_F(UploadsTest, of_a_snapshot_in_a_file_nothing_goes_into_redis_and_its_hash_is_the_same) {
  Uploads to_redis(keys_);
  const Snapshot in_redis = put(to_redis, "a1", false);
  EXPECT_EQ(redis_.keys.size(), 2U);
  redis_.keys.clear();
  Uploads uploads(keys_, &files_);
  ASSERT_TRUE(files_.keep(path_, "a2"));
  const Snapshot in_file = put(uploads, "a2", true);
  EXPECT_TRUE(redis_.keys.empty());
  EXPECT_EQ(in_file.hash, in_redis.hash);
  EXPECT_EQ(in_file.bytes, kPieceBytes + 1);
  EXPECT_EQ(uploads.is_whole(redis_, in_file), true);
  EXPECT_EQ(uploads.is_whole(redis_, in_redis), false) << "Redis has lost it";
}

TEST_F(UploadsTest, who_takes_over_has_what_is_in_redis_or_in_a_file_of_its_own) {
  ASSERT_TRUE(files_.keep(path_, "own"));
  const Manifest manifest{.begin = {},
                          .snapshots = {{.table = 1, .name = "own", .is_at_builder = true},
                                        {.table = 2, .name = "another_ones", .is_at_builder = true},
                                        {.table = 3, .name = "in_redis"}}};
  Uploads uploads(keys_, &files_);
  uploads.adopt(manifest);
  EXPECT_TRUE(uploads.standing().contains(1));
  EXPECT_FALSE(uploads.standing().contains(2)) << "it is to be made anew";
  EXPECT_TRUE(uploads.standing().contains(3));
  Uploads without_files(keys_);
  without_files.adopt(manifest);
  EXPECT_EQ(without_files.standing().size(), 1U);
  EXPECT_TRUE(without_files.standing().contains(3));
}

}  // namespace
}  // namespace cuckooguard::fleet
