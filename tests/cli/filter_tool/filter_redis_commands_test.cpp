#include <bit>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filter_tool/commands.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::cli {
namespace {

using harness::bulk;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class FilterRedisCommands : public testing::Test {
 protected:
  RedisKey at(std::string key) const {
    return {.address = config::Address{.host = "127.0.0.1", .port = redis_.port(), .unix_path = {}},
            .key = std::move(key)};
  }
  auto import(const ForeignFile& foreign, std::string key, bool force = false) const {
    return import_filter(
        {.path = path_, .force = force, .foreign = foreign, .redis = at(std::move(key))});
  }
  auto put(const ForeignFile& foreign, std::string key) const {
    return export_filter({.path = path_, .foreign = foreign, .redis = at(std::move(key))});
  }
  std::string bytes() const { return harness::read_whole_file(path_); }
  void write(std::string_view bytes) const { harness::write_whole_file(path_, bytes); }

  harness::RedisServer redis_;
  harness::TemporaryDirectory folder_;
  std::string path_ = folder_.file("filter");
};

// Of several pieces, the last one not whole.
std::string large_bitmap() {
  std::string bytes(5 * 1024 * 1024 + 77, '\0');
  for (std::size_t i = 0; i < bytes.size(); i += 1001) {
    bytes[i] = static_cast<char>(i * 31 + 1);
  }
  bytes.back() = '\1';
  return bytes;
}

TEST_F(FilterRedisCommands, a_bitmap_comes_and_goes_byte_for_byte) {
  const ForeignFile foreign{.format = "go-zero", .bits = (std::uint64_t{5} << 23U) + 77 * 8};
  const std::string bitmap = large_bitmap();
  redis_.call({"SET", "from", bitmap});
  ASSERT_TRUE(import(foreign, "from")) << import(foreign, "from").error();
  EXPECT_EQ(bytes(), bitmap);
  redis_.call({"SET", "to", "another one", "EX", "1000"});
  const auto told = put(foreign, "to");
  ASSERT_TRUE(told) << told.error();
  EXPECT_THAT(*told, StartsWith("format: go-zero\nbits: 41943656\nhashes: 14\n"));
  EXPECT_EQ(redis_.call({"GET", "to"}), bulk(bitmap));
  EXPECT_EQ(redis_.call({"TTL", "to"}), ":-1\r\n") << "that of the key beside it is not left";
  EXPECT_EQ(redis_.call({"DBSIZE"}), ":2\r\n") << "nor that key itself";
}

TEST_F(FilterRedisCommands, what_was_added_to_a_file_is_in_redis) {
  const ForeignFile foreign{.format = "guava-bitmap", .bits = 1000, .hashes = 5};
  ASSERT_TRUE(create_filter({.path = path_, .foreign = foreign}));
  ASSERT_TRUE(put(foreign, "k")) << "empty";
  EXPECT_EQ(redis_.call({"GET", "k"}), "$0\r\n\r\n");
  std::istringstream none;
  ASSERT_TRUE(add_to_filter({.path = path_, .items = {"a", "b"}, .foreign = foreign}, none));
  ASSERT_TRUE(put(foreign, "k"));
  EXPECT_EQ(redis_.call({"GET", "k"}), bulk(bytes()));
}

TEST_F(FilterRedisCommands, the_hash_of_redisson_comes_and_goes_with_it) {
  ASSERT_TRUE(create_filter({.path = path_,
                             .foreign = {.format = "redisson"},
                             .wanted = {.capacity = 100, .rate = 0.01}}));
  const ForeignFile shaped{.format = "redisson", .bits = 958, .hashes = 7};
  std::istringstream none;
  ASSERT_TRUE(add_to_filter({.path = path_, .items = {"a", "b"}, .foreign = shaped}, none));
  ASSERT_TRUE(put(shaped, "bloom")) << put(shaped, "bloom").error();
  EXPECT_EQ(redis_.call({"HMGET", "{bloom}:config", "size", "hashIterations"}),
            "*2\r\n$3\r\n958\r\n$1\r\n7\r\n");
  EXPECT_EQ(redis_.call({"HMGET", "{bloom}:config", "expectedInsertions", "falseProbability"}),
            "*2\r\n$2\r\n94\r\n$9\r\n0.0078125\r\n");
  const std::string before = bytes();
  std::filesystem::remove(path_);
  const auto told = import({.format = "redisson"}, "bloom");
  ASSERT_TRUE(told) << told.error();
  EXPECT_THAT(*told, StartsWith("format: redisson\nbits: 958\nhashes: 7\n"));
  EXPECT_EQ(bytes(), before);
}

// What its application was told when it made the filter stays, if it is the same filter.
TEST_F(FilterRedisCommands, the_hash_of_redisson_is_kept_if_it_says_the_same) {
  write("\x80");
  redis_.call({"HSET",
               "a{tag}:config",
               "size",
               "16",
               "hashIterations",
               "3",
               "expectedInsertions",
               "4",
               "falseProbability",
               "0.1"});
  ASSERT_TRUE(put({.format = "redisson", .bits = 16, .hashes = 3}, "a{tag}"));
  EXPECT_EQ(redis_.call({"HGET", "a{tag}:config", "falseProbability"}), bulk("0.1"));
  ASSERT_TRUE(put({.format = "redisson", .bits = 24, .hashes = 3}, "a{tag}"));
  EXPECT_EQ(redis_.call({"HGET", "a{tag}:config", "falseProbability"}), bulk("0.125"));
  EXPECT_EQ(redis_.call({"HGET", "a{tag}:config", "size"}), bulk("24"));
}

TEST_F(FilterRedisCommands, a_filter_of_redisson_without_items_has_no_key) {
  redis_.call({"HSET", "{new}:config", "size", "958", "hashIterations", "7"});
  EXPECT_THAT(import({.format = "redisson"}, "new").value(), HasSubstr("bits: 958\n"));
  EXPECT_EQ(bytes(), "");
}

TEST_F(FilterRedisCommands, what_is_not_in_redis_is_said) {
  const ForeignFile bitmap{.format = "go-zero", .bits = 64};
  EXPECT_THAT(import(bitmap, "none").error(), EndsWith("\"none\": the key does not exist"));
  EXPECT_THAT(import({.format = "redisson"}, "none").error(),
              EndsWith("\"{none}:config\": this Redisson hash does not exist"));
  redis_.call({"HSET", "{k}:config", "size", "958", "hashIterations", "many"});
  EXPECT_THAT(import({.format = "redisson"}, "k").error(), HasSubstr("are not numbers"));
  redis_.call({"HSET", "{k}:config", "hashIterations", "7"});
  EXPECT_THAT(import({.format = "redisson", .bits = 957}, "k").error(),
              EndsWith("the hash has --bits 958 --hashes 7"));
  EXPECT_THAT(import(bitmap, "{k}:config").error(), HasSubstr("WRONGTYPE"));
  redis_.call({"SET", "long", "nine bytes"});
  EXPECT_THAT(import(bitmap, "long").error(), HasSubstr("\"long\": the bitmap has 10 bytes"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

// While it is read, others take its place again and again: none has another one's bits.
TEST_F(FilterRedisCommands, a_filter_that_is_replaced_meanwhile_is_not_read_as_two_halves) {
  const ForeignFile foreign{.format = "go-zero", .bits = std::uint64_t{5} << 23U};
  constexpr std::size_t kSize = std::size_t{5} << 20U;
  std::vector<char> fillings;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (std::popcount(byte) == 4) {
      fillings.push_back(static_cast<char>(byte));
    }
  }
  redis_.call({"SET", "k", std::string(kSize, fillings.back())});
  std::jthread replacing([&](const std::stop_token& stop) {
    for (std::size_t i = 0; !stop.stop_requested(); ++i) {
      redis_.call({"SET", "k", std::string(kSize, fillings[i % fillings.size()])});
    }
  });
  int refused = 0;
  for (int i = 0; i < 1000 && refused < 3; ++i) {
    const auto read = import(foreign, "k", true);
    if (read) {
      const std::string whole = bytes();
      ASSERT_TRUE(whole == std::string(kSize, whole.front()));
    } else {
      EXPECT_THAT(read.error(),
                  EndsWith("\"k\": the key was replaced while it was being read; try again"));
      ++refused;
    }
  }
  EXPECT_EQ(refused, 3);
}

TEST_F(FilterRedisCommands, only_bitmaps_are_moved) {
  for (const auto* const format : {"guava", "seiflotfy"}) {
    const std::string why =
        std::string("--format ") + format + " exists only as a file; Redis holds only bitmaps";
    EXPECT_EQ(import({.format = format}, "k").error(), why);
    EXPECT_EQ(put({.format = format}, "k").error(), why);
  }
  EXPECT_THAT(import({.format = "go-zero"}, "k").error(), HasSubstr("needs --bits"));
  EXPECT_THAT(put({.format = "redisson", .bits = 5}, "k").error(), HasSubstr("--hashes"));
}

TEST_F(FilterRedisCommands, a_file_that_exists_is_replaced_only_by_force) {
  const ForeignFile foreign{.format = "go-zero", .bits = 64};
  write("mine");
  redis_.call({"SET", "k", "theirs"});
  EXPECT_THAT(import(foreign, "k").error(), EndsWith("filter: the file already exists"));
  EXPECT_EQ(bytes(), "mine");
  ASSERT_TRUE(import(foreign, "k", true));
  EXPECT_EQ(bytes(), "theirs");
  EXPECT_FALSE(import(foreign, "none", true));
  EXPECT_EQ(bytes(), "theirs");
}

// In pieces; and nobody sees that there are any.
TEST_F(FilterRedisCommands, an_export_that_fails_leaves_redis_as_it_was) {
  const ForeignFile foreign{.format = "redisson", .bits = 5 << 23U, .hashes = 7};
  write(std::string(5 << 20U, 'x'));
  redis_.call({"SET", "k", "old"});
  const std::vector<std::string> rights{"-append", "-multi", "-hset", "-rename", "-watch"};
  for (const std::string& denied : rights) {
    redis_.call({"ACL", "SETUSER", "default", "+@all", denied});
    const auto failed = put(foreign, "k");
    ASSERT_FALSE(failed) << denied;
    EXPECT_THAT(failed.error(), HasSubstr("NOPERM")) << denied;
    EXPECT_EQ(redis_.call({"GET", "k"}), bulk("old")) << denied;
    EXPECT_EQ(redis_.call({"DBSIZE"}), ":1\r\n") << denied;
  }
  redis_.call({"ACL", "SETUSER", "default", "+@all"});
  EXPECT_TRUE(put(foreign, "k"));
}

TEST_F(FilterRedisCommands, nobody_sees_half_of_an_export) {
  const ForeignFile foreign{.format = "go-zero", .bits = std::uint64_t{5} << 23U};
  const std::size_t size = std::size_t{5} << 20U;
  write(std::string(size, 'x'));
  redis_.call({"SETRANGE", "k", std::to_string(size - 1), "y"});
  std::jthread exporting([&] { EXPECT_TRUE(put(foreign, "k")); });
  harness::RawClient client = redis_.client();
  const std::string whole = ":" + std::to_string(size) + "\r\n";
  do {
    ASSERT_EQ(client.call({"STRLEN", "k"}), whole);
  } while (client.call({"GETRANGE", "k", "0", "0"}) != bulk("x"));
}

TEST_F(FilterRedisCommands, logs_in_and_takes_the_database_that_is_named) {
  redis_.call({"ACL", "SETUSER", "bob", "on", ">secret", "~*", "+@all"});
  write("bob's");
  harness::write_whole_file(folder_.file("word"), "secret\n");
  RedisKey key = at("k");
  key.db = 3;
  key.login = {.user = "bob", .password_file = folder_.file("word")};
  const ForeignFile foreign{.format = "go-zero", .bits = 64};
  const auto done = export_filter({.path = path_, .foreign = foreign, .redis = key});
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ(redis_.call({"EXISTS", "k"}), ":0\r\n");
  harness::RawClient client = redis_.client();
  client.call({"SELECT", "3"});
  EXPECT_EQ(client.call({"GET", "k"}), bulk("bob's"));
  harness::write_whole_file(folder_.file("word"), "wrong\n");
  EXPECT_THAT(export_filter({.path = path_, .foreign = foreign, .redis = key}).error(),
              HasSubstr("WRONGPASS"));
  key.login.password_file.clear();
  EXPECT_EQ(export_filter({.path = path_, .foreign = foreign, .redis = key}).error(),
            "--user bob needs a password: --password-file FILE, or REDISCLI_AUTH");
  key = at("k");
  key.db = 99;
  EXPECT_THAT(export_filter({.path = path_, .foreign = foreign, .redis = key}).error(),
              HasSubstr("DB index is out of range"));
  key.address->port = 1;
  EXPECT_THAT(export_filter({.path = path_, .foreign = foreign, .redis = key}).error(),
              HasSubstr("127.0.0.1:1: cannot connect"));
}

}  // namespace
}  // namespace cuckooguard::cli
